/** Answers that are wanted as a whole, bounded, from whatever sends them. docs/guarantees.md#g18 */
import { describe, expect, test } from "bun:test"
import * as Effect from "effect/Effect"
import * as Fiber from "effect/Fiber"
import { HostFailed } from "../../../src/domain/failures/Failure.ts"
import { BodyText } from "../../../src/services/calls/BodyText.ts"
import { wholeCall } from "../../../src/services/calls/wholeCall.ts"
import type { Sink, UpstreamCall } from "../../../src/upstream/Exchange.ts"

const call: UpstreamCall = {
  url: "http://a.test",
  method: "GET",
  headers: {},
  body: null,
  network: "private",
  proxy: undefined,
}

/** A call whose answer the test gives. */
const calling = (longest = 10) => {
  const sinks: Array<Sink> = []
  const state = { cancels: 0 }
  const exchange = (_call: UpstreamCall, sink: Sink) => {
    sinks.push(sink)
    return { cancel: () => void state.cancels++, pause: () => {}, resume: () => {}, drain: () => {} }
  }
  const fiber = Effect.runFork(Effect.either(wholeCall({ exchange }, call, longest)))
  const [sink] = sinks
  if (sink === undefined) throw new Error("no call")
  const say = (text: string) => {
    const bytes = new TextEncoder().encode(text)
    sink.data(bytes, 0, bytes.length)
  }
  return { state, sink, say, fiber, outcome: () => Effect.runPromise(Fiber.join(fiber)) }
}

describe("a whole answer", () => {
  test("has its status, its headers and its text, whatever the status", async () => {
    const { sink, say, outcome } = calling()
    sink.head(new Response("", { status: 404, headers: { "x-a": "b" } }))
    say("not ")
    say("here")
    sink.end()
    const answer = await outcome()
    expect(answer).toMatchObject({ _tag: "Right", right: { status: 404, body: "not here" } })
    expect(answer._tag === "Right" && answer.right.headers.get("x-a")).toBe("b")
  })

  test("of more bytes than it may have is a limit of ours, and the call is cancelled", async () => {
    const { sink, say, outcome, state } = calling(3)
    sink.head(new Response())
    say("123")
    say("4")
    expect(await outcome()).toMatchObject({ left: { reason: "limit" } })
    expect(state.cancels).toBe(1)
  })

  test("that does not come is the failure of its call", async () => {
    const { sink, outcome } = calling()
    const why = new HostFailed({ reason: "unreachable" })
    sink.failed(why)
    expect(await outcome()).toMatchObject({ left: why })
  })

  test("that nobody waits for any more is cancelled", async () => {
    const { fiber, state } = calling()
    await Effect.runPromise(Fiber.interrupt(fiber))
    expect(state.cancels).toBe(1)
  })
})

describe("the text of a body (BodyText)", () => {
  const bytes = new TextEncoder().encode("aé€z")

  test("is the same however its bytes are split", () => {
    for (let split = 0; split <= bytes.length; split++) {
      const text = new BodyText(100)
      expect([text.add(bytes, 0, split), text.add(bytes, split, bytes.length)]).toEqual([true, true])
      expect(text.take()).toBe("aé€z")
    }
  })

  test("is bounded in bytes, and cut at the bound", () => {
    const text = new BodyText(3)
    expect([text.add(bytes, 0, 3), text.add(bytes, 3, 7)]).toEqual([true, false])
    expect(text.take()).toBe("aé€")
  })
})
