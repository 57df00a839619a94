/** Every request ends once, on every route: the observers of its gateway are told of it with one value. docs/guarantees.md#g37 */
import { beforeAll, describe, expect, test } from "bun:test"
import * as Effect from "effect/Effect"
import { HostTag } from "../../../src/domain/ids.ts"
import { keyId } from "../../../src/domain/keys/keySecret.ts"
import { DataPlane } from "../../../src/http/data/routes.ts"
import type { RequestEnd } from "../../../src/services/request/RequestEnds.ts"
import { until } from "../../support/clocks/until.ts"
import { openAccount } from "../../support/gateways/account.ts"
import {
  answerOfEveryRoute,
  bodyFor,
  configOfEveryRoute,
  forModel,
  free,
  nameOf,
  paid,
  patternOf,
  streamsOf,
} from "../../support/gateways/everyRoute.ts"
import { gatewayWithoutSocket, startGateway, type TestGateway } from "../../support/gateways/gateway.ts"
import { observe, toldAgain } from "../../support/gateways/observed.ts"
import { closeAfterAll, opened } from "../../support/gateways/watched.ts"
import { scriptedHost } from "../../support/hosts/host.ts"

closeAfterAll()

const kinds = [
  ["on a socket", startGateway],
  ["in an app", gatewayWithoutSocket],
] as const

/** What a failure of the value is, in a word. */
const failureOf = ({ failure }: RequestEnd): string | null =>
  failure === null || failure === "defect" ? failure : failure._tag

