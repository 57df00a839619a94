/** Running requests: listed, and stopped as something that the gateway cut. docs/requests.md#live, docs/guarantees.md#g5 */
import { describe, expect, setDefaultTimeout, test } from "bun:test"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import { requestId } from "../../../src/domain/ids.ts"
import { keyId } from "../../../src/domain/keys/keySecret.ts"
import { errorOf, picodollars, streamOf } from "../../support/clients/answers.ts"
import { answersIn, rawCaller, requestOf } from "../../support/clients/rawCaller.ts"
import { until, within } from "../../support/clocks/until.ts"
import { delta, type Ruled, startRuled } from "../../support/gateways/keyRules.ts"
import { liveOf, stop, stopOnly } from "../../support/gateways/live.ts"
import { closeAfterEach } from "../../support/gateways/watched.ts"
import { gatedStorage } from "../../support/storage/gatedStorage.ts"
import { lastingStorage } from "../../support/storage/lastingStorage.ts"
import { connect, execute, hasPostgres, makeDatabase, postgresAt } from "../../support/storage/postgres.ts"

// A wait that never ends is named within a minute.
setDefaultTimeout(1_800_000)

closeAfterEach()

const unknown = requestId()
const says = "The operator of the gateway stopped this request."

const over = (database: string) => postgresAt(database)
const postgres = Layer.unwrapEffect(Effect.map(Effect.promise(makeDatabase), over))

/** A request whose host has it, and has said so much. */
const held = async (gateway: Ruled, key: string, stream: boolean, said?: string) => {
  const before = gateway.held.length
  const asked = gateway.ask(key, { stream, user: "held" })
  await until(() => gateway.held.length > before, "the call to the host")
  const host = gateway.held.at(-1)
  if (host === undefined) throw new Error("no call")
  if (said !== undefined) {
    host.send(delta(said))
    await asked
  }
  return { asked, host }
}

const outcomeOf = async (gateway: Ruled, id: unknown): Promise<string> => {
  const response = await gateway.call(`/generation?id=${String(id)}`, {
    headers: { authorization: `Bearer ${gateway.managementKey}` },
  })
  const { data } = (await response.json()) as { readonly data?: { readonly outcome: string } }
  return data?.outcome ?? "unknown"
}

/** The clock of a gateway goes on until it is there. */
const whileTimePasses = async <A>({ clock }: Ruled, promise: Promise<A>): Promise<A> => {
  let isOver = false
  void promise.finally(() => {
    isOver = true
  })
  await until(() => {
    clock.advance(100)
    return isOver
  }, "the answer")
  return promise
}

const kinds = [
  ["SQLite", () => lastingStorage],
  ...(hasPostgres ? [["PostgreSQL", () => postgres] as const] : []),
] as const
if (!hasPostgres) test.skip("over PostgreSQL, running requests", () => {})

