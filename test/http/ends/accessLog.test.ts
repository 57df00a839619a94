/** The access log: what a line has of each way in which a request ends, and what it never has. docs/access-log.md */
import { describe, expect, test } from "bun:test"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Logger from "effect/Logger"
import * as LogLevel from "effect/LogLevel"
import { keyId } from "../../../src/domain/keys/keySecret.ts"
import { DataHandlers } from "../../../src/http/data/DataHandlers.ts"
import { forms } from "../../../src/http/data/forms.ts"
import { modelRoute } from "../../../src/http/data/ModelRequest.ts"
import type { AccessLog } from "../../../src/services/records/accessLog.ts"
import { RequestEnds } from "../../../src/services/request/RequestEnds.ts"
import { ManualClock, pass } from "../../support/clocks/manualClock.ts"
import { until, within } from "../../support/clocks/until.ts"
import { gatewayWithoutSocket, startGateway, type TestGateway } from "../../support/gateways/gateway.ts"
import { closeAfterEach, opened } from "../../support/gateways/watched.ts"
import { chunkOf, configFor, heldStream, scriptedHost, streamAnswer, wholeAnswer } from "../../support/hosts/host.ts"

closeAfterEach()

// biome-ignore lint/suspicious/noExplicitAny: the tests look into lines, and a wrong guess is a failing test.
type Line = any

const kinds = [
  ["on a socket", startGateway],
  ["in an app", gatewayWithoutSocket],
] as const

/** The lines of requests, as a logger of JSON would write them. */
const logOf = () => {
  const lines: Array<Line> = []
  const logger = Logger.make(({ message, logLevel }) => {
    const [text, fields] = Array.isArray(message) ? message : []
    if (text === "request") lines.push({ level: logLevel.label, ...JSON.parse(JSON.stringify(fields)) })
  })
  return { lines, layer: Logger.add(logger) }
}

interface Scene {
  readonly gateway: TestGateway
  readonly lines: ReadonlyArray<Line>
  /** The one line of the request that got this answer. */
  readonly lineOf: (response: Response) => Promise<Line>
}

/** Hosts `a` and `b`; `answer` is that of the first one. */
const sceneOf = async (
  start: (typeof kinds)[number][1],
  accessLog: AccessLog,
  answer: Parameters<typeof scriptedHost>[0] = usual,
): Promise<Scene> => {
  const [a, b] = [opened(scriptedHost(answer)), opened(scriptedHost(usual))]
  const config = {
    ...configFor({ a, b }),
    server: { access_log: accessLog, drain_s: 0 },
    routing: { strategy: "price" },
  }
  const { lines, layer } = logOf()
  const gateway = opened(await start({ config, setting: layer }))
  const lineOf = async (response: Response): Promise<Line> => {
    await response.text()
    const id = response.headers.get("x-gw-request-id")
    await until(() => lines.some(({ request_id }) => request_id === id), "the line")
    const [line, ...more] = lines.filter(({ request_id }) => request_id === id)
    expect(more).toEqual([])
    return line
  }
  return { gateway, lines, lineOf }
}

const usual = ({ stream }: Record<string, unknown>) =>
  stream === true ? streamAnswer(["canary-of-the-answer"]) : wholeAnswer("canary-of-the-answer")

const hi = { model: "acme/small", messages: [{ role: "user", content: "canary-of-the-prompt" }] }
const named = { "x-title": "Kitchen", "http-referer": "https://kitchen.test", "x-request-id": "mine-7" }

