/** The description of legacy completions against their decoder. */
import { expect, test } from "bun:test"
import type { JsonObject } from "../../../src/domain/json/json.ts"
import { decodeCompletions } from "../../../src/formats/completions/completionsRequest.ts"
import { agreement, faultsIn, problemsIn, values } from "../../support/clients/openApi.ts"

const decode = (body: JsonObject) => decodeCompletions(body)
const expectAgreement = agreement("CompletionRequest", decode)

const fine: JsonObject = { model: "acme/small", prompt: "hi" }

const near: Readonly<Record<string, ReadonlyArray<unknown>>> = {
  prompt: [["hi", "ho"], [1, 2], [[1]], [null]],
  response_format: [{ type: "json_object" }, { type: "xml" }],
  prediction: [{ type: "content", content: "x" }, { type: "content" }],
  modalities: [["text"]],
}

const names = [
  ...["model", "models", "provider", "route", "stream", "stream_options", "usage", "cache_control", "user", "metadata"],
  ...["temperature", "top_p", "max_tokens", "max_completion_tokens", "logit_bias", "seed", "stop", "reasoning"],
  ...["reasoning_effort", "verbosity", "logprobs", "top_logprobs", "n", "best_of", "echo", "suffix", "messages"],
  ...["tools", "tool_choice", "parallel_tool_calls", "functions", "function_call", "image_config", "audio"],
  ...["structured_outputs", "web_search_options", "unheard_of", ...Object.keys(near)],
]

test("schema and decoder agree on every member with every value", () => {
  for (const name of names) {
    for (const value of [...values, ...(near[name] ?? [])]) {
      expectAgreement({ ...fine, [name]: value })
      expectAgreement({ ...fine, echo: true, [name]: value })
      expectAgreement({ ...fine, logprobs: 2, [name]: value })
    }
  }
  expectAgreement({ model: "acme/small" })
})

test.each<[string, JsonObject]>([
  ["best of fewer than are wanted", { n: 3, best_of: 2 }],
  ["best of more in a stream", { best_of: 2, stream: true }],
])("they differ on %s, which no schema says", (_, members) => {
  expect(problemsIn(decode({ ...fine, ...members }))).toHaveLength(1)
  expect(faultsIn("CompletionRequest", { ...fine, ...members })).toEqual([])
})
