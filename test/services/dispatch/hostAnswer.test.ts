/** A streamed answer as it comes from a host, until it is open or has failed. docs/guarantees.md#g10 and #g18 */
import { describe, expect, test } from "bun:test"
import { HostFailed } from "../../../src/domain/failures/Failure.ts"
import type { StreamWriter } from "../../../src/formats/StreamWriter.ts"
import type { AttemptTimer } from "../../../src/services/dispatch/Attempt.ts"
import type { Begun } from "../../../src/services/dispatch/AttemptStart.ts"
import { HostAnswer } from "../../../src/services/dispatch/HostAnswer.ts"
import { closeServices, hostsConfig, turns } from "../../support/clocks/services.ts"
import { until } from "../../support/clocks/until.ts"
import { trying } from "../../support/gateways/trying.ts"
import { chunkOf } from "../../support/hosts/host.ts"

closeServices()

/** Writes the text of choices alone. */
const writer: StreamWriter = {
  chunk: ({ choices }) => choices.map(({ delta }) => delta.content ?? "").join(""),
  finish: () => "",
  failure: () => "",
  heartbeat: "",
}

/** One call to one host, whose bytes the test sends. `longest`: bytes of an answer that is no stream. */
const scene = async (longest = 1000, beforeSend: (begun: Begun) => void = () => {}, written = writer) => {
  const { askBy } = await trying(await hostsConfig({ a: {} }))
  const seen = { sends: 0, cancels: 0, timerClears: 0 }
  const timer: AttemptTimer = { pause: () => {}, goOn: () => {}, clear: () => void seen.timerClears++ }
  const { promise: calling, resolve: called } = Promise.withResolvers<HostAnswer>()
  const send = () => {
    seen.sends += 1
    return { cancel: () => void seen.cancels++, drain: () => {}, pause: () => {}, resume: () => {} }
  }
  let outcome: unknown
  void askBy<HostAnswer>((begun, listener) => {
    beforeSend(begun)
    const answer = new HostAnswer(begun, written, longest, timer, listener)
    called(answer)
    answer.send({ signed: notUsed, send }, begun)
  }).then(
    (made) => {
      outcome = made
    },
    (defect) => {
      outcome = defect
    },
  )
  const sink = await calling
  const say = (text: string) => {
    const bytes = new TextEncoder().encode(`..${text}..`)
    sink.data(bytes, 2, bytes.length - 2)
  }
  return {
    ...{ seen, sink, say },
    says: (content: string) => say(`data: ${chunkOf({ delta: { content }, finish_reason: null })}\n\n`),
    head: (status = 200, type = "text/event-stream") =>
      sink.head({ status, headers: new Headers({ "content-type": type }) }),
    /** `undefined`: neither open nor failed. */
    outcome: async () => {
      await turns()
      return outcome
    },
  }
}

const notUsed = () => {
  throw new Error("it is signed already")
}

const whole = (content: string) =>
  JSON.stringify({ choices: [{ index: 0, message: { role: "assistant", content }, finish_reason: "stop" }] })

describe("a stream", () => {
  test("is open with the first event that a caller would see: not with its head, a comment or a role", async () => {
    const { head, say, says, sink, seen, outcome } = await scene()
    head()
    say(": wait\n\n")
    say(`data: ${chunkOf({ delta: { role: "assistant" }, finish_reason: null })}\n\n`)
    expect([await outcome(), seen.timerClears]).toEqual([undefined, 0])
    says("a")
    expect([await outcome(), seen.timerClears]).toEqual([sink, 1])
    expect(sink.take()).toBe("a")
  })

  test("that is open tells of each read, and keeps its text until that is taken", async () => {
    const { head, says, sink, outcome } = await scene()
    head()
    says("a")
    await outcome()
    let told = 0
    sink.onProgress = () => {
      told += 1
    }
    says("b")
    says("c")
    expect([told, sink.take(), sink.take()]).toEqual([2, "abc", ""])
    sink.failed(new HostFailed({ reason: "unreachable" }))
    expect([told, sink.broken?.reason]).toEqual([3, "unreachable"])
  })

  test("that ends without an event has failed, and so has one that breaks off before", async () => {
    const empty = await scene()
    empty.head()
    empty.sink.end()
    expect(await empty.outcome()).toMatchObject({ attempts: [{ failure: { reason: "unreachable" } }] })
    const broken = await scene()
    broken.head()
    broken.sink.failed(new HostFailed({ reason: "unreachable" }))
    expect(await broken.outcome()).toMatchObject({ attempts: [{ failure: { reason: "unreachable" } }] })
    expect([broken.seen.timerClears, broken.seen.cancels]).toEqual([1, 1])
  })
})

