/** Requests with an Idempotency-Key, sent again. docs/guarantees.md#g9 */
import { describe, expect, setDefaultTimeout, test } from "bun:test"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import { Storage } from "../../../src/services/storage/Storage.ts"
import { StorageUnavailable } from "../../../src/services/storage/StorageUnavailable.ts"
import { expectRefusal, type Json } from "../../support/clients/badInputs.ts"
import { ManualClock } from "../../support/clocks/manualClock.ts"
import { until } from "../../support/clocks/until.ts"
import { gatewayWithoutSocket, type TestGateway } from "../../support/gateways/gateway.ts"
import { closeAfterEach, opened, startWatched } from "../../support/gateways/watched.ts"
import {
  chunkOf,
  configFor,
  heldStream,
  scriptedHost,
  sse,
  streamAnswer,
  wholeAnswer,
} from "../../support/hosts/host.ts"
import { lastingStorage } from "../../support/storage/lastingStorage.ts"

// A wait that never ends is named within a minute.
setDefaultTimeout(1_800_000)

closeAfterEach()

const hello = { model: "acme/small", messages: [{ role: "user", content: "hello" }] }
const streamed = { ...hello, stream: true }
const day = 86_400_000

type Service = typeof Storage.Service

const newStorage = (): Service => Effect.runSync(Effect.provide(Storage, lastingStorage))

/** A storage that several gateways can share, with methods that a test replaces. */
const sharedStorage = (
  replace: (idempotency: Service["idempotency"]) => Partial<Service["idempotency"]> = () => ({}),
  base = newStorage(),
) => Layer.succeed(Storage, { ...base, idempotency: { ...base.idempotency, ...replace(base.idempotency) } })

const unavailable = Effect.fail(new StorageUnavailable({ reason: "it is away" }))

const refuse = () => new Response("", { status: 500 })

interface Setting {
  readonly storage?: Layer.Layer<Storage>
  readonly clock?: ManualClock
  readonly config?: Record<string, unknown>
}

const open = async (answer: Parameters<typeof scriptedHost>[0], { storage, clock, config }: Setting = {}) => {
  const host = opened(scriptedHost(answer))
  const gateway = await startWatched({
    config: configFor({ acme: host }, config),
    ...(storage === undefined ? {} : { storage }),
    ...(clock === undefined ? {} : { setting: Layer.setClock(clock) }),
  })
  return { host, gateway }
}

/** Sends a request with this value of the header. */
const send = (gateway: TestGateway, value: string, body: unknown = hello, { headers, ...init }: RequestInit = {}) =>
  gateway.chat(body, { ...init, headers: { "idempotency-key": value, ...Object.fromEntries(new Headers(headers)) } })

const rowsOf = async (gateway: TestGateway) =>
  gateway.run(Effect.flatMap(Storage, ({ ledger }) => ledger.page(0, 1000)))

const replayed = (response: Response) => response.headers.get("idempotent-replayed")
const requestIdOf = (response: Response) => response.headers.get("x-gw-request-id")
const generationOf = (response: Response) => response.headers.get("x-generation-id")

const place = { path: "Idempotency-Key" }
const reused = { status: 400, type: "idempotency_key_reused", says: "another body before", ...place }
const running = { status: 429, type: "idempotency_in_progress", says: "still running" }
const notKept = { status: 400, type: "idempotency_answer_not_kept", says: "its answer was not kept", ...place }
const unknown = { status: 502, type: "outcome_unknown", says: "its outcome is unknown" }

/** A host whose answers wait until the test lets them go. */
const gated = (answer: (call: number) => Response) => {
  const gate = Promise.withResolvers<void>()
  return {
    answer: async (_body: Json, _request: Request, call: number) => {
      await gate.promise
      return answer(call)
    },
    open: gate.resolve,
  }
}

