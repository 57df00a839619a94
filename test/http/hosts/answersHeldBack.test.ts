/**
 * Answers that are not read because too many bytes of answers of their key are kept: that time counts for nothing but the
 * deadline. docs/guarantees.md#g23
 */
import { afterEach, describe, expect, test } from "bun:test"
import { answerBytes, type HeldAnswer } from "../../../src/services/request/AnswerBytes.ts"
import { streamOf, wholeBodyOf } from "../../support/clients/answers.ts"
import { ManualClock, pass } from "../../support/clocks/manualClock.ts"
import { until } from "../../support/clocks/until.ts"
import { openAccount } from "../../support/gateways/account.ts"
import { type Answer, ask, closeAfterEach, routed } from "../../support/gateways/routed.ts"
import { chunkOf } from "../../support/hosts/host.ts"

closeAfterEach()

const others: Array<HeldAnswer> = []
afterEach(() => {
  for (const other of others.splice(0)) other.release()
  expect(answerBytes.bytes).toBe(0)
})

const text = "x".repeat(100_000)
const usage = { prompt_tokens: 10, completion_tokens: 5 }
const whole = JSON.stringify({
  choices: [{ index: 0, message: { role: "assistant", content: text }, finish_reason: "stop" }],
  usage,
})
const event = (chunk: string): string => `data: ${chunk}\n\n`
const firstEvent = event(chunkOf({ delta: { content: "a" }, finish_reason: null }))
const events = [
  firstEvent,
  event(chunkOf({ delta: { content: text }, finish_reason: null })),
  event(chunkOf({ delta: {}, finish_reason: "stop" }, { usage })),
  event("[DONE]"),
].join("")

/**
 * A host that sends all but the end of an answer, and the end when it is told. An older answer of the same key has all the
 * bytes that a key may keep, until `goOn`.
 */
const scene = async (limits: object, stream: boolean) => {
  const clock = new ManualClock()
  let send: ((text: string) => void) | undefined
  let isLeft = false
  const answer: Answer = (_, request) => {
    request.signal.addEventListener("abort", () => {
      isLeft = true
    })
    const body = new ReadableStream<Uint8Array>({
      start: (controller) => {
        send = (text) => controller.enqueue(Buffer.from(text))
        finish = () => {
          controller.enqueue(Buffer.from(all.slice(cut)))
          controller.close()
        }
      },
    })
    return new Response(body, { headers: { "content-type": stream ? "text/event-stream" : "application/json" } })
  }
  let finish = () => {}
  const all = stream ? events : whole
  // In the middle of a long event.
  const cut = 90_000
  const gateway = await routed({ slow: answer }, { clock, limits })
  const account = await openAccount(gateway)
  const other = answerBytes.begin(account.id, { holdBack: () => {}, goOn: () => {} })
  other.add(64 * 1_048_576)
  others.push(other)
  const before = answerBytes.bytes
  const asked = gateway.chat(ask({ stream }), { headers: { authorization: `Bearer ${account.secret}` } })
  await until(() => gateway.called().length === 1, "the call")
  return {
    clock,
    account,
    asked,
    /** Time in which the host is silent. */
    silence: (milliseconds: number) => pass(clock, milliseconds),
    /** The host sends so much that it is not read on. */
    holdBack: async () => {
      await until(() => send !== undefined, "the answer")
      const begun = stream ? firstEvent.length : 0
      if (stream) {
        send?.(firstEvent)
        await asked
      }
      send?.(all.slice(begun, cut))
      await until(() => answerBytes.bytes > before + 65_536, "the bytes of the answer")
    },
    goOn: () => other.release(),
    finish: () => finish(),
    isLeft: () => isLeft,
  }
}

describe("a whole answer that is not read", () => {
  test("for longer than `attempt_ms` is read to its end afterwards", async () => {
    const held = await scene({ attempt_ms: 3000 }, false)
    await held.silence(2000)
    await held.holdBack()
    await held.silence(60_000)
    expect(held.isLeft()).toBe(false)
    held.goOn()
    await held.silence(500)
    held.finish()
    const { choices } = await wholeBodyOf(await held.asked)
    expect(choices[0]?.message.content).toBe(text)
    expect(await held.account.rows()).toMatchObject([{ outcome: "finished", estimated: false }])
  })

  test("has the time before and after it together", async () => {
    const held = await scene({ attempt_ms: 3000 }, false)
    await held.silence(2000)
    await held.holdBack()
    await held.silence(60_000)
    held.goOn()
    await held.silence(1500)
    expect((await held.asked).status).toBe(408)
    await until(held.isLeft, "the end of the call")
  })

  test("is cut by the deadline all the same, and keeps no bytes", async () => {
    const held = await scene({ attempt_ms: 3000, deadline_ms: 20_000 }, false)
    await held.holdBack()
    await held.silence(19_000)
    expect(held.isLeft()).toBe(false)
    await held.silence(1500)
    expect((await held.asked).status).toBe(408)
    await until(held.isLeft, "the end of the call")
    expect(await held.account.reserved()).toBe(0n)
  })
})

describe("a stream that is not read in the middle of a long event", () => {
  test.each([
    ["longer than `idle_ms`", { idle_ms: 5000 }],
    ["a minute, in which it has less than the least rate", { min_bytes_per_s: 10_000, idle_ms: 600_000 }],
  ])("for %s is read to its end afterwards", async (_, limits) => {
    const held = await scene(limits, true)
    await held.holdBack()
    const reading = streamOf(await held.asked)
    await held.silence(150_000)
    expect(held.isLeft()).toBe(false)
    held.goOn()
    held.finish()
    expect((await reading).text).toBe(`a${text}`)
    expect(await held.account.rows()).toMatchObject([{ outcome: "finished", estimated: false }])
  })

  test("counts as silent from then on, when it is read again", async () => {
    const held = await scene({ idle_ms: 5000 }, true)
    await held.holdBack()
    const reading = streamOf(await held.asked).catch(() => "cut")
    await held.silence(30_000)
    held.goOn()
    await held.silence(4000)
    expect(held.isLeft()).toBe(false)
    await held.silence(2000)
    await until(held.isLeft, "the end of the call")
    await reading
    expect(await held.account.rows()).toMatchObject([{ outcome: expect.not.stringMatching("finished") }])
  })

  test("is cut at `stream_ms` all the same", async () => {
    const held = await scene({ idle_ms: 5000, stream_ms: 20_000 }, true)
    await held.holdBack()
    const reading = streamOf(await held.asked).catch(() => "cut")
    await held.silence(21_000)
    await until(held.isLeft, "the end of the call")
    await reading
    expect(await held.account.reserved()).toBe(0n)
  })
})
