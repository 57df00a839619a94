/** `Server-Timing` of whole answers, under a clock of the test: its parts add up. docs/access-log.md#server-timing */
import { expect, test } from "bun:test"
import * as Layer from "effect/Layer"
import { Upstream } from "../../src/upstream/Upstream.ts"
import { ManualClock } from "../support/clocks/manualClock.ts"
import { until } from "../support/clocks/until.ts"
import { gatewayWithoutSocket } from "../support/gateways/gateway.ts"
import { closeAfterEach, opened } from "../support/gateways/watched.ts"
import { configFor, streamAnswer, wholeAnswer } from "../support/hosts/host.ts"
import { gatedStorage } from "../support/storage/gatedStorage.ts"

closeAfterEach()

const hi = { model: "acme/small", messages: [{ role: "user", content: "hi" }] }
const settings = { server: { server_timing: true }, routing: { strategy: "price" } }

/** Milliseconds that the hosts take: the first fails, the second answers. */
const hostTimes = { a: 120, b: 800 }

const sceneOf = async (more: object = settings) => {
  const clock = new ManualClock()
  const { layer, gates } = gatedStorage()
  const upstream = Upstream.layerFrom(async (request) => {
    const { stream } = (await request.json()) as { readonly stream?: boolean }
    const isFirst = new URL(request.url).port === "1"
    clock.advance(isFirst ? hostTimes.a : hostTimes.b)
    if (isFirst) return Response.json({}, { status: 503 })
    return stream === true ? streamAnswer(["fine"]) : wholeAnswer("fine")
  })
  const hosts = { a: { url: "http://127.0.0.1:1/v1" }, b: { url: "http://127.0.0.1:2/v1" } }
  const config = configFor(hosts, { ...more })
  const setting = Layer.setClock(clock)
  const gateway = opened(await gatewayWithoutSocket({ config, storage: layer, upstream, setting }))
  return { clock, gates, gateway }
}

/** Parts in their order, in microseconds. */
const partsOf = (response: Response): ReadonlyArray<readonly [string, number]> => {
  const value = response.headers.get("server-timing") ?? ""
  return value.split(", ").map((part) => {
    const [, name = "", ms = ""] = /^([a-z]+);dur=(\d+(?:\.\d{1,3})?)$/.exec(part) ?? []
    return [name, Math.round(Number(ms) * 1000)] as const
  })
}

const sumOf = (parts: ReadonlyArray<readonly [string, number]>) => parts.reduce((sum, [, micros]) => sum + micros, 0)

test("its parts are in order, and add up to the time from the first byte to the head", async () => {
  const { clock, gates, gateway } = await sceneOf()
  gates.append.close()
  const bytes = new TextEncoder().encode(JSON.stringify(hi))
  // Nothing is read before the gateway asks for it.
  const body = new ReadableStream<Uint8Array>(
    {
      pull: (controller) => {
        clock.advance(7)
        controller.enqueue(bytes)
        controller.close()
      },
    },
    { highWaterMark: 0 },
  )
  const before = clock.unsafeCurrentTimeMillis()
  const asked = gateway.chat(undefined, { body, duplex: "half" } as RequestInit)
  await until(() => gates.append.waiting() > 0, "the row")
  clock.advance(5)
  gates.append.open()
  const response = await asked
  expect(response.status).toBe(200)
  const parts = partsOf(response)
  expect(parts).toEqual([
    ["admit", 0],
    ["read", 7000],
    ["decode", 0],
    ["plan", 0],
    ["attempts", 120_000],
    ["host", 800_000],
    ["book", 5000],
    ["write", 0],
  ])
  expect(sumOf(parts)).toBe((clock.unsafeCurrentTimeMillis() - before) * 1000)
})

test("an answer without a host, and a repeated one, have what they came to", async () => {
  const { gateway } = await sceneOf()
  const refused = await gateway.chat({ ...hi, model: "acme/none" })
  expect(partsOf(refused).map(([name]) => name)).toEqual(["admit", "read", "decode", "write"])
  const nobody = await gateway.chat(hi, { headers: { authorization: "" } })
  expect(partsOf(nobody)).toEqual([["write", 0]])
  const failed = await gateway.chat({ ...hi, provider: { order: ["a"], allow_fallbacks: false } })
  expect(failed.status).toBe(502)
  expect(partsOf(failed)).toEqual([
    ...["admit", "read", "decode", "plan"].map((name) => [name, 0] as const),
    ["attempts", 120_000],
    ["write", 0],
  ])
  const once = { headers: { "idempotency-key": "one" } }
  expect(partsOf(await gateway.chat(hi, once)).at(-3)).toEqual(["host", 800_000])
  const again = await gateway.chat(hi, once)
  expect(again.headers.get("idempotent-replayed")).toBe("true")
  expect(partsOf(again).map(([name]) => name)).toEqual(["admit", "read", "decode", "write"])
})

test("without the setting, and for streams, there is none", async () => {
  const on = await sceneOf()
  const stream = await on.gateway.chat({ ...hi, stream: true })
  await stream.text()
  expect([stream.status, stream.headers.get("server-timing")]).toEqual([200, null])
  const off = await sceneOf({})
  const origin = { headers: { origin: "https://app.test" } }
  const whole = await off.gateway.chat(hi, origin)
  expect([whole.headers.get("server-timing"), whole.headers.get("timing-allow-origin")]).toEqual([null, null])
})

test("it names no host, and pages that may call models may read it", async () => {
  const { gateway } = await sceneOf({
    ...settings,
    server: { server_timing: true, cors_origins: ["https://app.test"] },
  })
  const from = (origin: string) => gateway.chat(hi, { headers: { origin } })
  const { headers } = await from("https://app.test")
  expect(headers.get("server-timing")).toMatch(/^([a-z]+;dur=[\d.]+(, |$))+$/)
  expect(headers.get("timing-allow-origin")).toBe("https://app.test")
  expect(headers.get("access-control-expose-headers")).toContain("server-timing")
  expect((await from("https://other.test")).headers.get("timing-allow-origin")).toBeNull()
})