describe("a request that is sent again", () => {
  test("is answered as the first time, byte for byte, and neither carried out nor charged", async () => {
    const { host, gateway } = await open((_body, _request, call) =>
      wholeAnswer(`answer ${call} \u0000\u001a é \u{1f600}`),
    )
    const first = await send(gateway, "one")
    const body = await first.text()
    expect([first.status, replayed(first)]).toEqual([200, null])
    for (let again = 0; again < 2; again++) {
      const second = await send(gateway, "one")
      expect([second.status, replayed(second), await second.text()]).toEqual([200, "true", body])
      for (const header of ["content-type", "x-generation-id", "x-gw-host", "x-gw-cost-usd"])
        expect([header, second.headers.get(header)]).toEqual([header, first.headers.get(header)])
      expect(requestIdOf(second)).not.toBe(requestIdOf(first))
    }
    expect(host.calls).toHaveLength(1)
    expect(await rowsOf(gateway)).toHaveLength(1)
    expect((await send(gateway, "two")).headers.get("idempotent-replayed")).toBeNull()
    expect(host.calls).toHaveLength(2)
  })

  test("is answered so also when the key has no money left", async () => {
    const { host, gateway } = await open(() => wholeAnswer("hi", { prompt_tokens: 10, completion_tokens: 1_000_000 }))
    const headers = { authorization: `Bearer ${await gateway.newKey({ limit: 1_000_000_000n })}` }
    const body = { ...hello, max_tokens: 50 }
    const first = await (await send(gateway, "one", body, { headers })).text()
    expect((await send(gateway, "two", body, { headers })).status).toBe(402)
    const second = await send(gateway, "one", body, { headers })
    expect([second.status, await second.text()]).toEqual([200, first])
    expect(host.calls).toHaveLength(1)
  })

  test("of an answer above 256 KiB, or of a stream, is told that it is not kept, as the first answer said", async () => {
    const { host, gateway } = await open((body) =>
      body["stream"] === true
        ? streamAnswer(["hi"])
        : wholeAnswer("x".repeat(body["max_tokens"] === 5 ? 300_000 : 30_000)),
    )
    const said: Array<string | null> = []
    for (const body of [hello, { ...hello, max_tokens: 5 }, streamed]) {
      const value = `v${said.length}`
      const first = await send(gateway, value, body)
      const [text, generation] = [await first.text(), generationOf(first)]
      expect(first.status).toBe(200)
      said.push(first.headers.get("idempotency-status"))
      const again = await send(gateway, value, body)
      if (said.length === 1) expect([again.status, await again.text()]).toEqual([200, text])
      else expect((await expectRefusal(again, notKept))["generation_id"]).toBe(generation)
    }
    expect(said).toEqual([null, "not-kept", "not-kept"])
    expect(host.calls).toHaveLength(3)
  })

  test("a hundred times at once is carried out and charged once; the others hear that it runs", async () => {
    const { answer, open: letGo } = gated(() => wholeAnswer("hi"))
    const { host, gateway } = await open(answer)
    let refused = 0
    const all = Array.from({ length: 100 }, async () => {
      const response = await send(gateway, "one")
      if (response.status === 429) refused += 1
      return response
    })
    await until(() => refused === 99, "the refusals")
    letGo()
    const responses = await Promise.all(all)
    const [winner, ...more] = responses.filter(({ status }) => status === 200)
    expect(more).toEqual([])
    for (const response of responses) {
      if (response === winner) continue
      expect(response.headers.get("retry-after")).toBe("2")
      expect((await expectRefusal(response, running))["first_request_id"]).toBe(winner && requestIdOf(winner))
    }
    const last = await send(gateway, "one")
    expect([replayed(last), await last.text()]).toEqual(["true", await (winner ?? last).text()])
    expect(host.calls).toHaveLength(1)
    expect(await rowsOf(gateway)).toHaveLength(1)
  })

  test("with another body is refused, with the id of the first request, while that runs and afterwards", async () => {
    const { answer, open: letGo } = gated(() => wholeAnswer("hi"))
    const { host, gateway } = await open(answer)
    const first = send(gateway, "one")
    await until(() => host.calls.length === 1, "the call")
    const other = { ...hello, max_tokens: 5 }
    const during = await expectRefusal(await send(gateway, "one", other), reused)
    letGo()
    const id = requestIdOf(await first)
    expect(during["first_request_id"]).toBe(id)
    expect((await expectRefusal(await send(gateway, "one", other), reused))["first_request_id"]).toBe(id)
    expect(host.calls).toHaveLength(1)
  })

  test("by another key is another request", async () => {
    const { host, gateway } = await open((_body, _request, call) => wholeAnswer(`answer ${call}`))
    await send(gateway, "one")
    const headers = { authorization: `Bearer ${await gateway.newKey()}` }
    expect(replayed(await send(gateway, "one", hello, { headers }))).toBeNull()
    expect(replayed(await send(gateway, "one", hello, { headers }))).toBe("true")
    expect(host.calls).toHaveLength(2)
  })

  test("is carried out again after errors, which are not kept", async () => {
    const { host, gateway } = await open((_body, _request, call) =>
      call === 1 ? new Response("", { status: 500 }) : wholeAnswer("hi"),
    )
    const wrong = { ...hello, model: "acme/none" }
    expect((await send(gateway, "one", wrong)).status).toBe(400)
    expect((await send(gateway, "one")).status).toBe(502)
    const third = await send(gateway, "one")
    expect([third.status, replayed(third)]).toEqual([200, null])
    expect((await send(gateway, "one", wrong)).status).toBe(400)
    expect(replayed(await send(gateway, "one"))).toBe("true")
    expect(host.calls).toHaveLength(2)
    expect(await rowsOf(gateway)).toHaveLength(1)
  })

  test("is answered for 24 hours by the clock, and then carried out again", async () => {
    const clock = new ManualClock()
    const { host, gateway } = await open((_body, _request, call) => wholeAnswer(`answer ${call}`), { clock })
    await send(gateway, "one")
    clock.advance(day - 1)
    const late = await send(gateway, "one")
    expect([replayed(late), await late.text()]).toEqual(["true", expect.stringContaining("answer 1")])
    clock.advance(1)
    const next = await send(gateway, "one")
    expect([replayed(next), await next.text()]).toEqual([null, expect.stringContaining("answer 2")])
    expect(host.calls).toHaveLength(2)
  })

  test("leaves nothing in the database after 24 hours", async () => {
    const clock = new ManualClock()
    let removed = 0
    const count = (some: number) => {
      removed += some
    }
    const storage = sharedStorage(({ prune }) => ({ prune: (...asked) => Effect.tap(prune(...asked), count) }))
    const { gateway } = await open(() => wholeAnswer("hi"), { storage, clock })
    for (const value of ["one", "two", "three"]) await send(gateway, value)
    clock.advance(day - 1)
    await send(gateway, "four")
    expect(removed).toBe(0)
    clock.advance(15_000)
    await until(() => removed === 3, "the removal")
  })

  test("to a gateway in an app of an embedder's own", async () => {
    const host = opened(
      scriptedHost((_body, _request, call) => (call === 1 ? new Response("", { status: 500 }) : wholeAnswer("hi"))),
    )
    const gateway = opened(await gatewayWithoutSocket({ config: configFor({ acme: host }) }))
    expect((await send(gateway, "one")).status).toBe(502)
    const first = await (await send(gateway, "one")).text()
    const second = await send(gateway, "one")
    expect([replayed(second), await second.text()]).toEqual(["true", first])
    expect(host.calls).toHaveLength(2)
  })
})

