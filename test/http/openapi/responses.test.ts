/** The description of the Responses form against its decoder. */
import { expect, test } from "bun:test"
import { isJsonObject, type JsonObject } from "../../../src/domain/json/json.ts"
import { decodeCompact } from "../../../src/formats/responses/responsesCompact.ts"
import { decodeResponses } from "../../../src/formats/responses/responsesRequest.ts"
import { agreement, faultsIn, fits, problemsIn, values } from "../../support/clients/openApi.ts"
import { recordings, recordingsPresent } from "../../support/recordings/recordings.ts"

const decode = (body: JsonObject) => decodeResponses(body)
const expectAgreement = agreement("ResponsesRequest", decode)

const fine: JsonObject = { model: "acme/small", input: "hi" }
const tool = (more: JsonObject) => ({ type: "function", name: "f", ...more })

const near: Readonly<Record<string, ReadonlyArray<unknown>>> = {
  input: [
    [{ role: "user", content: "hi" }],
    [{ type: "message", role: "assistant", content: null }],
    [{ type: "message", role: "tool", content: "hi" }],
    [{ type: "message" }],
    [{ type: "function_call", call_id: "c", name: "f", arguments: "{}" }],
    [{ type: "function_call_output", call_id: "c", output: "x" }],
    [{ type: "item_reference", id: "i" }],
    [{ type: "compaction_trigger" }, { type: "context_compaction" }],
    [{ type: "compaction", encrypted_content: "x" }],
    [{ type: "computer_call", call_id: "c" }],
    [{ type: "custom_tool_call", call_id: "c", name: "n", namespace: "s", input: "" }],
    [{ type: "custom_tool_call_output", call_id: "c", output: [{ type: "input_text", text: "a" }] }],
    [{ type: "additional_tools", role: "developer", tools: [tool({})] }],
    [{ type: "tool_search_call", call_id: "c", execution: "client", arguments: {} }],
    [{ type: "tool_search_output", call_id: "c", execution: "client", tools: [] }],
    [{ type: "local_shell_call", call_id: "c", action: { type: "exec", command: [], env: {} } }],
    [{ type: "local_shell_call_output", id: "c", output: "{}" }],
    [{ type: "shell_call", call_id: "c", action: { commands: [] } }],
    [{ type: "shell_call_output", call_id: "c", output: [] }],
    [{ type: "apply_patch_call", call_id: "c", operation: { type: "delete_file", path: "a" } }],
    [{ type: "apply_patch_call_output", call_id: "c", status: "failed" }],
    [{ type: "computer_call_output", call_id: "c", output: {} }],
    [{ type: "agent_message", author: "a", recipient: "b", content: [{ type: "input_text", text: "hi" }] }],
    [{ type: "mcp_call" }],
    [{ type: 5, role: "user", content: "hi" }],
  ],
  tools: [
    [tool({}), { type: "web_search_preview_2025_03_11" }, { type: "openrouter:web_search" }],
    [tool({ strict: null, parameters: null, description: null })],
    [tool({ name: "a b" })],
    [{ type: "namespace", name: "n", tools: [tool({})] }],
    [{ type: "namespace", name: "n", tools: [] }],
    [{ type: "namespace", name: "n", tools: [{ type: "custom", name: "c" }, { type: "custom" }] }],
    [{ type: "namespace", name: "n", tools: [{ type: "custom", name: "c" }] }],
    [{ type: "namespace", name: "n", tools: [{ type: "web_search" }] }],
    [{ type: "tool_search", execution: "client", description: "d", parameters: {} }],
    [{ type: "tool_search", parameters: "p" }],
    [{ type: "local_shell" }, { type: "shell", environment: { type: "local" } }, { type: "apply_patch" }],
    [{ type: "file_search" }],
    [{ type: "web_search", search_context_size: "huge" }],
  ],
  tool_choice: [
    ...[{ type: "function" }, { type: "allowed_tools", mode: "auto" }, { type: "mcp" }, { type: "custom" }],
    { type: "allowed_tools", mode: "auto", tools: [{ type: "custom" }] },
    { type: "allowed_tools", mode: "auto", tools: [{ type: "namespace" }] },
    { type: "allowed_tools", mode: "auto", tools: [{ type: "namespace", name: "n" }] },
  ],
  text: [
    { format: { type: "json_schema", name: "n", schema: {} }, verbosity: "low" },
    { format: { type: "json_schema", name: "n" } },
    { format: { type: "grammar" } },
    { verbosity: "loud" },
  ],
  include: [["reasoning.encrypted_content"], ["everything"]],
  stream_options: [{ include_obfuscation: true }, { include_obfuscation: 1 }],
  modalities: [["text", "image"]],
  truncation: ["disabled"],
}

const names = [
  ...["model", "models", "provider", "route", "preset", "stream", "usage", "service_tier", "cache_control", "metadata"],
  ...["session_id", "user", "trace", "plugins", "transforms", "instructions", "temperature", "top_p", "top_k", "seed"],
  ...["stop", "logit_bias", "reasoning", "max_output_tokens", "max_tool_calls", "top_logprobs", "parallel_tool_calls"],
  ...["structured_outputs", "web_search_options", "image_config", "safety_identifier", "prompt_cache_retention"],
  ...["prompt_cache_key", "store", "background", "previous_response_id", "conversation", "prompt", "moderation"],
  ...["context_management", "access_programs", "n", "best_of", "messages", "max_tokens", "max_completion_tokens"],
  ...["response_format", "verbosity", "reasoning_effort", "include_reasoning", "logprobs", "functions"],
  ...["function_call", "image", "client_metadata", "unheard_of", ...Object.keys(near)],
]

test("schema and decoder agree on every member with every value", () => {
  for (const name of names) {
    for (const value of [...values, ...(near[name] ?? [])]) expectAgreement({ ...fine, [name]: value })
  }
  expectAgreement({ model: "acme/small" })
})

test.skipIf(!recordingsPresent())("whatever the decoder accepts of the recorded requests, the schema accepts", () => {
  const bodies = recordings("openai-responses").flatMap(({ request }) =>
    isJsonObject(request?.body) ? [request.body] : [],
  )
  const accepted = bodies.filter((body) => problemsIn(decode(body)).length === 0)
  expect(accepted.length).toBeGreaterThan(10)
  expect(accepted.flatMap((body) => faultsIn("ResponsesRequest", body))).toEqual([])
})

test("they differ on a choice of a function that is not offered, which no schema says", () => {
  const body = { ...fine, tools: [tool({})], tool_choice: { type: "function", name: "g" } }
  expect(problemsIn(decode(body))).toHaveLength(1)
  expect(fits("ResponsesRequest", body)).toBe(true)
})

test("the schema and the decoder of a compaction agree on every member with every value", () => {
  const expectCompaction = agreement("CompactRequest", decodeCompact)
  for (const name of names) {
    for (const value of [...values, ...(near[name] ?? [])]) expectCompaction({ ...fine, [name]: value })
  }
  expectCompaction({ model: "acme/small" })
})