describe.each(kinds)("%s", (_, start) => {
  test.each([false, true])("an answer, stream: %p", async (stream) => {
    const { gateway, lineOf } = await sceneOf(start, "all")
    const body = { ...hi, stream }
    const response = await gateway.chat(body, { headers: named })
    const sent = response.clone()
    const line = await lineOf(response)
    const { duration_ms, overhead_ms, first_token_ms, created_at, attempts, address: __, ...rest } = line
    expect(rest).toEqual({
      ...{ level: "INFO", event: "request", request_id: response.headers.get("x-gw-request-id") },
      ...{ route: "POST /api/v1/chat/completions", form: "chat", streamed: stream, status: 200, outcome: "ok" },
      ...{ model: "acme/small", host: "a", generation_id: response.headers.get("x-generation-id") },
      ...{ key_name: "test", key_hash: keyId(gateway.key), caller_request_id: "mine-7" },
      ...{ app_title: "Kitchen", app_url: "https://kitchen.test" },
      ...{ tokens_prompt: 10, tokens_completion: 5, cost_usd: "0.00002" },
      ...{ bytes_in: JSON.stringify(body).length, bytes_out: (await sent.bytes()).byteLength },
    })
    expect(attempts).toEqual([
      {
        model: "acme/small",
        host: "a",
        outcome: "finished",
        status: 200,
        duration_ms: attempts[0].duration_ms,
        fault: null,
      },
    ])
    for (const time of [duration_ms, overhead_ms, attempts[0].duration_ms]) expect(time).toBeNumber()
    if (stream) expect(first_token_ms).toBeNumber()
    else expect(first_token_ms).toBeUndefined()
    expect(duration_ms).toBeGreaterThanOrEqual(attempts[0].duration_ms)
    expect(Math.abs(Date.parse(created_at) - Date.now())).toBeLessThan(60_000)
  })

  test("a request that its host refused: its line has the values of its record", async () => {
    const { gateway, lineOf } = await sceneOf(start, "errors", () => Response.json({}, { status: 429 }))
    const asked = { ...hi, provider: { order: ["a"], allow_fallbacks: false } }
    const alone = await lineOf(await gateway.chat(asked, { headers: named }))
    expect(alone).toMatchObject({ status: 429, outcome: "host_rate_limited", host: "a" })
    const listed = await gateway.call("/requests", { headers: { authorization: `Bearer ${gateway.managementKey}` } })
    const { data } = (await listed.json()) as Line
    const item = data.find((one: Line) => one.request_id === alone.request_id)
    for (const name of Object.keys(alone).filter((each) => each in item))
      expect([name, alone[name]]).toEqual([name, item[name]])
    expect(
      Object.keys(alone)
        .filter((each) => !(each in item))
        .toSorted(),
    ).toEqual(["event", "key_name", "level"])
  })

  test("a fallback that ends well has both calls, and no line where only errors have one", async () => {
    const busy = () => Response.json({}, { status: 503 })
    const every = await sceneOf(start, "all", busy)
    const line = await every.lineOf(await every.gateway.chat(hi))
    expect(line).toMatchObject({ status: 200, outcome: "ok", host: "b" })
    expect(line.attempts.map(({ host, status, outcome }: Line) => [host, status, outcome])).toEqual([
      ["a", 503, "overloaded"],
      ["b", 200, "finished"],
    ])
    const errors = await sceneOf(start, "errors", busy)
    expect((await errors.gateway.chat(hi)).status).toBe(200)
    await errors.lineOf(await errors.gateway.chat({}))
    expect(errors.lines).toHaveLength(1)
  })

  test("refused requests: without a key, above the rate limit, without money, of a wrong body", async () => {
    const { gateway, lineOf } = await sceneOf(start, "errors")
    const refused = async (secret: string, body: unknown = hi) =>
      lineOf(await gateway.chat(body, { headers: { authorization: secret === "" ? "" : `Bearer ${secret}` } }))
    const nobody = await refused("sk-gw-nobody")
    expect(nobody).toMatchObject({ status: 401, outcome: "caller_unauthenticated", form: "chat" })
    expect([nobody.key_hash, nobody.key_name, nobody.model, nobody.cost_usd]).toEqual(new Array(4).fill(undefined))
    expect(nobody.why).toContain("no active key")
    const slow = await gateway.newKey({ name: "slow", rateLimit: { requests: 1, intervalSeconds: 3600 } })
    await gateway.chat(hi, { headers: { authorization: `Bearer ${slow}` } })
    expect(await refused(slow)).toMatchObject({
      ...{ status: 429, outcome: "policy_rate_limited", key_name: "slow", key_hash: keyId(slow) },
      why: "Rate limit exceeded: requests of this key.",
    })
    const poor = await gateway.newKey({ name: "poor", limit: 0n })
    expect(await refused(poor)).toMatchObject({ status: 402, outcome: "policy_budget_used_up", key_name: "poor" })
    const wrong = await refused(gateway.key, { ...hi, messages: [{ role: "canary-of-the-role" }] })
    expect(wrong).toMatchObject({ status: 400, outcome: "caller_bad_request" })
    expect(JSON.stringify(wrong)).not.toContain("canary")
  })

  test("a caller who leaves amid a stream", async () => {
    const left = Promise.withResolvers<void>()
    const { gateway, lines } = await sceneOf(start, "errors", (__, request) => {
      const stream = heldStream(request)
      stream.send(chunkOf({ delta: { content: "canary-of-the-answer" }, finish_reason: null }))
      void stream.left.then(left.resolve)
      return stream.response
    })
    const response = await gateway.call("/responses", {
      method: "POST",
      body: JSON.stringify({ model: "acme/small", input: "canary-of-the-prompt", stream: true }),
      headers: { "content-type": "application/json" },
    })
    const reader = response.body?.getReader()
    await reader?.read()
    await reader?.cancel()
    await within(left.promise, "the end of the call")
    await until(() => lines.length === 1, "the line")
    expect(lines[0]).toMatchObject({
      outcome: "caller_gone",
      status: 200,
      form: "responses",
      host: "a",
      streamed: true,
    })
    expect(lines[0].cost_usd).toMatch(/^0\.0000\d+$/)
  })

  test("a defect", async () => {
    const { gateway, lines } = await sceneOf(start, "errors")
    const { handler } = await gateway.run(DataHandlers)
    const broken = {
      ...forms.chat,
      error: () => {
        throw new Error("no words")
      },
    }
    const handle = handler(
      modelRoute({ method: "POST", path: "/api/v1/chat/completions" }, broken),
      (__, response) => response,
    )
    const request = new Request("http://gateway.test/api/v1/chat/completions", { method: "POST", body: "{}" })
    expect((await handle.native(request, () => false)).status).toBe(500)
    await until(() => lines.length === 1, "the line")
    expect(lines[0]).toMatchObject({ status: 500, outcome: "gateway_defect", route: "POST /api/v1/chat/completions" })
  })

  test("requests of the management API have a line, with all; probes have none", async () => {
    const { gateway, lines, lineOf } = await sceneOf(start, "all")
    const listed = await gateway.call("/keys", { headers: { authorization: `Bearer ${gateway.managementKey}` } })
    const line = await lineOf(listed)
    expect(line).toMatchObject({ route: "GET /api/v1/keys", status: 200, key_hash: keyId(gateway.managementKey) })
    expect([line.streamed, line.form, line.model, line.attempts]).toEqual(new Array(4).fill(undefined))
    expect(await lineOf(await gateway.call("/canary-of-a-path"))).toMatchObject({ route: "GET *", status: 404 })
    const wrong = await gateway.call("/keys", {
      method: "POST",
      headers: { authorization: `Bearer ${gateway.managementKey}`, "content-type": "application/json" },
      body: JSON.stringify({ name: "x", canary_of_a_name: 1 }),
    })
    expect(await lineOf(wrong)).toMatchObject({ route: "POST /api/v1/keys", status: 400 })
    expect(JSON.stringify(lines)).not.toContain("canary")
    for (const path of ["/../../healthz", "/../../readyz"]) {
      expect((await gateway.call(path)).status).toBe(200)
    }
    await lineOf(await gateway.call("/key"))
    expect(lines).toHaveLength(4)
  })

  test("no line has a secret, a word of a prompt or an answer, or an end user", async () => {
    const { gateway, lines, lineOf } = await sceneOf(start, "all", usual)
    const secrets = [gateway.key, gateway.managementKey, "key-of-a", "key-of-b", "canary"]
    for (const stream of [false, true]) await lineOf(await gateway.chat({ ...hi, user: "canary-of-the-user", stream }))
    // As by mistake.
    const misplaced = { "x-title": gateway.key, "http-referer": `https://kitchen.test/?key=${gateway.key}` }
    const mistaken = { ...misplaced, "x-request-id": gateway.managementKey }
    const line = await lineOf(await gateway.chat({ ...hi, model: gateway.key }, { headers: mistaken }))
    expect(line.app_title).toMatch(/^sk-gw-\w{3}\.\.\.\w{3}$/)
    await lineOf(await gateway.chat({ ...hi, model: "canary of a model\nin the place of a name" }))
    await lineOf(await gateway.chat({ ...hi, temperature: "canary" }))
    await lineOf(await gateway.chat({ ...hi, provider: { only: ["canary"] } }))
    expect(lines).toHaveLength(6)
    for (const secret of secrets) expect(JSON.stringify(lines)).not.toContain(secret)
  })
})

