/**
 * Every member of a request of the Messages form, and what becomes of it: at a host of the form, and in the canonical form
 * that hosts of others are asked in. A new member of the form belongs into this table.
 */
import { describe, expect, test } from "bun:test"
import * as Either from "effect/Either"
import type { JsonObject } from "../../../src/domain/json/json.ts"
import type { ChatRequest } from "../../../src/domain/request/request.ts"
import { messagesProtocol } from "../../../src/formats/messages/messagesHost.ts"
import { decodeMessages } from "../../../src/formats/messages/messagesRequest.ts"
import { hostFor } from "../../support/recordings/recordings.ts"

const decode = (body: JsonObject, headers: Record<string, string> = {}) => {
  const asked = { model: "acme/small", messages: [{ role: "user", content: "Hi" }], ...body }
  return decodeMessages(asked, new Headers(headers))
}

const accepted = (body: JsonObject): ChatRequest => Either.getOrThrow(decode(body))

const issuesOf = (body: JsonObject, headers: Record<string, string> = {}) =>
  Either.match(decode(body, headers), { onLeft: ({ issues }) => issues.map(({ path }) => path), onRight: () => [] })

/** What a host of the form is sent. */
const nativeBody = (request: ChatRequest): JsonObject => {
  const { native: protocol } = messagesProtocol()
  if (protocol === undefined || request.native === undefined) throw new Error("not native")
  return JSON.parse(String(Either.getOrThrow(protocol.encode(request, request.native, hostFor("at-host"))).body))
}

type Fate =
  /** Sent to hosts of the form as it is; `as`: the member of the canonical form, with its value. */
  | { readonly sent: unknown; readonly as: JsonObject }
  /** Sent to hosts of the form, and named in `X-GW-Dropped` at others. */
  | { readonly sent: unknown; readonly dropped: string }
  /** Sent to hosts of the form; hosts of others are not called. */
  | { readonly sent: unknown; readonly only: string }
  /** For the router: sent to no host. */
  | { readonly router: unknown }
  /** 400, naming the member. */
  | { readonly refused: unknown }

const schema = { type: "object" }
const tool = { name: "look", input_schema: schema }
const translatedTool = { type: "function", function: { name: "look", parameters: schema } }

const members: ReadonlyArray<readonly [member: string, ...fates: ReadonlyArray<Fate>]> = [
  [
    "system",
    {
      sent: "Be brief",
      as: {
        messages: [
          { role: "system", content: "Be brief" },
          { role: "user", content: "Hi" },
        ],
      },
    },
  ],
  ["max_tokens", { sent: 10, as: {} }],
  ["temperature", { sent: 0.5, as: { temperature: 0.5 } }],
  ["top_p", { sent: 0.5, as: { top_p: 0.5 } }],
  ["top_k", { sent: 5, as: { top_k: 5 } }],
  ["stop_sequences", { sent: ["x"], as: { stop: ["x"] } }],
  ["metadata", { sent: { user_id: "u" }, as: { user: "u" } }, { sent: { team: "a" }, dropped: "metadata.team" }],
  [
    "tools",
    { sent: [tool], as: { tools: [translatedTool] } },
    { sent: [{ type: "bash_20250124", name: "bash" }], only: "tools[0]" },
    { sent: [{ ...tool, defer_loading: true }], dropped: "tools[0].defer_loading" },
    { refused: [{ type: "mcp_toolset", mcp_server_name: "m" }] },
  ],
  [
    "tool_choice",
    {
      sent: { type: "any", disable_parallel_tool_use: true },
      as: { tool_choice: "required", parallel_tool_calls: false },
    },
  ],
  ["thinking", { sent: { type: "enabled", budget_tokens: 1024 }, as: {} }],
  [
    "output_config",
    { sent: { effort: "low" }, as: { verbosity: "low" } },
    { sent: { task_budget: { total: 5 } }, dropped: "output_config.task_budget" },
  ],
  [
    "output_format",
    {
      sent: { type: "json_schema", schema },
      as: { response_format: { type: "json_schema", json_schema: { name: "answer", schema, strict: true } } },
    },
  ],
  ["cache_control", { sent: { type: "ephemeral" }, as: { cache_control: { type: "ephemeral" } } }],
  [
    "service_tier",
    { sent: "auto", as: { service_tier: "auto" } },
    { sent: "standard_only", as: { service_tier: "default" } },
  ],
  ["context_management", { sent: { edits: [] }, dropped: "context_management" }],
  [
    "diagnostics",
    { sent: { previous_message_id: null }, dropped: "diagnostics" },
    { refused: { previous_message_id: "msg_1" } },
  ],
  ["compaction", { sent: { type: "summarize" }, only: "compaction" }],
  ["speed", { sent: "standard", as: {} }, { refused: "fast" }],
  ["inference_geo", { sent: "global", as: {} }, { refused: "us" }],
  ["billing_policy", { sent: { bill_to: "self" }, as: {} }, { refused: { bill_to: "user_profile" } }],
  ["mcp_servers", { refused: [{ type: "url", url: "https://m.test", name: "m" }] }],
  ["container", { refused: "container_1" }],
  ["thread", { refused: { type: "create" } }],
  ["fallback_credit_token", { refused: "t" }],
  ["user_profile_id", { refused: "u" }],
  ["stop", { refused: "x" }],
  ["response_format", { refused: { type: "json_object" } }],
  ["verbosity", { refused: "low" }],
  ["reasoning", { refused: { effort: "low" } }],
  ["reasoning_effort", { refused: "low" }],
  ["include_reasoning", { refused: true }],
  ["parallel_tool_calls", { refused: false }],
  ["functions", { refused: [] }],
  ["function_call", { refused: "none" }],
  ["n", { refused: 50 }, { refused: "50" }],
  ["best_of", { refused: 8 }],
  ["max_completion_tokens", { refused: 99_999 }],
  ["max_output_tokens", { refused: 99_999 }],
  ["modalities", { refused: ["text", "audio"] }],
  ["audio", { refused: { voice: "x", format: "wav" } }],
  ["previous_response_id", { refused: "resp_1" }],
  ["conversation", { refused: "conv_1" }],
  ["vector_store_ids", { refused: ["vs_1"] }],
  ["cached_content", { refused: "cachedContents/1" }],
  ["models", { router: ["acme/other"] }],
  [
    "fallbacks",
    { router: [{ model: "acme/other" }] },
    { refused: [{ model: "a" }, { model: "b" }, { model: "c" }, { model: "d" }] },
  ],
  ["provider", { router: { only: ["a"] } }],
  ["session_id", { router: "s" }],
  ["user", { router: "u" }],
  ["trace", { router: {} }],
  ["route", { router: "fallback" }],
  ["stop_server_tools_when", { router: [{}] }],
  ["api_key", { router: "k" }],
  ["base_url", { router: "https://x.test" }],
]