describe.each(kinds)("over %s", (_, storage) => {
  test("a list has what each is at, and an ordinary key sees its own", async () => {
    const gateway = await startRuled({}, storage())
    const [one, two] = [await gateway.newKey({ name: "one" }), await gateway.newKey({ name: "two" })]
    const caller = rawCaller(gateway.url)
    const headers = { authorization: `Bearer ${two}`, "content-length": "1000", expect: "100-continue" }
    caller.send(requestOf("POST /api/v1/chat/completions", headers, '{"model":'))
    await caller.until((received) => received.includes("100 Continue"))
    gateway.clock.advance(1000)
    const waiting = await held(gateway, one, false)
    gateway.clock.advance(1000)
    const streaming = await held(gateway, one, true, "some words")
    gateway.clock.advance(500)

    const { data, complete } = await liveOf(gateway)
    expect(complete).toBe(true)
    const common = { route: "POST /api/v1/chat/completions", form: "chat", is_here: true }
    const called = { ...common, key_hash: keyId(one), key_name: "one", model: "acme/small", host: "a" }
    const receiving = { key_hash: keyId(two), key_name: "two", model: null, host: null, state: "receiving" }
    expect(data).toMatchObject([
      { ...common, ...receiving, streamed: false, age_ms: 2500, created_at: "2026-01-15T23:00:00.000Z" },
      { ...called, streamed: false, state: "waiting", age_ms: 1500 },
      { ...called, streamed: true, state: "streaming", age_ms: 500, created_at: "2026-01-15T23:00:02.000Z" },
    ])
    expect((await liveOf(gateway, one)).data).toEqual(data.slice(1))
    expect((await liveOf(gateway, await gateway.newKey())).data).toEqual([])
    for (const { request_id: id } of data) expect((await stop(gateway, id)).status).toBe(200)
    const [answer] = answersIn(await caller.closed)
    expect([answer?.status, answer?.headers.get("connection")]).toEqual([403, "close"])
    expect((await waiting.asked).status).toBe(403)
    expect((await streamOf(await streaming.asked)).last.error?.code).toBe(403)
    await until(async () => (await liveOf(gateway)).data.length === 0, "the end of all")
  })

  test("a stream that is stopped ends with 403 in it, charged for what was delivered", async () => {
    const gateway = await startRuled({}, storage())
    const key = await gateway.newKey({ limit: 10_000_000_000_000n })
    const { asked, host } = await held(gateway, key, true, "twelve bytes")
    const [running] = (await liveOf(gateway)).data
    const response = await stop(gateway, running?.["request_id"])
    expect([response.status, await response.json()]).toEqual([200, { deleted: true }])

    const { last, text } = await streamOf(await asked)
    expect(text).toBe("twelve bytes")
    expect(last.error).toEqual({ code: 403, message: says, metadata: { error_type: "permission_denied" } })
    // Estimated: 2 bytes of prompt are a token of 1 µ$, 12 bytes of output are 3 tokens of 2 µ$.
    expect(last.usage?.cost).toBe(0.000007)
    const [row] = await gateway.rowsOf(key)
    expect(row).toMatchObject({ outcome: "cut", estimated: true, cost: picodollars(0.000007) })
    await within(host.left, "the end of the call to the host")
    expect(await outcomeOf(gateway, running?.["request_id"])).toBe("policy_stopped")
    expect((await stop(gateway, running?.["request_id"])).status).toBe(404)
    expect((await gateway.ask(key)).status).toBe(200)
  })

  test("one that waits for a whole answer gets 403, at no cost, and nothing counts against its host", async () => {
    const gateway = await startRuled({}, storage())
    const key = await gateway.newKey({ limit: 10_000_000_000_000n })
    for (let round = 0; round < 12; round++) {
      const { asked, host } = await held(gateway, key, false)
      expect(await stopOnly(gateway)).toBe(200)
      expect(await errorOf(await asked)).toMatchObject({ code: 403, message: says })
      await within(host.left, "the end of the call to the host")
    }
    expect(await gateway.rowsOf(key)).toEqual([])
    // Twelve failures would have opened its breaker.
    expect(gateway.called).toEqual(Array.from({ length: 12 }, () => "a"))
    const explained = await gateway.call("/route/explain", {
      method: "POST",
      body: JSON.stringify({ model: "acme/small", messages: [{ role: "user", content: "hi" }] }),
    })
    expect(await explained.json()).toMatchObject({ data: { attempts: [{ host: "a" }, { host: "b" }], excluded: [] } })
  })
})

test("one whose answer is being booked is answered, and charged once", async () => {
  const { layer, gates } = gatedStorage()
  const gateway = await startRuled({}, layer)
  const key = await gateway.newKey()
  gates.append.close()
  const asked = gateway.ask(key)
  await until(() => gates.append.waiting() === 1, "the row that waits")
  expect(await stopOnly(gateway)).toBe(200)
  gates.append.open()
  expect((await asked).status).toBe(200)
  expect((await gateway.rowsOf(key)).map(({ outcome }) => outcome)).toEqual(["finished"])
})

test("an ordinary key stops nothing, and an unknown id is not found", async () => {
  const gateway = await startRuled()
  const { asked, host } = await held(gateway, gateway.key, true, "some words")
  const [running] = (await liveOf(gateway)).data
  expect((await stop(gateway, running?.["request_id"], gateway.key)).status).toBe(403)
  expect((await stop(gateway, "req_none")).status).toBe(404)
  expect((await gateway.call("/requests/live", { headers: { authorization: "Bearer none" } })).status).toBe(401)
  host.send(JSON.stringify({ choices: [{ index: 0, delta: {}, finish_reason: "stop" }] }))
  host.close()
  expect((await streamOf(await asked)).last.error).toBeUndefined()
})