test("requests that end while the gateway stops have their lines", async () => {
  const called = Promise.withResolvers<void>()
  const { gateway, lines } = await sceneOf(startGateway, "errors", (_, request) => {
    called.resolve()
    return heldStream(request).response
  })
  const asked = gateway.chat({ ...hi, provider: { order: ["a"], allow_fallbacks: false } }).catch(() => undefined)
  await within(called.promise, "the call")
  await gateway.stop()
  await asked
  expect(lines.map(({ outcome }) => outcome)).toEqual(["gateway_stopping"])
})

const quiet = {
  alerts: Object.fromEntries(
    ["key_budget", "daily_spend", "uncharged_cost", "account_refused", "error_rate"].map((rule) => [
      rule,
      { enabled: false },
    ]),
  ),
  records: { requests_days: 0 },
}

test.each([
  ["off", "Info", false],
  ["errors", "Warning", false],
  ["errors", "Info", true],
] as const)("%s, in a log from %s on: requests are observed: %p", async (accessLog, level, isObserved) => {
  const server = { metrics: { enabled: false }, access_log: accessLog }
  const setting = Layer.merge(Logger.minimumLogLevel(LogLevel.fromLiteral(level)), logOf().layer)
  const gateway = opened(await gatewayWithoutSocket({ config: { ...quiet, server }, setting }))
  const observed = await gateway.run(Effect.map(RequestEnds, ({ begin }) => begin("GET /", null).observed))
  expect(observed !== undefined).toBe(isObserved)
})

