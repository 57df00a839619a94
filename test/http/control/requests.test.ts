/** `GET /requests`: what was asked, refused and failed, from records and ledger, over the API. docs/requests.md */
import { afterAll, afterEach, beforeAll, describe, expect, setSystemTime, test } from "bun:test"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import { keyId } from "../../../src/domain/keys/keySecret.ts"
import { Storage } from "../../../src/services/storage/Storage.ts"
import { errorOf } from "../../support/clients/answers.ts"
import { until } from "../../support/clocks/until.ts"
import { startGateway, type TestGateway } from "../../support/gateways/gateway.ts"
import { configFor, scriptedHost, streamAnswer, wholeAnswer } from "../../support/hosts/host.ts"
import { lastingStorage } from "../../support/storage/lastingStorage.ts"
import { hasPostgres, makeDatabase, postgresAt } from "../../support/storage/postgres.ts"

const kinds = [
  ["SQLite", () => lastingStorage],
  ...(hasPostgres
    ? [
        [
          "PostgreSQL",
          () => Layer.unwrapEffect(Effect.map(Effect.promise(makeDatabase), (database) => postgresAt(database))),
        ] as const,
      ]
    : []),
] as const
if (!hasPostgres) test.skip("over PostgreSQL, requests", () => {})

// biome-ignore lint/suspicious/noExplicitAny: the tests look into answers, and a wrong guess is a failing test.
type Anything = any

const hi = { model: "acme/small", messages: [{ role: "user", content: "hi" }] }