describe("what is no stream", () => {
  test("with another status is the provider's refusal, by its first 64 KiB", async () => {
    const short = await scene()
    short.head(429, "application/json")
    short.say('{"error":{"message":"slow down"}}')
    short.sink.end()
    expect(await short.outcome()).toMatchObject({ attempts: [{ failure: { status: 429, detail: "slow down" } }] })
    const long = await scene(10)
    long.head(500)
    long.say("x".repeat(65_536))
    expect(await long.outcome()).toBeUndefined()
    long.say("x")
    expect(await long.outcome()).toMatchObject({ attempts: [{ failure: { status: 500 } }] })
    expect(long.seen.cancels).toBeGreaterThan(0)
  })

  test("a whole answer is given as one event", async () => {
    const { head, say, sink, outcome } = await scene()
    head(200, "application/json; charset=utf-8")
    const body = whole("all of it")
    say(body.slice(0, 20))
    say(body.slice(20))
    expect(await outcome()).toBeUndefined()
    sink.end()
    expect(await outcome()).toBe(sink)
    expect(sink.take()).toBe("all of it")
  })

  test("a whole answer beyond the bound of its bytes that is no answer is malformed, and the call is cancelled", async () => {
    const { head, say, seen, outcome } = await scene(10)
    head(200, "application/json")
    say("0123456789")
    expect(await outcome()).toBeUndefined()
    say("0")
    expect(await outcome()).toMatchObject({ attempts: [{ failure: { reason: "malformed" } }] })
    expect(seen.cancels).toBeGreaterThan(0)
  })

  test("an error with status 200 is a refusal, and events under the type of JSON are a stream", async () => {
    const error = await scene()
    error.head(200, "application/json")
    error.say('{"error":{"message":"no credit","code":402}}')
    error.sink.end()
    expect(await error.outcome()).toMatchObject({ attempts: [{ failure: { reason: "account", status: 402 } }] })
    const events = await scene()
    events.head(200, "application/json")
    events.says("a")
    events.say(`data: ${chunkOf({ delta: {}, finish_reason: "stop" })}\n\ndata: [DONE]\n\n`)
    events.sink.end()
    expect(await events.outcome()).toBe(events.sink)
    expect(events.sink.take()).toBe("a")
  })
})

test("an attempt that was stopped before is not sent, and one that is stopped fails at once", async () => {
  const stopped = new HostFailed({ reason: "unreachable", cause: "too slow" })
  const before = await scene(1000, ({ attempt }) => {
    attempt.stopped = stopped
  })
  expect(await before.outcome()).toMatchObject({ attempts: [{ failure: stopped }] })
  expect(before.seen.sends).toBe(0)
})

test.each(["text/event-stream", "application/json"])(
  "a long answer as %s whose text cannot be written left its request open: it fails as a defect",
  async (type) => {
    const chunk = () => {
      throw new Error("our mistake")
    }
    const { head, say, sink, outcome } = await scene(2_000_000, () => {}, { ...writer, chunk })
    const content = "a".repeat(600_000)
    head(200, type)
    say(
      type === "application/json"
        ? whole(content)
        : `data: ${chunkOf({ delta: { content }, finish_reason: null })}\n\n`,
    )
    sink.end()
    await until(async () => (await outcome()) !== undefined, "the defect")
    expect(String(await outcome())).toContain("our mistake")
  },
)
