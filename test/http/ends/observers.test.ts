/** Those who observe requests: what they throw harms nothing, and without them nothing is gathered. docs/guarantees.md#g37 */
import { expect, test } from "bun:test"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Scope from "effect/Scope"
import { keyId } from "../../../src/domain/keys/keySecret.ts"
import { DataPlane } from "../../../src/http/data/routes.ts"
import { InFlight } from "../../../src/services/request/InFlight.ts"
import { type RequestEnd, RequestEnds } from "../../../src/services/request/RequestEnds.ts"
import { errorOf } from "../../support/clients/answers.ts"
import { until } from "../../support/clocks/until.ts"
import { gatewayWithoutSocket } from "../../support/gateways/gateway.ts"
import { observe, subscribed } from "../../support/gateways/observed.ts"
import { closeAfterEach, opened, startWatched } from "../../support/gateways/watched.ts"
import {
  chunkOf,
  configFor,
  type HeldStream,
  heldStream,
  scriptedHost,
  streamAnswer,
  wholeAnswer,
} from "../../support/hosts/host.ts"
import { gatedStorage } from "../../support/storage/gatedStorage.ts"

closeAfterEach()

const host = () =>
  opened(scriptedHost((body) => (body["stream"] === true ? streamAnswer(["fine"]) : wholeAnswer("fine"))))
const hi = { model: "acme/small", messages: [{ role: "user", content: "hi" }] }

test("one that throws is logged; the others are told, and the request is answered", async () => {
  const gateway = await startWatched({ config: configFor({ a: host() }) })
  const scope = Effect.runSync(Scope.make())
  const broken = subscribed(() => {
    throw new Error("an observer of the test broke")
  })
  await gateway.run(Scope.extend(broken, scope))
  const ends = await observe(gateway)
  for (const stream of [false, true]) {
    const response = await gateway.chat({ ...hi, stream })
    expect(response.status).toBe(200)
    expect(await response.text()).toContain("fine")
  }
  expect((await gateway.chat({})).status).toBe(400)
  await until(() => ends.length === 3, "the ends")
  expect(ends.map(({ status }) => status)).toEqual([200, 200, 400])
  expect(gateway.log().match(/an observer of the test broke/g)?.length).toBeGreaterThanOrEqual(3)
  for (const { requestId } of ends) expect(gateway.log()).toContain(requestId)
})

test("one whose scope is closed is told nothing more, also of requests that run", async () => {
  const streams: Array<HeldStream> = []
  const held = scriptedHost((body, request) => {
    if (body["stream"] !== true) return wholeAnswer("fine")
    const stream = heldStream(request)
    streams.push(stream)
    stream.send(chunkOf({ delta: { content: "fine" }, finish_reason: null }))
    return stream.response
  })
  const gateway = opened(await gatewayWithoutSocket({ config: configFor({ a: opened(held) }) }))
  const scope = Effect.runSync(Scope.make())
  const ends: Array<RequestEnd> = []
  await gateway.run(
    Scope.extend(
      subscribed((end) => ends.push(end)),
      scope,
    ),
  )
  await gateway.chat(hi)
  const running = await gateway.chat({ ...hi, stream: true })
  await Effect.runPromise(Scope.close(scope, Exit.void))
  streams[0]?.close()
  await running.text()
  await gateway.chat(hi)
  expect(ends).toHaveLength(1)
})

test("bytes of a whole answer are counted for an observer that needs them, and of failures for any", async () => {
  const config = configFor({ a: host() })
  const gateway = opened(await gatewayWithoutSocket({ config }))
  const scope = Effect.runSync(Scope.make())
  const ends: Array<RequestEnd> = []
  const { subscribe } = await gateway.run(RequestEnds)
  await gateway.run(
    Scope.extend(
      subscribe((end) => ends.push(end), "of-failures"),
      scope,
    ),
  )
  const answered = (await (await gateway.chat(hi)).bytes()).byteLength
  const refused = (await (await gateway.chat({})).bytes()).byteLength
  await gateway.run(
    Scope.extend(
      subscribe(() => {}, "always"),
      scope,
    ),
  )
  const counted = (await (await gateway.chat(hi)).bytes()).byteLength
  expect(answered).toBeGreaterThan(0)
  expect(ends.map(({ bytes }) => bytes.out)).toEqual([0, refused, counted])
})

/** The rules that observe requests. */
const withoutRules = Object.fromEntries(
  ["key_budget", "daily_spend", "uncharged_cost", "account_refused", "error_rate"].map((rule) => [
    rule,
    { enabled: false },
  ]),
)

test("without any, nothing is gathered of a request", async () => {
  const server = { metrics: { enabled: false }, access_log: "off" } as const
  const config = { alerts: withoutRules, records: { requests_days: 0 }, server }
  const gateway = opened(await gatewayWithoutSocket({ config }))
  const begun = () => gateway.run(Effect.map(RequestEnds, ({ begin }) => begin("GET /", null).observed))
  expect(await begun()).toBeUndefined()
  const scope = Effect.runSync(Scope.make())
  await gateway.run(
    Scope.extend(
      subscribed(() => {}),
      scope,
    ),
  )
  expect(await begun()).toBeDefined()
  await Effect.runPromise(Scope.close(scope, Exit.void))
  expect(await begun()).toBeUndefined()
})