describe.each(kinds)("over %s", (_, storage) => {
  let gateway: TestGateway
  const host = scriptedHost((body) => {
    if (body["user"] === "failing") return new Response("{}", { status: 500 })
    return body["stream"] === true ? streamAnswer(["fine"]) : wholeAnswer("fine")
  })

  beforeAll(async () => {
    gateway = await startGateway({ config: configFor({ a: { url: host.url } }), storage: storage() })
  })
  afterEach(() => setSystemTime())
  afterAll(async () => {
    await gateway.stop()
    await host.stop()
  })

  const get = (path: string, secret = gateway.managementKey) =>
    gateway.call(path, { headers: { authorization: `Bearer ${secret}` } })
  const list = async (query: string, secret?: string): Promise<Anything> => {
    const response = await get(`/requests?limit=1000&${query}`, secret)
    expect(response.status).toBe(200)
    return response.json()
  }
  const chat = async (secret: string, body: object, headers: Record<string, string> = {}) => {
    const response = await gateway.chat(body, { headers: { authorization: `Bearer ${secret}`, ...headers } })
    await response.text()
    return response.headers.get("x-gw-request-id") ?? ""
  }
  /** Requests of a key of its own, each of which ends otherwise: their ids. */
  const scene = async () => {
    const secret = await gateway.newKey({ allowedModels: ["acme/*"] })
    const headers = { "x-title": "Kitchen", "http-referer": "https://kitchen.test", "x-request-id": "trace-7" }
    const ok = await chat(secret, hi)
    const streamed = await chat(secret, { ...hi, user: "ann", stream: true })
    const malformed = await chat(secret, { ...hi, messages: 3 })
    const failed = await chat(secret, { ...hi, user: "failing", stream: true }, headers)
    const unknown = await chat(secret, { ...hi, model: "acme/none" })
    return { secret, hash: keyId(secret), ok, streamed, malformed, failed, unknown }
  }

  test("all requests of a key, the newest first, each once; those that went well are the ledger's", async () => {
    const { secret, hash, ok, streamed, malformed, failed, unknown } = await scene()
    const { data, next } = await list(`key_hash=${hash}`)
    expect(data.map((one: Anything) => [one.request_id, one.status, one.outcome, one.why])).toEqual([
      [unknown, 400, "caller_model_not_found", "model"],
      [failed, 502, "host_unavailable", "Provider returned error."],
      [malformed, 400, "caller_bad_request", "messages"],
      [streamed, 200, "ok", null],
      [ok, 200, "ok", null],
    ])
    expect(next).toBeNull()
    const of = (id: string) => data.find((one: Anything) => one.request_id === id)
    expect(of(ok)).toMatchObject({
      ...{ key_hash: hash, model: "acme/small", host: "a", route: "POST /api/v1/chat/completions", form: "chat" },
      ...{ streamed: false, attempts: null, bytes_in: null, usage: 0.00002, tokens_prompt: 10, tokens_completion: 5 },
    })
    expect(of(failed)).toMatchObject({
      ...{ key_hash: hash, model: "acme/small", host: "a", route: "POST /api/v1/chat/completions", form: "chat" },
      ...{ caller_request_id: "trace-7", app_title: "Kitchen", app_url: "https://kitchen.test", streamed: true },
      attempts: [{ model: "acme/small", host: "a", outcome: "overloaded", status: 500 }],
      ...{ usage: 0, tokens_prompt: 0 },
    })
    expect(of(failed).user_hash).toMatch(/^[0-9a-f]{16}$/)
    expect(of(failed).generation_id).toStartWith("gen-")
    expect(of(failed).bytes_in).toBeGreaterThan(50)
    expect(of(failed).times_ms.first_attempt).toBeNumber()
    expect(Date.parse(of(failed).created_at)).toBeGreaterThan(Date.now() - 60_000)
    expect((await list("", secret)).data).toEqual(data)
  })

  test("by each filter, and by several", async () => {
    const { hash, ok, streamed, malformed, failed, unknown } = await scene()
    const ids = async (query: string) =>
      (await list(`key_hash=${hash}&${query}`)).data.map((one: Anything) => one.request_id)
    expect(await ids("status=4xx")).toEqual([unknown, malformed])
    expect(await ids("status=502")).toEqual([failed])
    expect(await ids("status=200")).toEqual([streamed, ok])
    expect(await ids("outcome=host")).toEqual([failed])
    expect(await ids("outcome=caller_bad_request")).toEqual([malformed])
    expect(await ids("outcome=ok")).toEqual([streamed, ok])
    expect(await ids("model=acme/none")).toEqual([unknown])
    expect(await ids("host=a")).toEqual([failed, streamed, ok])
    expect(await ids("provider=a")).toEqual([failed, streamed, ok])
    expect(await ids("provider=b")).toEqual([])
    expect(await ids("app=Kitchen")).toEqual([failed])
    expect(await ids("user=failing")).toEqual([failed])
    expect(await ids("user=ann")).toEqual([streamed])
    expect(await ids("user=other")).toEqual([])
    const used = await (await get(`/activity?group_by=user&user=ann&api_key_hash=${hash}`)).json()
    const named = (await list(`key_hash=${hash}&user=ann`)).data.map((one: Anything) => one.user_hash)
    expect((used as Anything).data.map((one: Anything) => [one.requests, one.usage, one.user_hash])).toEqual([
      [1, 0.00002, ...named],
    ])
    expect(await ids("outcome=failed")).toEqual([unknown, failed, malformed])
    expect(await ids(`user_hash=${named[0]}`)).toEqual([streamed])
    expect(await ids(`user=ann&user_hash=${named[0]}`)).toEqual([streamed])
    expect(await ids(`user=failing&user_hash=${named[0]}`)).toEqual([])
    expect((await get("/requests?user_hash=ann")).status).toBe(400)
    expect(await ids(`from=${new Date(Date.now() - 3_600_000).toISOString()}`)).toHaveLength(5)
    expect(await ids("to=2026-01-01")).toEqual([])
    expect(await ids("model=acme/small&status=5xx")).toEqual([failed])
  })

  test("after the clock was a year ahead for a moment, newer requests were in no list and in no figures by end user", async () => {
    const secret = await gateway.newKey()
    const hash = keyId(secret)
    setSystemTime(Date.now() + 365 * 86_400_000)
    const ahead = await chat(secret, hi)
    setSystemTime()
    const back = await chat(secret, { ...hi, user: "ida" })
    const span = `from=${new Date(Date.now() - 60_000).toISOString()}&to=${new Date(Date.now() + 60_000).toISOString()}`
    const { data } = await list(`key_hash=${hash}&${span}`)
    expect(data.map((one: Anything) => one.request_id)).toEqual([back])
    const used: Anything = await (await get(`/activity?group_by=user&user=ida&api_key_hash=${hash}`)).json()
    expect(used.data.map((one: Anything) => one.requests)).toEqual([1])
    expect((await list(`key_hash=${hash}`)).data.map((one: Anything) => one.request_id)).toEqual([ahead, back])
  })

  test("as CSV: a line for each, amounts exact, texts that are no formulas; the next page is named in a header", async () => {
    const secret = await gateway.newKey()
    const failed = await chat(secret, { ...hi, user: "failing" }, { "x-title": '=HYPERLINK("x")' })
    const ok = await chat(secret, hi)
    const response = await gateway.call("/requests?limit=1", {
      headers: { authorization: `Bearer ${secret}`, accept: "text/csv" },
    })
    expect([response.status, response.headers.get("content-type")]).toEqual([
      200,
      "text/csv; charset=utf-8; header=present",
    ])
    const [names = "", first = "", end] = (await response.text()).split("\r\n")
    const { data } = await list("", secret)
    // Amounts are exact in CSV.
    expect(names.split(",")).toEqual(Object.keys(data[0]).filter((name) => name !== "exact"))
    expect([first.slice(0, ok.length + 1), end]).toEqual([`${ok},`, ""])
    expect(first).toContain(",false,0.00002,10,5,,")
    expect(response.headers.get("x-gw-position")).toMatch(/^[\w-]{59}$/)
    const next = response.headers.get("x-gw-next")
    const accept = { headers: { authorization: `Bearer ${secret}`, accept: "text/csv" } }
    const second = await gateway.call(`/requests?after=${next}`, accept)
    const line = (await second.text()).split("\r\n")[1] ?? ""
    expect([line.slice(0, failed.length + 1), second.headers.get("x-gw-next")]).toEqual([`${failed},`, null])
    expect(line).toContain(`"'=HYPERLINK(""x"")"`)
    expect(line).toContain('"[{""model"":""acme/small"",""host"":""a"",""outcome"":""overloaded"",""status"":500,')
  })

  test("a position told a key how many requests all keys have made: it is sealed, and another one each time", async () => {
    const secret = await gateway.newKey()
    await chat(secret, hi)
    const [one, two] = [await list("", secret), await list("", secret)]
    expect(one.position).toMatch(/^[\w-]{59}$/)
    expect(two.position).not.toBe(one.position)
    expect((await list(`position=${one.position}`, secret)).data).toEqual([])
    const changed = `${one.position.slice(0, 30)}${one.position[30] === "A" ? "B" : "A"}${one.position.slice(31)}`
    for (const position of ["0.0", "4.3", changed, "A".repeat(59)]) {
      expect([position, (await get(`/requests?position=${position}`, secret)).status]).toEqual([position, 400])
    }
  })

  test("page after page; and from a position on what was written since", async () => {
    const { hash, ok, streamed, malformed, failed, unknown } = await scene()
    const seen: Array<string> = []
    const { position } = await list(`key_hash=${hash}`)
    for (let next: string | null = ""; next !== null; ) {
      const after = next === "" ? "" : `&after=${next}`
      const page = (await (await get(`/requests?limit=2&key_hash=${hash}${after}`)).json()) as Anything
      seen.push(...page.data.map((one: Anything) => one.request_id))
      next = page.next
      await chat(gateway.key, { ...hi, messages: 3 })
    }
    expect(seen).toEqual([unknown, failed, malformed, streamed, ok])
    const before = await list(`position=${position}&key_hash=${hash}`)
    expect(before.data).toEqual([])
    const after = await scene()
    const since = await list(`position=${before.position}&key_hash=${after.hash}`)
    expect(since.data.map((one: Anything) => one.request_id).toSorted()).toEqual(
      [after.ok, after.streamed, after.malformed, after.failed, after.unknown].toSorted(),
    )
  })

  test("an ordinary key sees its own alone", async () => {
    const { secret, hash, malformed } = await scene()
    const other = await gateway.newKey()
    expect((await list("", other)).data).toEqual([])
    expect((await list(`position=${(await list("", other)).position}`, other)).data).toEqual([])
    expect((await list(`key_hash=${hash}`, secret)).data).toHaveLength(5)
    expect((await errorOf(await get(`/requests?key_hash=${hash}`, other))).code).toBe(403)
    expect((await errorOf(await get("/requests/unknown", other))).code).toBe(403)
    expect((await errorOf(await get(`/generation?id=${malformed}`, other))).code).toBe(404)
    expect((await errorOf(await get("/requests", "sk-gw-nobody"))).code).toBe(401)
  })

  test("the generation of a failed id, and of a request id, says how it ended", async () => {
    const { secret, ok, malformed, failed } = await scene()
    const generation = async (id: string): Promise<Anything> => {
      const response = await get(`/generation?id=${id}`, secret)
      expect(response.status).toBe(200)
      return ((await response.json()) as Anything).data
    }
    expect(await generation(malformed)).toMatchObject({
      ...{ id: malformed, request_id: malformed, status: 400, outcome: "caller_bad_request", why: "messages" },
      ...{ usage: 0, provider_name: null, provider_responses: [], plan: null, billing: null },
    })
    const byRequest = await generation(failed)
    expect(byRequest).toMatchObject({
      ...{ request_id: failed, status: 502, outcome: "host_unavailable", model: "acme/small" },
      provider_responses: [{ status: 500, endpoint_id: "a", model_permaslug: "acme/small" }],
    })
    expect(byRequest.id).toStartWith("gen-")
    expect(await generation(byRequest.id)).toEqual(byRequest)
    expect(await generation(ok)).toMatchObject({
      request_id: ok,
      status: 200,
      outcome: "ok",
      why: null,
      usage: 0.00002,
    })
    expect((await errorOf(await get(`/generation/content?id=${failed}`, secret))).code).toBe(404)
    expect((await errorOf(await get("/generation?id=req_000000000000000000000000", secret))).code).toBe(404)
  })

  test("a flood of callers whom nobody knows evicts nothing, and is counted by minute and status", async () => {
    const { hash } = await scene()
    const flood = 300
    const kept = await list(`key_hash=${hash}`)
    const counted = async () => {
      const { data } = (await (await get("/requests/unknown")).json()) as Anything
      return data.reduce((sum: number, one: Anything) => sum + (one.status === 401 ? one.requests : 0), 0)
    }
    const before = await counted()
    for (let at = 0; at < flood; at += 30) {
      await Promise.all(Array.from({ length: 30 }, (_, n) => chat(`sk-gw-nobody-${at + n}`, hi)))
    }
    expect(await counted()).toBe(before + flood)
    expect((await list(`key_hash=${hash}`)).data).toEqual(kept.data)
    expect((await list("status=401")).data).toEqual([])
  })

  test("nothing of a prompt, and no secret, is kept of a request", async () => {
    const canary = "canary5up3rs3cret"
    const secret = await gateway.newKey()
    const bodies: ReadonlyArray<object> = [
      { ...hi, messages: [{ role: canary, content: canary }] },
      { ...hi, messages: [{ role: "user", content: [{ type: canary, [canary]: canary }] }] },
      { ...hi, messages: canary },
      { ...hi, tools: [{ type: "function", function: { name: `${canary} !`, parameters: { [canary]: canary } } }] },
      { ...hi, metadata: { [canary]: 4 }, [canary]: canary },
      { ...hi, logit_bias: { [canary]: canary } },
      { ...hi, response_format: { type: "json_schema", json_schema: { name: canary, schema: canary } } },
      { ...hi, provider: { only: [canary], order: [canary] } },
      { ...hi, provider: { [canary]: true, sort: canary } },
      { ...hi, model: `a prompt in place of a model: ${canary}` },
      { ...hi, user: canary, messages: [{ role: "user", content: canary }], tool_choice: canary },
      { ...hi, user: "failing", messages: [{ role: "user", content: canary }] },
      { ...hi, stream: canary, temperature: canary, stop: [canary, 4], seed: canary, modalities: [canary] },
    ]
    for (const body of bodies) await chat(secret, body)
    for (const path of ["/messages", "/responses", "/completions", "/embeddings", "/rerank", "/route/explain"]) {
      for (const body of [
        { model: "acme/small", [canary]: canary, messages: canary, input: { [canary]: 1 } },
        canary,
      ]) {
        const headers = { "content-type": "application/json", authorization: `Bearer ${secret}` }
        await (await gateway.call(path, { method: "POST", headers, body: JSON.stringify(body) })).text()
      }
    }
    const { data } = await list(`key_hash=${keyId(secret)}`)
    expect(data.length).toBeGreaterThanOrEqual(bodies.length + 10)
    expect(JSON.stringify(data)).not.toContain(canary)
    expect(JSON.stringify(data)).not.toContain(secret)
    expect(new Set(data.map((one: Anything) => one.why)).size).toBeGreaterThan(5)
    const kept = await gateway.run(Effect.flatMap(Storage, ({ requests }) => requests.page({}, "", 1000)))
    expect(Bun.inspect(kept, { depth: 9 })).not.toContain(canary)
  })

  test("a question that cannot be answered is refused, with each fault", async () => {
    const response = await get("/requests?status=abc&outcome=never&from=yesterday&limit=5000&after=a%20b&position=1")
    const { code, metadata } = await errorOf(response)
    expect(code).toBe(400)
    const issues = (metadata as Anything).issues.map((one: Anything) => one.path)
    expect(issues.toSorted()).toEqual(["after", "from", "limit", "outcome", "position", "status"])
  })
})