describe("a stream that is asked for again", () => {
  test("is refused: while it runs with 429, afterwards with the ids of the first request", async () => {
    const streams: Array<ReturnType<typeof heldStream>> = []
    const { host, gateway } = await open((_body, request) => {
      const stream = heldStream(request)
      streams.push(stream)
      return stream.response
    })
    const asking = send(gateway, "one", streamed)
    await until(() => streams.length === 1, "the call")
    const [stream] = streams
    stream?.send(chunkOf({ delta: { content: "Hello" }, finish_reason: null }))
    const first = await asking
    const during = await send(gateway, "one", streamed)
    expect(during.headers.get("retry-after")).toBe("2")
    await expectRefusal(during, running)
    stream?.send(chunkOf({ delta: {}, finish_reason: "stop" }))
    stream?.send("[DONE]")
    stream?.close()
    expect(await first.text()).toContain("[DONE]")
    const metadata = await expectRefusal(await send(gateway, "one", streamed), notKept)
    expect(metadata).toMatchObject({ first_request_id: requestIdOf(first), generation_id: generationOf(first) })
    expect(host.calls).toHaveLength(1)
    expect(await rowsOf(gateway)).toHaveLength(1)
  })

  test("at once after its end is refused, every time", async () => {
    const { host, gateway } = await open(() => streamAnswer(["a", "b"]))
    for (let round = 0; round < 30; round++) {
      await (await send(gateway, `${round}`, streamed)).text()
      expect((await send(gateway, `${round}`, streamed)).status).toBe(400)
    }
    expect(host.calls).toHaveLength(30)
  })

  test("while its outcome is being written waits for that", async () => {
    const gate = Promise.withResolvers<void>()
    let isWriting = false
    const waiting = Effect.promise(() => {
      isWriting = true
      return gate.promise
    })
    const storage = sharedStorage(({ keep }) => ({ keep: (outcome) => Effect.zipRight(waiting, keep(outcome)) }))
    const { gateway } = await open(() => streamAnswer(["a"]), { storage })
    await (await send(gateway, "one", streamed)).text()
    expect(isWriting).toBe(true)
    const again = send(gateway, "one", streamed)
    for (let turn = 0; turn < 100; turn++) await new Promise((resolve) => setImmediate(resolve))
    gate.resolve()
    await expectRefusal(await again, notKept)
  })

  test("is carried out again where it broke off and was free, or no host answered", async () => {
    const { host, gateway } = await open((_body, _request, call) => {
      if (call === 1) return sse([chunkOf({ delta: { content: "Hello" }, finish_reason: null })])
      return call === 2 ? new Response("", { status: 500 }) : streamAnswer(["whole"])
    })
    const broken = await send(gateway, "one", streamed)
    expect([broken.status, await broken.text()]).toEqual([200, expect.stringContaining('"error"')])
    expect((await send(gateway, "one", streamed)).status).toBe(502)
    expect(await (await send(gateway, "one", streamed)).text()).toContain("[DONE]")
    await expectRefusal(await send(gateway, "one", streamed), notKept)
    expect(host.calls).toHaveLength(3)
    expect((await rowsOf(gateway)).filter(({ cost }) => cost > 0n)).toHaveLength(1)
  })
})