const cases = members.flatMap(([member, ...fates]) =>
  fates.map((fate) => [member, Object.keys(fate)[0] ?? "", Object.keys(fate)[1] ?? "", fate] as const),
)

test.each(cases)("%s: %s %s", (member, _, __, fate) => {
  if ("refused" in fate) {
    expect(issuesOf({ [member]: fate.refused })[0]).toStartWith(member)
    return
  }
  if ("router" in fate) {
    const request = accepted({ [member]: fate.router })
    expect(nativeBody(request)[member]).toBeUndefined()
    expect(request.payload[member] === undefined || member === "user").toBe(true)
    return
  }
  const request = accepted({ [member]: fate.sent })
  expect(nativeBody(request)[member]).toEqual(fate.sent)
  const { untranslated = [] } = request.native ?? {}
  const { onlyForm, form } = request.routing.needs
  if ("dropped" in fate) expect([...untranslated]).toEqual([fate.dropped])
  else if ("only" in fate) expect([onlyForm?.path, form]).toEqual([fate.only, "messages"])
  else {
    expect([untranslated, onlyForm]).toEqual([[], undefined])
    const { messages, ...payload } = request.payload
    expect(request.payload).toMatchObject(fate.as)
    expect(Object.keys(payload).toSorted()).toEqual(
      Object.keys(fate.as)
        .filter((name) => name !== "messages")
        .toSorted(),
    )
    expect(messages).toBeArray()
  }
})

describe("routing", () => {
  test("fallbacks follow the model", () => {
    expect(accepted({ fallbacks: [{ model: "acme/other" }] }).routing.models).toEqual(["acme/small", "acme/other"])
    expect(issuesOf({ fallbacks: [{ model: "a", max_tokens: 1 }] })).toEqual(["fallbacks[0].max_tokens"])
    expect(issuesOf({ fallbacks: [{ model: "a" }], models: ["b"] })).toEqual(["fallbacks"])
  })

  test("needs and parameters have their canonical names", () => {
    const { routing, reasoning, maxTokens } = accepted({
      max_tokens: 9,
      thinking: { type: "enabled", budget_tokens: 1024 },
      stop_sequences: ["x"],
      tools: [tool],
      tool_choice: { type: "tool", name: "look" },
      messages: [{ role: "user", content: [{ type: "image", source: { type: "url", url: "https://a.test/b.png" } }] }],
    })
    expect(routing.needs).toEqual({ inputs: ["image"], outputs: [], toolChoice: "function" })
    expect([...routing.parameters].toSorted()).toEqual(["max_tokens", "reasoning", "stop", "tool_choice", "tools"])
    expect([reasoning.maxTokens, maxTokens]).toEqual([1024, 9])
  })
})

