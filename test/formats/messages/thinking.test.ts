/** How `reasoning` is requested from each generation of models. */
import { describe, test } from "bun:test"
import { assistant, call, expectRow, hello, type Row, result, tool } from "./build.ts"

const enabled = (tokens: number) => ({ type: "enabled", budget_tokens: tokens })
const adaptive = { type: "adaptive", display: "summarized" }
const effort = (level: string) => ({ output_config: { effort: level } })
const looped = [...hello, assistant({ tool_calls: [call("a", "{}")] }), result("a", "x")]

const thinkingRows: ReadonlyArray<Row> = [
  {
    name: "high",
    body: { reasoning: { effort: "high" } },
    expected: { thinking: enabled(6400), reasoning: undefined },
  },
  {
    name: "shorthand",
    body: { reasoning_effort: "low" },
    expected: { thinking: enabled(1600), reasoning_effort: undefined },
  },
  { name: "enabled is medium", body: { reasoning: { enabled: true } }, expected: { thinking: enabled(4000) } },
  { name: "at least 1024", body: { reasoning: { effort: "minimal" } }, expected: { thinking: enabled(1024) } },
  {
    name: "at most 128,000",
    body: { reasoning: { effort: "max" } },
    host: { maxCompletionTokens: 1_000_000 },
    expected: { thinking: enabled(128_000) },
  },
  { name: "a number", body: { reasoning: { max_tokens: 2000 } }, expected: { thinking: enabled(2000) } },
  {
    name: "always below max_tokens",
    body: { reasoning: { max_tokens: 9000 } },
    more: { maxTokens: 3000 },
    expected: { thinking: enabled(2999), max_tokens: 3000 },
  },
  {
    name: "none where the bound is the smallest budget",
    body: { reasoning: { effort: "high" }, temperature: 0 },
    more: { maxTokens: 1024 },
    expected: { thinking: undefined, max_tokens: 1024, temperature: 0 },
    dropped: ["reasoning"],
  },
  {
    name: "sampling goes",
    body: { reasoning: { effort: "high" }, temperature: 0, top_p: 0.5, top_k: 3 },
    expected: { temperature: undefined, top_p: undefined, top_k: undefined },
    dropped: ["temperature", "top_p", "top_k"],
  },
  {
    name: "none keeps sampling",
    body: { reasoning: { effort: "none" }, temperature: 0.5 },
    expected: { thinking: undefined, temperature: 0.5 },
  },
  { name: "exclude alone asks for nothing", body: { reasoning: { exclude: true } }, expected: { thinking: undefined } },
  {
    name: "a demanded tool wins",
    body: { reasoning: { effort: "high" }, tools: [tool], tool_choice: "required" },
    expected: { thinking: undefined, tool_choice: { type: "any" } },
    dropped: ["reasoning"],
  },
  {
    name: "results for a turn whose thinking is lost",
    body: { reasoning: { effort: "high" }, messages: looped },
    expected: { thinking: undefined },
    dropped: ["reasoning"],
  },
  {
    name: "the host's own member wins",
    body: { thinking: enabled(1500), reasoning: { effort: "low" } },
    expected: { thinking: enabled(1500) },
  },
  {
    name: "adaptive, xhigh",
    kind: "adaptive",
    body: { reasoning: { effort: "xhigh" }, temperature: 0.5 },
    expected: { thinking: adaptive, ...effort("xhigh"), temperature: undefined },
    dropped: ["temperature"],
  },
  {
    name: "adaptive, unseen",
    kind: "adaptive",
    body: { reasoning: { effort: "minimal", exclude: true } },
    expected: { thinking: { type: "adaptive", display: "omitted" }, ...effort("low") },
  },
  {
    name: "adaptive, a number becomes the nearest effort",
    kind: "adaptive",
    body: { reasoning: { max_tokens: 6000 } },
    expected: { thinking: adaptive, ...effort("high") },
  },
  {
    name: "adaptive, off",
    kind: "adaptive",
    body: { reasoning: { enabled: false } },
    expected: { thinking: { type: "disabled" }, output_config: undefined },
  },
  {
    name: "adaptive, forced",
    kind: "adaptive",
    body: { reasoning: { effort: "high" }, tools: [tool], tool_choice: "required" },
    expected: { thinking: adaptive, ...effort("high"), tool_choice: { type: "any" } },
  },
  {
    name: "adaptive, forced and off",
    kind: "adaptive",
    body: { reasoning: { effort: "none" }, tools: [tool], tool_choice: "required" },
    expected: { thinking: { type: "disabled" } },
  },
  {
    name: "adaptive, disabled by the host's own member",
    kind: "adaptive",
    body: { thinking: { type: "disabled" }, reasoning_effort: "low" },
    expected: { thinking: { type: "disabled" } },
  },
  {
    name: "adaptive, not asked",
    kind: "adaptive",
    body: { temperature: 0.5 },
    expected: { thinking: undefined, output_config: undefined, temperature: undefined },
    dropped: ["temperature"],
  },
  {
    name: "always, off is as little as it can",
    kind: "always",
    body: { reasoning: { effort: "none" } },
    expected: { thinking: adaptive, ...effort("low") },
  },
  {
    name: "always, forced",
    kind: "always",
    body: { reasoning: { effort: "high" }, tools: [tool], tool_choice: "required" },
    expected: { thinking: adaptive, ...effort("high"), tool_choice: { type: "any" } },
  },
]

describe("reasoning", () => {
  for (const row of thinkingRows) test(row.name, () => expectRow(row))
})
