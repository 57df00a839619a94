import { expect, test } from "bun:test"
import { type Answer, chargeFor, type ErrorFinish, type Waiver } from "../../src/domain/Charge.ts"
import { freePricing } from "../../src/domain/Price.ts"
import { noUsage } from "../../src/domain/Usage.ts"

const pricing = { ...freePricing, prompt: 3n, completion: 5n }
const answer: Answer = {
  outcome: "finished",
  usage: { ...noUsage, promptTokens: 10, completionTokens: 4 },
  outputBytes: 16,
  finishReason: "stop",
}
const noOutput = { ...noUsage, promptTokens: 10 }

test.each<[string, Partial<Answer>, ErrorFinish, Waiver | null]>([
  ["a finished answer", {}, "free", null],
  ["a finish reason of error", { finishReason: "error" }, "free", "error-finish"],
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
  const charge = chargeFor(pricing, { ...answer, ...members }, { textBytes: 400, images: 0 }, 0, errorFinish)
  expect(charge.waived).toBe(waived)
  expect(charge.upstream.total).toBe(members.usage === noOutput ? 30n : 50n)
  expect(charge.cost.total).toBe(waived === null ? charge.upstream.total : 0n)
})