describe.each(kinds)("%s", (_, start) => {
  let gateway: TestGateway
  let ends: ReadonlyArray<RequestEnd>

  beforeAll(async () => {
    const host = opened(scriptedHost(answerOfEveryRoute))
    gateway = opened(await start({ config: configOfEveryRoute(host) }))
    ends = await observe(gateway)
  })

  /** The one end of the request that got this answer, which is read. */
  const endOf = async (asked: Promise<Response>) => {
    const response = await asked
    const bytes = (await response.bytes()).byteLength
    const id = response.headers.get("x-gw-request-id")
    await until(() => ends.some(({ requestId }) => requestId === id), "the end")
    const [end, ...more] = ends.filter(({ requestId }) => requestId === id)
    if (end === undefined) throw new Error("no end")
    expect([more, end.status, toldAgain(ends)]).toEqual([[], response.status, []])
    return { end, bytes }
  }

  const post = (path: string, body: unknown, secret = gateway.key, headers: Record<string, string> = {}) =>
    gateway.call(path, {
      method: "POST",
      body: typeof body === "string" ? body : JSON.stringify(body),
      headers: { "content-type": "application/json", authorization: `Bearer ${secret}`, ...headers },
    })

  /** The request as the list of the control plane has it, which reads the ledger. */
  const listed = async (id: string) => {
    const response = await gateway.call("/requests?limit=20", {
      headers: { authorization: `Bearer ${gateway.managementKey}` },
    })
    const { data } = (await response.json()) as { readonly data: ReadonlyArray<{ readonly request_id: string }> }
    return data.find(({ request_id }) => request_id === id)
  }

  test("no route is left out", async () => {
    const paths = await gateway.run(Effect.map(DataPlane, ({ handlers }) => [...handlers.keys()]))
    const known = [...Object.keys(paid), ...Object.keys(free)].map(patternOf)
    expect(paths.toSorted()).toEqual(known.toSorted() as typeof paths)
  })

  const streamedOrNot = Object.entries(paid).flatMap(([path, route]) =>
    streamsOf(route).map((stream) => ({ path, stream, ...route })),
  )

  test.each(streamedOrNot)("an answer of $path, stream: $stream, is told with its row", async (route) => {
    const { path, stream, form } = route
    const account = await openAccount(gateway)
    const asked = bodyFor(route, stream)
    const headers = { "x-title": "Kitchen", "http-referer": "https://kitchen.test" }
    const { end, bytes } = await endOf(post(path, asked, account.secret, headers))
    const [row] = await account.rows()
    if (row === undefined) throw new Error("no row")
    expect(end).toMatchObject({
      ...{ route: nameOf(path), form, status: 200, failure: null, host: row.host, model: row.model },
      ...{ generationId: row.generationId, cost: row.cost, requestId: row.requestId },
      tokens: { prompt: row.promptTokens, completion: row.completionTokens },
      app: { appTitle: "Kitchen", appUrl: "https://kitchen.test" },
      bytes: { in: JSON.stringify(asked).length, out: bytes },
    })
    expect(end.key?.id).toBe(keyId(account.secret))
    expect(await listed(row.requestId)).toMatchObject({ form, route: nameOf(path), streamed: row.streamed })
    expect(end.row).toMatchObject({ requestId: row.requestId, cost: row.cost, outcome: "finished" })
    expect(end.attempts.map(({ host, outcome }) => [host.tag, outcome])).toEqual([[HostTag.make(row.host), "finished"]])
    const { admitted, firstAttempt, booked, firstByte, lastByte, ended, receivedAt } = end.times
    expect([admitted, firstAttempt, booked, lastByte, ended]).toEqual(
      [admitted, firstAttempt, booked, lastByte, ended].toSorted((a, b) => Number(a) - Number(b)),
    )
    for (const time of [admitted, firstAttempt, booked, firstByte, lastByte]) expect(time).toBeNumber()
    expect(Math.abs(Date.now() - receivedAt)).toBeLessThan(60_000)
  })

  test.each(Object.keys(free))("an answer of %s is told without a row", async (path) => {
    const { body } = free[path] ?? {}
    const { end, bytes } = await endOf(post(path, body))
    expect(end).toMatchObject({
      ...{ route: nameOf(path), status: 200, failure: null, row: null, tokens: null, cost: 0n },
      ...{ attempts: [], host: null, model: "acme/small", bytes: { in: JSON.stringify(body).length, out: bytes } },
    })
    expect(end.key?.id).toBe(keyId(gateway.key))
    expect([end.times.firstAttempt, end.times.booked]).toEqual([null, null])
  })

  describe.each(Object.entries({ ...free, ...paid }))("a refusal of %s is told:", (path, { body }) => {
    const refused = async (asked: Promise<Response>, failure: string, secret: string | null) => {
      const { end, bytes } = await endOf(asked)
      expect([failureOf(end), end.key?.id ?? null]).toEqual([failure, secret === null ? null : keyId(secret)])
      expect(end).toMatchObject({ route: nameOf(path), row: null, tokens: null, cost: 0n, attempts: [] })
      expect(end.bytes.out).toBe(bytes)
      return end
    }
    test("without a key", () => refused(post(path, body, ""), "KeyNotAccepted", null))
    test("with an unknown key", () => refused(post(path, body, "sk-gw-unknown"), "KeyNotAccepted", null))
    test("a body that is no JSON", async () => {
      const end = await refused(post(path, "{"), "BadRequest", gateway.key)
      expect(end.bytes.in).toBe(1)
      expect(end.times.admitted).toBeNull()
    })
    test("a body of another type", () =>
      refused(post(path, body, gateway.key, { "content-type": "text/plain" }), "BadRequest", gateway.key))
    // An explanation of it is an answer.
    test.each(path === "/route/explain" ? [] : ["acme/nothing"])("a model that there is not, %s", async (model) => {
      const asked = forModel(path, body, model)
      const end = await refused(post(asked.path, asked.body), "BadRequest", gateway.key)
      expect(end.model).toBe(model)
    })
    test("the key's rate limit", async () => {
      const key = await gateway.newKey({ rateLimit: { requests: 1, intervalSeconds: 3600 } })
      await endOf(post(path, body, key))
      await refused(post(path, body, key), "RateLimited", key)
    })
  })

  test.each(Object.entries(paid))("%s of a management key, and of one that cannot pay", async (path, { body }) => {
    const manager = await endOf(post(path, body, gateway.managementKey))
    expect([failureOf(manager.end), manager.end.key?.id]).toEqual(["NotPermitted", keyId(gateway.managementKey)])
    const poor = await gateway.newKey({ limit: 0n })
    const { end } = await endOf(post(path, body, poor))
    expect([failureOf(end), end.status, end.key?.id]).toEqual(["PaymentRequired", 402, keyId(poor)])
  })

  test("a repeated request is told of like the first, without a row", async () => {
    const { body } = paid["/chat/completions"] ?? {}
    const headers = { "idempotency-key": crypto.randomUUID() }
    const first = await endOf(post("/chat/completions", body, gateway.key, headers))
    const again = await endOf(post("/chat/completions", body, gateway.key, headers))
    const other = await endOf(post("/chat/completions", { ...body, max_tokens: 1 }, gateway.key, headers))
    expect([first, again, other].map(({ end }) => [end.status, failureOf(end), end.row === null])).toEqual([
      [200, null, false],
      [200, null, true],
      [400, "RequestRepeated", true],
    ])
    expect(again.bytes).toBe(first.bytes)
    expect(again.end.bytes.out).toBe(again.bytes)
  })

  test("a GET of a form is told: 404, or 426 for one that wants a WebSocket", async () => {
    const plain = await endOf(gateway.call("/responses"))
    expect([plain.end.route, failureOf(plain.end), plain.end.key]).toEqual(["GET /api/v1/responses", "NotFound", null])
    const { end } = await endOf(
      gateway.call("/responses", { headers: { connection: "upgrade", upgrade: "websocket" } }),
    )
    expect([end.status, failureOf(end), end.key?.id]).toEqual([426, "UpgradeRequired", keyId(gateway.key)])
  })

  test("requests of the management API are told, with route, key and status", async () => {
    const asManager = { headers: { authorization: `Bearer ${gateway.managementKey}` } }
    const listed = await endOf(gateway.call("/keys", asManager))
    expect(listed.end).toMatchObject({ route: "GET /api/v1/keys", form: null, status: 200, failure: null, row: null })
    expect([listed.end.key?.id, listed.end.bytes.out]).toEqual([keyId(gateway.managementKey), listed.bytes])
    const forbidden = await endOf(gateway.call("/keys"))
    expect([forbidden.end.status, failureOf(forbidden.end), forbidden.end.key?.id]).toEqual([
      403,
      "NotPermitted",
      keyId(gateway.key),
    ])
    const unknown = await endOf(gateway.call(`/keys/${"0".repeat(64)}`, asManager))
    expect([unknown.end.route, unknown.end.status, failureOf(unknown.end)]).toEqual([
      "GET /api/v1/keys/:hash",
      404,
      "NotFound",
    ])
  })

  test("each operation of the API's description is told once where it is called without a key", async () => {
    const described = (await (await gateway.call("/openapi.json")).json()) as {
      readonly paths: Readonly<Record<string, Readonly<Record<string, unknown>>>>
    }
    for (const [path, methods] of Object.entries(described.paths)) {
      for (const method of Object.keys(methods)) {
        const own = path.replace("/api/v1", "").replaceAll(/\{\w+\}/g, "a")
        const url = path.startsWith("/api/v1") ? gateway.url : gateway.url.replace("/api/v1", "")
        if (url !== gateway.url) continue
        const body = method === "post" || method === "patch" ? { body: "{}" } : {}
        const headers = { authorization: "", "content-type": "application/json" }
        const { end } = await endOf(gateway.call(own, { method: method.toUpperCase(), headers, ...body }))
        expect(end.route).toBe(`${method.toUpperCase()} ${path.replaceAll(/\{(\w+)\}/g, ":$1")}`)
        expect(end.key).toBeNull()
      }
    }
  })

  test("an unknown path is told of, without the path", async () => {
    const { end } = await endOf(gateway.call("/secret-of-a-caller?key=x", { method: "PUT" }))
    expect([end.route, end.status, failureOf(end)]).toEqual(["PUT *", 404, "NotFound"])
  })

  test("a preflight request is not told of", async () => {
    const before = ends.length
    expect((await gateway.call("/chat/completions", { method: "OPTIONS" })).status).toBe(204)
    await gateway.call("/models", { method: "OPTIONS" })
    await endOf(gateway.call("/key"))
    expect(ends).toHaveLength(before + 1)
  })
})
