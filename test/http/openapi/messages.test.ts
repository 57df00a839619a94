/** The description of the Messages form against its decoder. Within blocks of content the schema has only their types. */
import { expect, test } from "bun:test"
import { isJsonObject, type JsonObject } from "../../../src/domain/json/json.ts"
import { decodeMessages } from "../../../src/formats/messages/messagesRequest.ts"
import { agreement, values } from "../../support/clients/openApi.ts"
import { recordings, recordingsPresent } from "../../support/recordings/recordings.ts"

const headers = new Headers()
const expectAgreement = agreement("MessagesRequest", (body) => decodeMessages(body, headers))

const fine: JsonObject = { model: "acme/small", max_tokens: 10, messages: [{ role: "user", content: "hi" }] }

const tool = (more: JsonObject) => ({ name: "f", input_schema: {}, ...more })

/** Values that fit, or nearly fit, one member. */
const near: Readonly<Record<string, ReadonlyArray<unknown>>> = {
  messages: [
    [{ role: "user", content: [{ type: "text", text: "hi" }] }],
    [{ role: "user" }],
    [{ role: "user", content: null }],
    [{ role: "user", content: [{ text: "hi" }] }],
    [{ role: "user", content: ["hi"] }],
    [{ role: "assistant", content: [] }],
    [{ role: "system", content: "x" }],
    [{ role: "tool", content: "x" }],
    [{ content: "x" }],
  ],
  system: [[{ type: "text", text: "hi" }], [{ type: "image" }], [{ type: "text" }], ["hi"]],
  tools: [
    [tool({})],
    [tool({ type: "custom", strict: null, description: null, cache_control: { type: "ephemeral" } })],
    [tool({ type: null })],
    [tool({ name: "a b" })],
    [tool({ input_schema: null })],
    [{ name: "f" }],
    [{ type: "web_search_20250305", name: "web_search" }, { type: "bash" }, { type: "tool_search_tool_bm25_20251119" }],
    [{ type: "code_execution_20250522" }],
    [{ type: 5 }],
  ],
  tool_choice: [{ type: "any", disable_parallel_tool_use: true }, { type: "tool", name: "f" }, { type: "tool" }],
  thinking: [
    { type: "enabled", budget_tokens: 1024 },
    { type: "enabled" },
    { type: "enabled", budget_tokens: 0 },
    { type: "adaptive", display: "omitted" },
    { type: "disabled" },
  ],
  output_config: [
    { effort: "max" },
    { effort: "none" },
    { format: { type: "json_schema", schema: {} } },
    { format: {} },
  ],
  output_format: [{ type: "json_schema", schema: {} }, { type: "json_schema" }],
  metadata: [{ user_id: "u" }, { user_id: null }, { user_id: 5 }],
  service_tier: ["standard_only", "scale"],
  stop_sequences: [["a", "b", "c", "d", "e", "f"]],
  fallbacks: [[{ model: "a/b" }], [{ model: "a/b", x: 1 }], [{ model: null }], Array(4).fill({ model: "a/b" })],
  speed: ["standard", "fast"],
  inference_geo: ["global", "us"],
  container: ["c_1"],
  diagnostics: [{ previous_message_id: null }, { previous_message_id: "m" }],
  billing_policy: [{ bill_to: "self" }, { bill_to: "other" }, { bill_to: null }],
  mcp_servers: [[{ url: "https://x.test" }]],
  models: [["acme/small"]],
}

const names = [
  ...["model", "models", "provider", "route", "preset", "stream", "stream_options", "usage", "cache_control", "user"],
  ...[
    "prompt_cache_key",
    "prompt_cache_options",
    "session_id",
    "trace",
    "plugins",
    "transforms",
    "debug",
    "max_tokens",
  ],
  ...["stop_server_tools_when", "temperature", "top_p", "top_k", "stop", "seed", "reasoning", "context_management"],
  ...["compaction", "thread", "fallback_credit_token", "user_profile_id", "api_key", "unheard_of"],
  ...["n", "best_of", "max_completion_tokens", "modalities", "audio"],
  ...Object.keys(near),
]

test("schema and decoder agree on every member with every value", () => {
  for (const name of new Set(names)) {
    for (const value of [...values, ...(near[name] ?? [])]) expectAgreement({ ...fine, [name]: value })
  }
  expectAgreement({ ...fine, models: ["a/b"], fallbacks: [{ model: "a/b" }] })
  expectAgreement({ ...fine, models: ["a/b"], fallbacks: null })
  expectAgreement({ messages: fine["messages"] })
})

test.skipIf(!recordingsPresent())("they agree on the recorded requests", () => {
  const bodies = recordings("anthropic-messages").flatMap(({ request }) =>
    isJsonObject(request?.body) ? [request.body] : [],
  )
  expect(bodies.length).toBeGreaterThan(10)
  for (const body of bodies) expectAgreement(body)
})