test.each([true, false])(
  "one whose caller left is charged, so it is not carried out again: stream %p",
  async (stream) => {
    const { host, gateway } = await open((_body, request) =>
      stream ? heldStream(request).response : new Promise<Response>(() => {}),
    )
    const caller = new AbortController()
    const body = { ...hello, stream }
    const asking = send(gateway, "one", body, { signal: caller.signal }).catch(() => "gone")
    await until(() => host.calls.length === 1, "the call")
    caller.abort()
    await asking
    await until(async () => (await rowsOf(gateway)).length === 1, "the row")
    const [row] = await rowsOf(gateway)
    expect(row).toMatchObject({ outcome: "caller-gone" })
    const metadata = await expectRefusal(await send(gateway, "one", body), notKept)
    expect(metadata).toMatchObject({ first_request_id: row?.requestId, generation_id: row?.generationId })
    expect(host.calls).toHaveLength(1)
  },
)

test.each([
  ["zdr", { ...hello, provider: { zdr: true } }, {}],
  ["idempotency_bodies: false", hello, { privacy: { idempotency_bodies: false } }],
])("with %s the answer is not kept, and a repeat has its generation id", async (_name, body, config) => {
  const outcomes: Array<unknown> = []
  const storage = sharedStorage(({ keep }) => ({
    keep: (outcome) => {
      outcomes.push(outcome)
      return keep(outcome)
    },
  }))
  const host = opened(scriptedHost(() => wholeAnswer("hi")))
  const { providers, ...more } = configFor({ acme: host }, config)
  const privacy = { may_train: false, retains_prompts: false }
  const discreet = Object.fromEntries(Object.entries(providers).map(([slug, one]) => [slug, { ...one, privacy }]))
  const gateway = await startWatched({ config: { ...more, providers: discreet }, storage })
  const first = await send(gateway, "one", body)
  expect(first.status).toBe(200)
  expect(outcomes).toMatchObject([{ headers: null, body: null }])
  const second = await send(gateway, "one", body)
  const metadata = await expectRefusal(second, { ...notKept, says: generationOf(first) ?? "" })
  expect(metadata).toMatchObject({ first_request_id: requestIdOf(first), generation_id: generationOf(first) })
  expect(host.calls).toHaveLength(1)
  expect(await rowsOf(gateway)).toHaveLength(1)
})