const content = (...blocks: ReadonlyArray<unknown>) => ({ messages: [{ role: "user", content: blocks }] })

test.each<[string, JsonObject, ReadonlyArray<string>]>([
  ["no messages", { messages: [] }, ["messages"]],
  ["messages that are no list", { messages: {} }, ["messages"]],
  ["a message that is none", { messages: [1] }, ["messages[0]"]],
  ["an unknown role", { messages: [{ role: "tool", content: "x" }] }, ["messages[0].role"]],
  ["no content", { messages: [{ role: "user" }] }, ["messages[0].content"]],
  ["content that is a number", { messages: [{ role: "user", content: 7 }] }, ["messages[0].content"]],
  ["a block without a type", content({}), ["messages[0].content[0].type"]],
  ["a block that is none", content("x"), ["messages[0].content[0]"]],
  ["a text that is none", content({ type: "text", text: 1 }), ["messages[0].content[0].text"]],
  ["an image without a source", content({ type: "image" }), ["messages[0].content[0].source"]],
  [
    "an image of an unknown source",
    content({ type: "image", source: { type: "x" } }),
    ["messages[0].content[0].source.type"],
  ],
  [
    "a local file",
    content({ type: "image", source: { type: "url", url: "file:///etc/passwd" } }),
    ["messages[0].content[0].source.url"],
  ],
  [
    "a stored file",
    content({ type: "document", source: { type: "file", file_id: "f" } }),
    ["messages[0].content[0].source"],
  ],
  [
    "a stored file in a document of blocks",
    content({
      type: "document",
      source: { type: "content", content: [{ type: "document", source: { type: "file", file_id: "f" } }] },
    }),
    ["messages[0].content[0].source.content[0].type"],
  ],
  [
    "a stored file in a page that was fetched",
    content({
      type: "web_fetch_tool_result",
      tool_use_id: "t",
      content: { type: "web_fetch_result", content: { type: "document", source: { type: "file", file_id: "f" } } },
    }),
    ["messages[0].content[0].content.content.source"],
  ],
  [
    "a stored file in a result within a result",
    content({
      type: "tool_result",
      tool_use_id: "t",
      content: [{ type: "tool_result", content: [{ type: "image", source: { type: "file", file_id: "f" } }] }],
    }),
    ["messages[0].content[0].content[0].content[0].source"],
  ],
  ["a stored upload", content({ type: "container_upload", file_id: "f" }), ["messages[0].content[0]"]],
  ["a result of no call", content({ type: "tool_result" }), ["messages[0].content[0].tool_use_id"]],
  [
    "a tool of the operator amid the conversation",
    content({ type: "tool_addition", tool: { definition: { type: "code_execution_20250825" } } }),
    ["messages[0].content[0].tool.definition.type"],
  ],
  ["a system that is a number", { system: 7 }, ["system"]],
  ["an image as system", { system: [{ type: "image" }] }, ["system[0].type"]],
  ["a budget that is missing", { thinking: { type: "enabled" } }, ["thinking.budget_tokens"]],
  ["a tool without a schema", { tools: [{ name: "x" }] }, ["tools[0].input_schema"]],
  ["a choice without a name", { tool_choice: { type: "tool" } }, ["tool_choice.name"]],
  ["max_tokens of 0", { max_tokens: 0 }, ["max_tokens"]],
])("%s is refused by its path", (_, body, paths) => {
  expect(issuesOf(body)).toEqual([...paths])
})

test.each([
  ["anthropic-beta", "with space,ok-1"],
  ["x-anthropic-beta", "mcp-tunnels-2026-06-22"],
])("%s: %s is refused", (header, value) => {
  expect(issuesOf({}, { [header]: value })).toEqual([header])
})

test("turns without blocks stay turns at other hosts, which got no message at all", () => {
  const { payload } = accepted({
    messages: [
      { role: "user", content: [] },
      { role: "assistant", content: [] },
    ],
  })
  expect(payload.messages).toEqual([
    { role: "user", content: "" },
    { role: "assistant", content: "" },
  ])
})

test("members of blocks that other hosts cannot have are named: they were lost in silence", () => {
  const { native } = accepted({
    messages: [
      { role: "user", content: [{ type: "text", text: "Hi", citations: [] }] },
      {
        role: "assistant",
        content: [
          { type: "text", text: "So", citations: [{ type: "char_location", cited_text: "q" }] },
          { type: "tool_use", id: "t", name: "look", input: {}, caller: { type: "direct" } },
        ],
      },
      { role: "user", content: [{ type: "tool_result", tool_use_id: "t", content: "5", future: 1 }] },
    ],
  })
  expect(native?.untranslated).toEqual([
    "messages[1].content[0].citations",
    "messages[1].content[1].caller",
    "messages[2].content[0].future",
  ])
})