test("requests of nobody known had a line each, so that anybody filled the disk: a few of an outcome, and one that counts the others", async () => {
  const clock = new ManualClock()
  const { lines, layer } = logOf()
  const gateway = opened(
    await startGateway({ config: configFor({}), setting: Layer.merge(layer, Layer.setClock(clock)) }),
  )
  const asked = async (path: string, authorization: string) => {
    const response = await gateway.call(path, { headers: { authorization, "x-title": "x".repeat(200) } })
    await response.text()
  }
  for (let at = 0; at < 20; at++) {
    await asked("/requests", `Bearer sk-unknown-${at}`)
    await asked(`/no/such/path/${at}`, "Bearer x")
    await gateway.chat(hi, { headers: { authorization: `Bearer sk-unknown-${at}` } })
  }
  // A known key keeps its lines.
  for (let at = 0; at < 15; at++) await gateway.chat({ ...hi, model: `acme/none-${at}` })
  const of = (outcome: string) => lines.filter((line) => line.outcome === outcome)
  await until(() => of("caller_model_not_found").length === 15, "the lines")
  const unknown = () => lines.filter(({ key_hash }) => key_hash === undefined)
  const outcomes = () => new Set(unknown().map(({ outcome }) => outcome))
  expect(outcomes().size).toBe(2)
  for (const outcome of outcomes()) expect(of(outcome)).toHaveLength(10)
  await pass(clock, 121_000)
  await until(() => unknown().length === 22, "the counts")
  const counted = unknown().slice(20)
  expect(counted.map(({ requests }) => requests).toSorted((a, b) => a - b)).toEqual([10, 30])
  // The next minute has lines of its own.
  await asked("/requests", "Bearer sk-unknown-again")
  await until(() => unknown().length === 23, "the next line")
}, 1_800_000)
