/** Requests with an Idempotency-Key when the gateway is killed, and what of them is in its database. docs/guarantees.md#g9 and #g27 */
import { Database } from "bun:sqlite"
import { afterEach, expect, test } from "bun:test"
import { expectRefusal } from "../../support/clients/badInputs.ts"
import { until } from "../../support/clocks/until.ts"
import { firstKey, type Installation, install, type RunningGateway } from "../../support/gateways/process.ts"
import { chunkOf, configFor, heldStream, scriptedHost, wholeAnswer } from "../../support/hosts/host.ts"
import { describePostgres, execute, makeDatabase, urlOf } from "../../support/storage/postgres.ts"

const closing: Array<() => unknown> = []
afterEach(async () => {
  for (const close of closing.splice(0).toReversed()) await close()
})

const patience = 1_800_000
const discovery = { environment: false, local: false }

const prompt = "canary-of-the-prompt"
const answer = "canary-of-the-answer"
const bodyOf = (more: object) => ({ model: "acme/small", messages: [{ role: "user", content: prompt }], ...more })

const running = { status: 429, type: "idempotency_in_progress", says: "still running" }
const notKept = { status: 400, type: "idempotency_answer_not_kept", says: "was not kept", path: "Idempotency-Key" }
const unknown = { status: 502, type: "outcome_unknown", says: "its outcome is unknown" }

/** A host that answers at once where `max_tokens` is 1, streams a word and then nothing, and never answers other requests. */
const slowHost = () => {
  const host = scriptedHost((body, request) => {
    if (body["max_tokens"] === 1) return wholeAnswer(answer)
    if (body["stream"] !== true) return new Promise<Response>(() => {})
    const stream = heldStream(request)
    stream.send(chunkOf({ delta: { content: answer }, finish_reason: null }))
    return stream.response
  })
  closing.push(host.stop)
  return host
}

const installed = (): Installation => {
  const installation = install()
  closing.push(installation.remove)
  return installation
}

const keyOf = async (gateway: RunningGateway): Promise<string> => {
  await until(() => firstKey(gateway.out()) !== "", "the key")
  return firstKey(gateway.out())
}

const poster = (url: string, key: string) => (value: string, more: object) =>
  fetch(`${url}/chat/completions`, {
    method: "POST",
    headers: { authorization: `Bearer ${key}`, "content-type": "application/json", "idempotency-key": value },
    body: JSON.stringify(bodyOf(more)),
  })

/** Names of the tables of a SQLite file that have a text somewhere. */
const tablesWith = (path: string, text: string): ReadonlyArray<string> => {
  const db = new Database(path)
  try {
    const tables = db.query<{ name: string }, []>("SELECT name FROM sqlite_schema WHERE type = 'table'").all()
    return tables
      .map(({ name }) => name)
      .filter((name) => JSON.stringify(db.query(`SELECT * FROM "${name}"`).all()).includes(text))
  } finally {
    db.close()
  }
}

test(
  "killed between the call and the booking: nothing is carried out again, and what is known is said",
  async () => {
    const installation = installed()
    const host = slowHost()
    let gateway = installation.start({ config: configFor({ a: { url: host.url } }, { discovery }) })
    const url = await gateway.url()
    const key = await keyOf(gateway)
    let post = poster(url, key)
    const whole = await (await post("whole", { max_tokens: 1 })).text()
    expect(whole).toContain(answer)
    const lost = post("lost", {}).catch(() => "broken")
    const stream = await post("stream", { stream: true })
    const journaled = () => JSON.stringify(tablesWith(installation.database, "streaming")).includes("open_requests")
    await until(journaled, "the checkpoint of the stream")
    expect(host.calls).toHaveLength(3)
    gateway.kill("SIGKILL")
    await Promise.all([gateway.exited, lost, stream.text().catch(() => {})])

    gateway = installation.start()
    post = poster(await gateway.url(), key)
    const again = await post("whole", { max_tokens: 1 })
    expect([again.headers.get("idempotent-replayed"), await again.text()]).toEqual(["true", whole])
    for (let times = 0; times < 2; times++) await expectRefusal(await post("lost", {}), unknown)
    const metadata = await expectRefusal(await post("stream", { stream: true }), notKept)
    expect(metadata["generation_id"]).toBe(stream.headers.get("x-generation-id"))
    expect(host.calls).toHaveLength(3)
    gateway.kill("SIGTERM")
    expect(await gateway.exited).toBe(0)

    expect(tablesWith(installation.database, prompt)).toEqual([])
    expect(tablesWith(installation.database, answer)).toEqual(["idempotency_keys"])
    const written = `${gateway.out()}${gateway.err()}`
    for (const secret of [prompt, answer]) expect(written).not.toContain(secret)
    expect((await Bun.file(installation.database).text()).includes(prompt)).toBe(false)
  },
  patience,
)

describePostgres("on PostgreSQL", () => {
  test(
    "carried out once of many at once; killed, its requests count as running until their leases end",
    async () => {
      const database = await makeDatabase()
      const installation = installed()
      const host = slowHost()
      const env = { HEADGATE_STORAGE: urlOf(database) }
      let gateway = installation.start({ config: configFor({ a: { url: host.url } }, { discovery }), env })
      const url = await gateway.url()
      const key = await keyOf(gateway)
      let post = poster(url, key)
      const together = await Promise.all(Array.from({ length: 50 }, () => post("whole", { max_tokens: 1 })))
      expect(new Set(together.map(({ status }) => status)).isSubsetOf(new Set([200, 429]))).toBe(true)
      const bodies = new Set(await Promise.all(together.filter(({ ok }) => ok).map((response) => response.text())))
      expect([bodies.size, host.calls.length]).toEqual([1, 1])
      const lost = post("lost", {}).catch(() => "broken")
      await until(() => host.calls.length === 2, "the call")
      gateway.kill("SIGKILL")
      await Promise.all([gateway.exited, lost])

      gateway = installation.start({ env })
      post = poster(await gateway.url(), key)
      const again = await post("whole", { max_tokens: 1 })
      expect([again.headers.get("idempotent-replayed"), [await again.text()]]).toEqual(["true", [...bodies]])
      await expectRefusal(await post("lost", {}), running)
      await execute(database, "UPDATE headgate.idempotency_keys SET lease_end = 1 WHERE lease_end > 0")
      await expectRefusal(await post("lost", {}), unknown)
      expect(host.calls).toHaveLength(2)
    },
    patience,
  )
})
