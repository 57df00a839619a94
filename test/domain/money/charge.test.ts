import { describe, expect, test } from "bun:test"
import {
  type Answer,
  chargeFor,
  type ErrorFinish,
  type Measures,
  type Waiver,
} from "../../../src/domain/money/Charge.ts"
import { freePricing } from "../../../src/domain/price/price.ts"
import { noUsage } from "../../../src/domain/price/Usage.ts"

const pricing = { ...freePricing, prompt: 3n, completion: 5n }
const answer: Answer = {
  outcome: "finished",
  usage: { ...noUsage, promptTokens: 10, completionTokens: 4 },
  outputBytes: 16,
  finishReason: "stop",
}
const measures = {
  bounds: { textBytes: 400, images: 0 },
  most: { ...noUsage, promptTokens: 500, completionTokens: 60 },
}
const noOutput = { ...noUsage, promptTokens: 10 }

test.each<[string, Partial<Answer>, ErrorFinish, Waiver | null]>([
  ["a finished answer", {}, "free", null],
  ["a finish reason of error, which the model chose", { finishReason: "error" }, "free", null],
  ["the same, metered", { finishReason: "error" }, "metered", null],
  ["no output and no finish reason", { usage: noOutput, finishReason: "" }, "free", "empty"],
  ["no output and no finish reason, metered", { usage: noOutput, finishReason: "" }, "metered", "empty"],
  ["no output, but a finish reason", { usage: noOutput }, "free", null],
  ["a host that broke off", { outcome: "host-failed" }, "free", "host-failed"],
  ["the same, metered", { outcome: "host-failed" }, "metered", null],
  ["the same without output, metered", { outcome: "host-failed", usage: noOutput }, "metered", "empty"],
  ["a defect of the gateway, metered", { outcome: "host-failed", isOwnFault: true }, "metered", "host-failed"],
  ["a lost call, metered", { outcome: "lost" }, "metered", "lost"],
  ["a cut answer", { outcome: "cut", finishReason: "" }, "free", null],
  ["a cut answer without output", { outcome: "cut", finishReason: "", usage: noOutput }, "free", null],
  ["a caller who left", { outcome: "caller-gone", finishReason: "" }, "free", null],
])("%s", (_name, members, errorFinish, waived) => {
  const charge = chargeFor(pricing, { ...answer, ...members }, measures, 0, errorFinish)
  expect(charge.waived).toBe(waived)
  expect(charge.upstream.total).toBe(members.usage === noOutput ? 30n : 50n)
  expect(charge.cost.total).toBe(waived === null ? charge.upstream.total : 0n)
})

describe("an answer whose host reported no usage", () => {
  const unreported: Answer = { ...answer, outcome: "caller-gone", usage: undefined }
  const chargeOf = (more: Partial<Answer>, bounds: Measures["bounds"] = measures.bounds) =>
    chargeFor(pricing, { ...unreported, ...more }, { ...measures, bounds }, 0)

  test("costs prompt and output by their bytes, images and sound by their tokens", () => {
    expect(chargeOf({ outputMedia: { image: 1290, audio: 25, other: 0 } })).toMatchObject({
      estimated: true,
      usage: { promptTokens: 100, completionTokens: 4 + 1315, completionImageTokens: 1290, completionAudioTokens: 25 },
      cost: { total: 3n * 100n + 5n * 1319n },
    })
  })

  test("costs what was probably hidden, within what the request can use at most", () => {
    expect(chargeOf({ hiddenTokens: 20 }).usage).toMatchObject({ completionTokens: 24, reasoningTokens: 20 })
    expect(chargeOf({ hiddenTokens: 2000 }).usage).toMatchObject({ completionTokens: 60, reasoningTokens: 56 })
  })

  test("costs the media of its prompt, within what the request can use at most", () => {
    const media = { image: 1000, audio: 50, other: 300 }
    const { usage } = chargeOf({}, { ...measures.bounds, media: { ...media, image: 100 } })
    expect(usage).toMatchObject({ promptTokens: 550 - 50, promptImageTokens: 100, promptAudioTokens: 50 })
    expect(chargeOf({}, { ...measures.bounds, media }).usage.promptTokens).toBe(500)
  })

  test("costs the most that the request can use while its host goes on with it, whatever was reported so far", () => {
    const usage = { ...noUsage, promptTokens: 1, completionTokens: 1 }
    expect(chargeOf({ outcome: "finished", usage, isUnfinished: true })).toMatchObject({
      estimated: true,
      usage: measures.most,
      cost: { total: 3n * 500n + 5n * 60n },
      waived: null,
    })
  })
})