test("a stream that runs does not keep its request, which has the prompt", async () => {
  const held = scriptedHost((_, request) => {
    const stream = heldStream(request)
    stream.send(chunkOf({ delta: { content: "fine" }, finish_reason: null }))
    return stream.response
  })
  const gateway = opened(await gatewayWithoutSocket({ config: configFor({ a: opened(held) }) }))
  const { handlers } = await gateway.run(DataPlane)
  const handler = handlers.get("/api/v1/chat/completions")
  const begin = async () => {
    const body = JSON.stringify({ ...hi, stream: true })
    const headers = { authorization: `Bearer ${gateway.key}`, "content-type": "application/json" }
    const request = new Request(`${gateway.url}/chat/completions`, { method: "POST", headers, body })
    const response = await handler?.native(request, () => false)
    const reader = response?.body?.getReader()
    await reader?.read()
    return { request: new WeakRef(request), reader }
  }
  const running = []
  for (let at = 0; at < 20; at++) running.push(await begin())
  for (let turn = 0; turn < 5; turn++) {
    await Bun.sleep(1)
    Bun.gc(true)
  }
  // The collector may take some of the last ones for referred to from the stack.
  expect(running.filter(({ request }) => request.deref() !== undefined).length).toBeLessThan(5)
  for (const { reader } of running) await reader?.cancel()
})

test("a request that is ended twice is told of once, with its first end", async () => {
  const gateway = opened(await gatewayWithoutSocket())
  const ends = await observe(gateway)
  await gateway.run(
    Effect.flatMap(RequestEnds, ({ begin, end }) => {
      const request = begin("GET /", null)
      return Effect.zipRight(end(request, 200, undefined), end(request, 500, "defect"))
    }),
  )
  expect(ends.map(({ status, failure }) => [status, failure])).toEqual([[200, null]])
})

test("a caller who leaves while the answer is booked: the row is durable before the end is told", async () => {
  const { layer, gates } = gatedStorage()
  const gateway = opened(await gatewayWithoutSocket({ config: configFor({ a: host() }), storage: layer }))
  const ends = await observe(gateway)
  gates.append.close()
  const response = await gateway.chat({ ...hi, stream: true })
  await until(() => gates.append.waiting() > 0, "the booking")
  await response.body?.cancel()
  expect(ends).toEqual([])
  gates.append.open()
  await until(() => ends.length > 0, "the end")
  const [end] = ends
  expect(end).toMatchObject({ status: 200, row: { outcome: "finished" }, failure: { _tag: "CallerGone" } })
  expect(end?.times.booked).toBeNumber()
})

test("a request that comes while the gateway drains is told of, without a key", async () => {
  const gateway = opened(await gatewayWithoutSocket({ config: configFor({ a: host() }) }))
  const ends = await observe(gateway)
  await gateway.run(Effect.flatMap(InFlight, ({ drain }) => drain(0)))
  expect((await gateway.chat(hi)).status).toBe(503)
  expect(ends).toMatchObject([{ status: 503, key: null, failure: { _tag: "Unavailable" } }])
})

test("an explanation whose key is revoked while it waits for the key's spend ends with 403, as a request does", async () => {
  const { layer, gates } = gatedStorage()
  const gateway = opened(await gatewayWithoutSocket({ config: configFor({ a: host() }), storage: layer }))
  for (const path of ["/route/explain", "/chat/completions"]) {
    const key = await gateway.newKey({ limit: 1_000_000_000_000n })
    gates.spend.close()
    const body = JSON.stringify(hi)
    const headers = { authorization: `Bearer ${key}`, "content-type": "application/json" }
    const asked = gateway.call(path, { method: "POST", body, headers })
    await until(() => gates.spend.waiting() > 0, "the reading of the spend")
    await gateway.run(Effect.map(InFlight, ({ revoke }) => revoke(keyId(key))))
    gates.spend.open()
    const error = await errorOf(await asked)
    expect([path, error["code"], error["message"]]).toEqual([
      path,
      403,
      "The key was disabled or deleted while the request ran.",
    ])
  }
})

test.each(["over a socket", "in an app"])("the bytes of a stream are those that its reader gets, %s", async (where) => {
  const words = ["é", " 漢字", " 🙂"]
  const config = configFor({ a: opened(scriptedHost(() => streamAnswer(words))) })
  const gateway =
    where === "in an app" ? opened(await gatewayWithoutSocket({ config })) : await startWatched({ config })
  const ends = await observe(gateway)
  const response = await gateway.chat({ ...hi, stream: true })
  const { byteLength } = await response.bytes()
  await until(() => ends.length === 1, "the end")
  const { firstByte, lastByte, ended } = ends[0]?.times ?? {}
  expect(ends[0]?.bytes.out).toBe(byteLength)
  expect(firstByte).toBeLessThanOrEqual(lastByte ?? 0)
  expect(lastByte).toBeLessThanOrEqual(ended ?? 0)
})