test("with 0 days nothing is kept, and what is there is removed; the ledger's are listed all the same", async () => {
  const host = scriptedHost(() => wholeAnswer("fine"))
  const config = configFor({ a: { url: host.url } })
  const first = await startGateway({ config })
  expect((await first.chat({})).status).toBe(400)
  const storage = await first.run(Storage)
  await first.stop()
  const kept = () => Effect.runPromise(Effect.map(storage.requests.page({}, "", 9), ({ found }) => found.length))
  expect(await kept()).toBe(1)
  const off = { ...config, records: { requests_days: 0 } }
  const second = await startGateway({ config: off, storage: Layer.succeed(Storage, storage) })
  await until(async () => (await kept()) === 0, "the removal")
  await (await second.chat(hi)).text()
  expect((await second.chat({})).status).toBe(400)
  const listed = (await (await second.call("/requests")).json()) as Anything
  expect(listed.data.map((one: Anything) => one.status)).toEqual([200])
  await second.stop()
  expect(await kept()).toBe(1)
  await host.stop()
})

test("`next` was the id of another key's request where a look ended there; now it tells nothing, and the next page goes on there", async () => {
  const foreign = `req_${"7".repeat(24)}`
  const asked: Array<string> = []
  const storage = Layer.effect(
    Storage,
    Effect.map(Storage, (all) => ({
      ...all,
      requests: {
        ...all.requests,
        page: (_: unknown, below: string) => {
          asked.push(below)
          // Looks end there, and none is of this key.
          return Effect.succeed({ found: [], next: foreign })
        },
      },
    })),
  ).pipe(Layer.provide(lastingStorage))
  const gateway = await startGateway({ config: configFor({}), storage })
  const headers = { authorization: `Bearer ${gateway.key}` }
  const page = async (after = ""): Promise<Anything> => (await gateway.call(`/requests${after}`, { headers })).json()
  const { next } = await page()
  expect(Buffer.from(next, "base64url").includes(foreign)).toBe(false)
  expect(next).not.toContain(foreign)
  expect((await page()).next).not.toBe(next)
  asked.splice(0)
  await page(`?after=${next}`)
  expect(asked[0]).toBe(foreign)
  const csv = await gateway.call("/requests", { headers: { ...headers, accept: "text/csv" } })
  expect(csv.headers.get("x-gw-next")).toMatch(/^[\w-]{60,100}$/)
  expect(csv.headers.get("x-gw-next")).not.toContain(foreign)
  await gateway.stop()
})
