/** A whole answer as it comes from a host: its bounds, its failures, and its one end. docs/guarantees.md#g10 and #g18 */
import { describe, expect, test } from "bun:test"
import { HostFailed } from "../../../src/domain/failures/Failure.ts"
import type { AnswerRead, AnswerReader } from "../../../src/services/dispatch/AnswerReader.ts"
import type { AttemptTimer } from "../../../src/services/dispatch/Attempt.ts"
import type { Begun } from "../../../src/services/dispatch/AttemptStart.ts"
import type { AnswerCut } from "../../../src/services/dispatch/beyondLimit.ts"
import { WholeHostAnswer } from "../../../src/services/dispatch/WholeHostAnswer.ts"
import { closeServices, hostsConfig, turns } from "../../support/clocks/services.ts"
import { trying } from "../../support/gateways/trying.ts"

closeServices()

const answerRead: AnswerRead = {
  delivered: { outcome: "finished", usage: undefined, outputBytes: 0, finishReason: "stop", isAwaited: true },
  write: () => "",
}

/** One call to one host, whose bytes the test sends. `longest`: bytes of an answer. */
const scene = async (longest = 100, beforeSend: (begun: Begun) => void = () => {}) => {
  const { askBy } = await trying(await hostsConfig({ a: {} }))
  const seen = { sends: 0, cancels: 0, timerClears: 0 }
  const read: Array<unknown> = []
  const timer: AttemptTimer = { pause: () => {}, goOn: () => {}, clear: () => void seen.timerClears++ }
  const { promise: calling, resolve: called } = Promise.withResolvers<{ begun: Begun; sink: WholeHostAnswer }>()
  const send = () => {
    seen.sends += 1
    return { cancel: () => void seen.cancels++, drain: () => {}, pause: () => {}, resume: () => {} }
  }
  const reader: AnswerReader = (_begun, _head, body) => {
    read.push(body)
    return answerRead
  }
  let outcome: unknown
  void askBy<AnswerRead | AnswerCut>((begun, listener) => {
    beforeSend(begun)
    const answer = new WholeHostAnswer({ signed: () => notUsed(), send }, begun, longest, reader, timer, listener)
    called({ begun, sink: answer })
    answer.send()
  }).then((made) => {
    outcome = made
  })
  const { begun, sink } = await calling
  const say = (text: string) => {
    const bytes = new TextEncoder().encode(`..${text}..`)
    sink.data(bytes, 2, bytes.length - 2)
  }
  return {
    ...{ seen, read, begun, sink, say },
    head: (status = 200, headers: Record<string, string> = {}) => sink.head({ status, headers: new Headers(headers) }),
    end: async () => {
      await turns()
      return outcome
    },
  }
}

const notUsed = () => {
  throw new Error("it is signed already")
}

describe("an answer with status 200", () => {
  test("is read once, as JSON, from the bytes that are its own", async () => {
    const { seen, read, head, say, sink, end } = await scene()
    head()
    say('{"a":')
    say('"é"}')
    sink.end()
    expect(await end()).toBe(answerRead)
    expect(seen).toEqual({ sends: 1, timerClears: 1, cancels: 0 })
    expect(read).toEqual([{ a: "é" }])
  })

  test("that is no JSON comes to the reader as text", async () => {
    const { read, head, say, sink, end } = await scene()
    head()
    say("<html>")
    sink.end()
    await end()
    expect(read).toEqual(["<html>"])
  })

  test("beyond the bound of its bytes that is no answer is malformed, and the call is cancelled", async () => {
    const { seen, head, say, end } = await scene(10)
    head()
    say("0123456789")
    say("0")
    expect(await end()).toMatchObject({ attempts: [{ failure: { reason: "malformed" } }] })
    expect(seen.cancels).toBe(1)
  })

  test("that is nested too deep is not parsed, and malformed where it is no answer", async () => {
    const { read, head, say, sink, end } = await scene(1_000_000)
    head()
    say("[".repeat(100_000))
    sink.end()
    expect(await end()).toMatchObject({ attempts: [{ failure: { reason: "malformed" } }] })
    expect(read).toEqual([])
  })

  test.each([
    ["nested too deep", 1_000_000, `,"logprobs":${"[".repeat(70)}${"]".repeat(70)}`],
    ["too long", 200, `,"logprobs":"${"x".repeat(300)}"`],
  ])("that begins as one and is %s is charged and told, and nothing of it is read", async (_, longest, rest) => {
    const { read, head, say, sink, end } = await scene(longest)
    head()
    say('{"usage":{"prompt_tokens":10,"completion_tokens":5},"choices":[{"index":0,"finish_reason":"stop",')
    say(`"message":{"role":"assistant","content":"hello"}${rest}}]}`)
    sink.end()
    expect(await end()).toMatchObject({
      beyond: { reason: "limit" },
      delivered: { outcome: "cut", usage: { prompt_tokens: 10, completion_tokens: 5 } },
    })
    expect(read).toEqual([])
  })
})

describe("an answer with another status", () => {
  test("is the provider's refusal, by status, headers and body", async () => {
    const { head, say, sink, end } = await scene()
    head(429, { "retry-after": "7" })
    say('{"error":{"message":"slow down"}}')
    sink.end()
    expect(await end()).toMatchObject({
      ...{ outcome: "rate-limited", retryAfterSeconds: 7 },
      attempts: [{ failure: { status: 429, detail: "slow down" } }],
    })
  })

  test("with a long body is refused by its first 64 KiB, whatever an answer may have", async () => {
    const { seen, head, say, end } = await scene(10)
    head(400)
    say("x".repeat(65_536))
    expect(await end()).toBeUndefined()
    say("x")
    expect(await end()).toMatchObject({ outcome: "request" })
    expect(seen.cancels).toBe(1)
  })
})

describe("the end", () => {
  test("comes at once when the attempt is stopped, by its reason, and what comes later is nothing", async () => {
    const { seen, begun, head, say, sink, end } = await scene()
    head()
    begun.attempt.stop(new HostFailed({ reason: "timeout" }))
    begun.attempt.stop(new HostFailed({ reason: "unreachable" }))
    expect(await end()).toMatchObject({ outcome: "timeout" })
    say("{}")
    sink.end()
    expect(await end()).toMatchObject({ outcome: "timeout" })
    expect(seen.cancels).toBeGreaterThan(0)
    expect(seen.timerClears).toBeGreaterThan(0)
  })

  test("of an attempt that was stopped before: the host is not called", async () => {
    const { seen, end } = await scene(100, ({ attempt }) => attempt.stop(new HostFailed({ reason: "timeout" })))
    expect(await end()).toMatchObject({ outcome: "timeout" })
    expect(seen.sends).toBe(0)
  })

  test("is a broken connection's failure", async () => {
    const { head, sink, end } = await scene()
    head()
    sink.failed(new HostFailed({ reason: "unreachable", isAfterSending: true }))
    expect(await end()).toMatchObject({ attempts: [{ failure: { reason: "unreachable" } }] })
  })
})
