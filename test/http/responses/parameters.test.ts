/** The names under which the parameters of a request are known when it is routed (`provider.require_parameters`). */
import { expect, test } from "bun:test"
import * as Either from "effect/Either"
import type { JsonObject } from "../../../src/domain/json/json.ts"
import { decodeChat } from "../../../src/formats/chat/chatRequest.ts"
import { decodeResponses } from "../../../src/formats/responses/responsesRequest.ts"

const parametersOf = (decode: typeof decodeChat, body: JsonObject): ReadonlyArray<string> =>
  Either.getOrThrow(decode({ model: "acme/small", ...body })).routing.parameters.toSorted()

const schema = { type: "object" }

test("a request of the Responses form asks for the same parameters as its like in the chat form", () => {
  const responses = parametersOf(decodeResponses, {
    input: "hi",
    max_output_tokens: 5,
    temperature: 1,
    top_p: 0.5,
    tools: [{ type: "function", name: "f", parameters: schema }],
    tool_choice: "required",
    text: { format: { type: "json_schema", name: "n", schema }, verbosity: "low" },
    include: ["message.output_text.logprobs"],
    top_logprobs: 2,
    reasoning: { effort: "low" },
    parallel_tool_calls: false,
  })
  const chat = parametersOf(decodeChat, {
    messages: [{ role: "user", content: "hi" }],
    max_tokens: 5,
    temperature: 1,
    top_p: 0.5,
    tools: [{ type: "function", function: { name: "f", parameters: schema } }],
    tool_choice: "required",
    response_format: { type: "json_schema", json_schema: { name: "n", schema } },
    verbosity: "low",
    logprobs: true,
    top_logprobs: 2,
    reasoning: { effort: "low" },
    parallel_tool_calls: false,
  })
  expect(responses).toEqual(chat)
})