describe.skipIf(!hasPostgres)("two gateways on one database", () => {
  const two = async () => {
    const database = await makeDatabase()
    return { database, one: await startRuled({}, over(database)), other: await startRuled({}, over(database)) }
  }

  test("each lists what runs in both, and stops it there", async () => {
    const { database, one, other } = await two()
    const here = await held(one, one.key, true, "twelve bytes")
    const there = await held(other, one.key, false)
    const { data, complete } = await liveOf(one)
    expect(complete).toBe(true)
    expect(data.map(({ is_here, state }) => [is_here, state]).toSorted()).toEqual([
      [false, "waiting"],
      [true, "streaming"],
    ])
    expect((await liveOf(other, one.key)).data.map(({ is_here }) => is_here).toSorted()).toEqual([false, true])
    const away = data.find(({ is_here }) => is_here === false)
    const response = await stop(one, away?.["request_id"])
    expect([response.status, await response.json()]).toEqual([200, { deleted: true }])
    expect(await errorOf(await there.asked)).toMatchObject({ code: 403, message: says })
    // The other one is asked about a request that nobody has.
    expect((await stop(one, unknown)).status).toBe(404)
    for (const odd of ["%00", `${unknown}%00`, "req_none", "😀"]) expect((await stop(one, odd)).status).toBe(404)
    expect(await stopOnly(other)).toBe(200)
    expect((await streamOf(await here.asked)).last.error?.code).toBe(403)
    const [audit, left] = await execute(
      database,
      "SELECT actor, object FROM headgate.audit WHERE action = 'request.stop' ORDER BY seq",
      "SELECT (SELECT COUNT(*) FROM headgate.live_questions) + (SELECT COUNT(*) FROM headgate.live_answers) AS n",
    )
    expect(audit?.rows.map(({ actor, object }) => [actor, object])).toEqual([
      [keyId(one.managementKey), away?.["request_id"]],
      [keyId(other.managementKey), data.find(({ is_here }) => is_here === true)?.["request_id"]],
    ])
    expect(Number(left?.rows[0]?.n)).toBe(0)
  })

  test("questions at once are shared, and each has what began before it", async () => {
    const { one, other } = await two()
    await held(other, one.key, false)
    const lists = await Promise.all(Array.from({ length: 20 }, () => liveOf(one)))
    for (const { data, complete } of lists) expect([data.length, complete]).toEqual([1, true])
    await stop(one, lists[0]?.data[0]?.["request_id"])
  })

  test("a process that does not answer within a second is told of, and a stop is not known to be in vain", async () => {
    const { database, one } = await two()
    await execute(
      database,
      "INSERT INTO headgate.leases VALUES ('gone', EXTRACT(EPOCH FROM clock_timestamp()) * 1000 + 60000)",
    )
    const { asked } = await held(one, one.key, false)
    const { data, complete } = await whileTimePasses(one, liveOf(one))
    expect([data.map(({ is_here }) => is_here), complete]).toEqual([[true], false])
    const vain = await whileTimePasses(one, stop(one, unknown))
    expect(vain.status).toBe(503)
    expect(await errorOf(vain)).toMatchObject({ metadata: { error_type: "process_unavailable" } })
    // One that is here is stopped whoever is silent.
    expect((await stop(one, data[0]?.["request_id"])).status).toBe(200)
    expect(await errorOf(await asked)).toMatchObject({ code: 403 })
  })

  test("a notice that is lost is made up for by the looks of every two seconds", async () => {
    const { database, one, other } = await two()
    const { asked } = await held(other, one.key, false)
    const [running] = (await liveOf(one)).data
    // As `LiveRepository.ask` does, without its notice.
    const client = await connect(database)
    await client.query(
      "INSERT INTO headgate.live_questions VALUES ('lost', 'somebody', $1, EXTRACT(EPOCH FROM clock_timestamp()) * 1000)",
      [running?.["request_id"]],
    )
    await client.end()
    expect(await errorOf(await whileTimePasses(other, asked))).toMatchObject({ code: 403, message: says })
  })
})