describe("several gateways on one database", () => {
  test("carry a request out once, and each of them repeats the answer", async () => {
    const storage = sharedStorage()
    const { answer, open: letGo } = gated(() => wholeAnswer("hi"))
    const { host, gateway: one } = await open(answer, { storage })
    const { gateway: two } = await open(refuse, { storage })
    const headers = { authorization: `Bearer ${one.key}` }
    const first = send(one, "one")
    await until(() => host.calls.length === 1, "the call")
    await expectRefusal(await send(two, "one", hello, { headers }), running)
    letGo()
    const body = await (await first).text()
    const second = await send(two, "one", hello, { headers })
    expect([second.status, replayed(second), await second.text()]).toEqual([200, "true", body])
    expect(host.calls).toHaveLength(1)
  })

  test("renew the claims of what runs, so that it counts as running however long it takes", async () => {
    const clock = new ManualClock()
    const storage = sharedStorage()
    const { answer, open: letGo } = gated(() => wholeAnswer("hi"))
    const { host, gateway: one } = await open(answer, { storage, clock })
    const { gateway: two } = await open(refuse, { storage, clock })
    const headers = { authorization: `Bearer ${one.key}` }
    const first = send(one, "one")
    await until(() => host.calls.length === 1, "the call")
    for (let seconds = 0; seconds < 300; seconds += 15) {
      clock.advance(15_000)
      await new Promise((resolve) => setImmediate(resolve))
    }
    await expectRefusal(await send(two, "one", hello, { headers }), running)
    letGo()
    expect((await first).status).toBe(200)
  })

  test("do not carry out what one left that is gone: its outcome is unknown, until it says otherwise", async () => {
    const clock = new ManualClock()
    const base = newStorage()
    const { answer, open: letGo } = gated(() => wholeAnswer("hi"))
    const silent = sharedStorage(() => ({ renew: () => Effect.void }), base)
    const { host, gateway: one } = await open(answer, { storage: silent, clock })
    const { host: other, gateway: two } = await open(refuse, { storage: sharedStorage(undefined, base), clock })
    const headers = { authorization: `Bearer ${one.key}` }
    const ask = () => send(two, "one", hello, { headers })
    const first = send(one, "one")
    await until(() => host.calls.length === 1, "the call")
    clock.advance(59_999)
    await expectRefusal(await ask(), running)
    clock.advance(1)
    for (let again = 0; again < 2; again++) await expectRefusal(await ask(), unknown)
    // The process itself knows that it runs.
    await expectRefusal(await send(one, "one"), running)
    letGo()
    const body = await (await first).text()
    expect(await (await ask()).text()).toBe(body)
    expect(other.calls).toEqual([])
  })

  test("do not carry out what one had booked that is gone: its answer is lost, and its outcome known", async () => {
    const clock = new ManualClock()
    const base = newStorage()
    const broken = sharedStorage(() => ({ renew: () => Effect.void, keep: () => unavailable }), base)
    const { host, gateway: one } = await open(() => wholeAnswer("hi"), { storage: broken, clock })
    const { host: other, gateway: two } = await open(refuse, { storage: sharedStorage(undefined, base), clock })
    expect((await send(one, "one")).status).toBe(200)
    clock.advance(60_000)
    const [row] = await rowsOf(one)
    const metadata = await expectRefusal(
      await send(two, "one", hello, { headers: { authorization: `Bearer ${one.key}` } }),
      notKept,
    )
    expect(metadata).toMatchObject({ first_request_id: row?.requestId, generation_id: row?.generationId })
    expect([host.calls.length, other.calls.length]).toEqual([1, 0])
  })
})

describe("while the database fails", () => {
  test("no request with the header starts: 503", async () => {
    const storage = sharedStorage(() => ({ claim: () => unavailable }))
    const { host, gateway } = await open(() => wholeAnswer("hi"), { storage })
    expect((await send(gateway, "one")).status).toBe(503)
    expect(host.calls).toEqual([])
    expect((await gateway.chat(hello)).status).toBe(200)
  })

  test.each([false, true])(
    "an outcome is written later, and the answer does not wait for that: stream %p",
    async (stream) => {
      const clock = new ManualClock()
      let isAway = true
      const storage = sharedStorage(({ keep }) => ({
        keep: (outcome) => Effect.suspend(() => (isAway ? unavailable : keep(outcome))),
      }))
      const { host, gateway } = await open(() => (stream ? streamAnswer(["hi"]) : wholeAnswer("hi")), {
        storage,
        clock,
      })
      const body = { ...hello, stream }
      const first = await (await send(gateway, "one", body)).text()
      await expectRefusal(await send(gateway, "one", body), running)
      isAway = false
      clock.advance(15_000)
      await until(async () => (await send(gateway, "one", body)).status !== 429, "the outcome")
      const second = await send(gateway, "one", body)
      if (stream) await expectRefusal(second, notKept)
      else expect(await second.text()).toBe(first)
      expect(host.calls).toHaveLength(1)
    },
  )

  test("an outcome is written at the latest when the gateway stops", async () => {
    let isAway = true
    const base = newStorage()
    const failing = sharedStorage(
      ({ keep }) => ({ keep: (outcome) => Effect.suspend(() => (isAway ? unavailable : keep(outcome))) }),
      base,
    )
    const { gateway: one } = await open(() => wholeAnswer("hi"), { storage: failing })
    const first = await (await send(one, "one")).text()
    isAway = false
    await one.stop()
    const { gateway: two } = await open(refuse, { storage: sharedStorage(undefined, base) })
    const second = await send(two, "one", hello, { headers: { authorization: `Bearer ${one.key}` } })
    expect(await second.text()).toBe(first)
  })
})
