/**
 * Every member of a request in the Responses form: what becomes of it at a host of the chat form. A member that a new
 * version of either SDK knows and that is not here does not compile.
 */
import { afterAll, beforeAll, describe, expect, test } from "bun:test"
import type { ResponsesRequest$Outbound } from "@openrouter/sdk/models"
import type { ResponseCreateParamsBase } from "openai/resources/responses/responses"
import type { JsonObject } from "../../../src/domain/json/json.ts"
import { errorOf } from "../../support/clients/answers.ts"
import { postResponses } from "../../support/clients/responsesForm.ts"
import { startGateway, type TestGateway } from "../../support/gateways/gateway.ts"
import { configFor, type ScriptedHost, scriptedHost, streamAnswer, wholeAnswer } from "../../support/hosts/host.ts"

type Member = keyof ResponseCreateParamsBase | keyof ResponsesRequest$Outbound

const fates: Readonly<Record<Member, "carried" | "refused" | "dropped">> = {
  access_programs: "refused",
  background: "refused",
  cache_control: "carried",
  context_management: "refused",
  conversation: "refused",
  debug: "carried",
  frequency_penalty: "carried",
  image: "dropped",
  image_config: "dropped",
  include: "carried",
  input: "carried",
  instructions: "carried",
  max_output_tokens: "carried",
  max_tool_calls: "carried",
  metadata: "carried",
  modalities: "carried",
  model: "carried",
  models: "carried",
  moderation: "dropped",
  parallel_tool_calls: "carried",
  plugins: "carried",
  presence_penalty: "carried",
  previous_response_id: "refused",
  prompt: "refused",
  prompt_cache_key: "carried",
  prompt_cache_options: "carried",
  prompt_cache_retention: "carried",
  provider: "carried",
  reasoning: "carried",
  safety_identifier: "carried",
  service_tier: "carried",
  session_id: "carried",
  stop_server_tools_when: "carried",
  store: "dropped",
  stream: "carried",
  stream_options: "carried",
  temperature: "carried",
  text: "carried",
  tool_choice: "carried",
  tools: "carried",
  top_k: "carried",
  top_logprobs: "carried",
  top_p: "carried",
  trace: "carried",
  truncation: "carried",
  user: "carried",
}

const f = { type: "function", name: "f", parameters: { type: "object" } }
const g = { type: "function", name: "g", description: "does g", strict: true, parameters: null }
const chatF = { type: "function", function: { name: "f", parameters: { type: "object" } } }
const chatG = { type: "function", function: { name: "g", description: "does g", strict: true } }
const space = { type: "namespace", name: "agents", tools: [f, g] }
const chatSpace = [chatF, chatG].map((tool) => ({
  ...tool,
  function: { ...tool.function, name: `agents__${tool.function.name}` },
}))
const user = (content: unknown) => ({ messages: [{ role: "user", content }] })
const said = (...content: ReadonlyArray<JsonObject>) => [{ role: "user", content }]

/** Member by member: a value, and what the host gets for it. */
const carried: Readonly<Record<string, ReadonlyArray<readonly [given: JsonObject, sent: JsonObject]>>> = {
  model: [[{ model: "acme/small" }, { model: "upstream" }]],
  models: [[{ model: null, models: ["acme/small"] }, { model: "upstream" }]],
  input: [
    [{ input: "a" }, user("a")],
    [{ input: [{ role: "user", content: "a" }] }, user("a")],
    [{ input: said({ type: "input_text", text: "a" }) }, user([{ type: "text", text: "a" }])],
  ],
  instructions: [
    [
      { instructions: "be brief" },
      {
        messages: [
          { role: "system", content: "be brief" },
          { role: "user", content: "hi" },
        ],
      },
    ],
  ],
  max_output_tokens: [[{ max_output_tokens: 9 }, { max_tokens: 9 }]],
  temperature: [[{ temperature: 0.5 }, { temperature: 0.5 }]],
  top_p: [[{ top_p: 0.5 }, { top_p: 0.5 }]],
  top_k: [[{ top_k: 5 }, { top_k: 5 }]],
  frequency_penalty: [[{ frequency_penalty: 1 }, { frequency_penalty: 1 }]],
  presence_penalty: [[{ presence_penalty: 1 }, { presence_penalty: 1 }]],
  top_logprobs: [[{ top_logprobs: 2 }, { top_logprobs: 2, logprobs: true }]],
  include: [
    [{ include: ["message.output_text.logprobs"] }, { logprobs: true }],
    [{ include: ["reasoning.encrypted_content"] }, {}],
  ],
  tools: [
    [{ tools: [f, g] }, { tools: [chatF, chatG] }],
    [{ tools: [space] }, { tools: chatSpace }],
    [{ tools: [{ type: "web_search" }] }, { web_search_options: {} }],
    [
      {
        tools: [
          f,
          {
            type: "web_search_preview_2025_03_11",
            search_context_size: "low",
            user_location: { type: "approximate", city: "Bern" },
          },
        ],
      },
      {
        tools: [chatF],
        web_search_options: {
          search_context_size: "low",
          user_location: { type: "approximate", approximate: { city: "Bern" } },
        },
      },
    ],
    [
      { tools: [{ ...f, cache_control: { type: "ephemeral" } }] },
      { tools: [{ ...chatF, cache_control: { type: "ephemeral" } }] },
    ],
  ],
  tool_choice: [
    [
      { tools: [f], tool_choice: "required" },
      { tools: [chatF], tool_choice: "required" },
    ],
    [
      { tools: [f], tool_choice: { type: "function", name: "f" } },
      { tools: [chatF], tool_choice: { type: "function", function: { name: "f" } } },
    ],
    [
      {
        tools: [f, g],
        tool_choice: { type: "allowed_tools", mode: "required", tools: [{ type: "function", name: "g" }] },
      },
      { tools: [chatG], tool_choice: "required" },
    ],
  ],
  parallel_tool_calls: [
    [
      { tools: [f], parallel_tool_calls: false },
      { tools: [chatF], parallel_tool_calls: false },
    ],
  ],
  text: [
    [{ text: { format: { type: "text" } } }, {}],
    [
      { text: { format: { type: "json_object" }, verbosity: "low" } },
      { response_format: { type: "json_object" }, verbosity: "low" },
    ],
    [
      {
        text: {
          format: { type: "json_schema", name: "n", schema: { type: "object" }, strict: true, description: "d" },
        },
      },
      {
        response_format: {
          type: "json_schema",
          json_schema: { name: "n", schema: { type: "object" }, strict: true, description: "d" },
        },
      },
    ],
  ],
  reasoning: [
    [{ reasoning: { effort: "low", summary: "auto" } }, { reasoning_effort: "low" }],
    [{ reasoning: { max_tokens: 2000 } }, { reasoning_effort: "medium" }],
  ],
  metadata: [[{ metadata: { a: "b" } }, { metadata: { a: "b" } }]],
  service_tier: [[{ service_tier: "auto" }, { service_tier: "auto" }]],
  user: [[{ user: "u" }, { user: "u" }]],
  safety_identifier: [[{ safety_identifier: "s" }, { safety_identifier: "s" }]],
  prompt_cache_key: [[{ prompt_cache_key: "k" }, { prompt_cache_key: "k" }]],
  prompt_cache_retention: [[{ prompt_cache_retention: "24h" }, { prompt_cache_retention: "24h" }]],
  prompt_cache_options: [
    [{ prompt_cache_options: { mode: "explicit" } }, { prompt_cache_options: { mode: "explicit" } }],
  ],
  cache_control: [[{ cache_control: { type: "ephemeral" } }, { cache_control: { type: "ephemeral" } }]],
  modalities: [[{ modalities: ["text"] }, { modalities: ["text"] }]],
  // Of other routers, and unknown ones: the host may know them.
  seed: [[{ seed: 1 }, { seed: 1 }]],
  stop: [[{ stop: ["x"] }, { stop: ["x"] }]],
  x_unknown: [[{ x_unknown: [1] }, { x_unknown: [1] }]],
  // Nothing of these reaches a host: the gateway does what they say.
  stream: [[{ stream: false }, { stream: false }]],
  stream_options: [[{ stream_options: { include_obfuscation: false } }, {}]],
  store: [[{ store: false }, {}]],
  background: [[{ background: false }, {}]],
  truncation: [
    [{ truncation: "disabled" }, {}],
    [{ truncation: "auto" }, {}],
  ],
  max_tool_calls: [[{ max_tool_calls: 3 }, {}]],
  provider: [[{ provider: { only: ["a"] } }, {}]],
  route: [[{ route: "fallback" }, {}]],
  session_id: [[{ session_id: "s" }, {}]],
  debug: [[{ debug: {} }, {}]],
  plugins: [[{ plugins: [] }, {}]],
  stop_server_tools_when: [[{ stop_server_tools_when: [{ type: "step_count_is", step_count: 1 }] }, {}]],
  trace: [[{ trace: { trace_id: "t" } }, {}]],
  previous_response_id: [[{ previous_response_id: null }, {}]],
  conversation: [[{ conversation: null }, {}]],
  prompt: [[{ prompt: null }, {}]],
  context_management: [[{ context_management: null }, {}]],
}

const named = (name: string, more: JsonObject = {}) => ({ type: "function", name, ...more })

/** What is refused, and where the refusal points. */
const refused: ReadonlyArray<readonly [given: JsonObject, path: string, says: string]> = [
  [{ background: true }, "background", "stores no responses"],
  [{ previous_response_id: "resp_1" }, "previous_response_id", "send the whole conversation"],
  [{ conversation: "conv_1" }, "conversation", "send the whole conversation"],
  [{ conversation: { id: "conv_1" } }, "conversation", "send the whole conversation"],
  [{ prompt: { id: "p" } }, "prompt", "send its text"],
  [{ context_management: [{ type: "compaction" }] }, "context_management", "cannot pass on"],
  [{ access_programs: { cyber: "standard" } }, "access_programs", "cannot pass on"],
  [{ input: undefined }, "input", "is required"],
  [{ input: [] }, "input", "at least one item"],
  [{ input: 7 }, "input", "a string or an array of items"],
  [{ input: [7] }, "input[0]", "an object"],
  [{ input: [{ content: "a" }] }, "input[0].type", "is required"],
  [{ input: [{ role: "tool", content: "a" }] }, "input[0].role", "must be one of"],
  [{ input: [{ role: "user" }] }, "input[0].content", "is required"],
  [{ input: [{ type: "item_reference", id: "msg_1" }] }, "input[0]", "send the item itself"],
  [{ input: [{ type: "item_reference", id: "msg_1" }] }, "input[0]", "providerOptions.openai.store: false"],
  [{ input: [{ id: "msg_1" }] }, "input[0]", "store: false"],
  [{ input: [{ type: "file_search_call", id: "fs_1" }] }, "input[0].type", "cannot pass on"],
  [{ input: [{ type: "compaction" }] }, "input[0].encrypted_content", "is required"],
  [
    { input: [{ type: "tool_search_call", call_id: "c", arguments: {}, execution: "server" }] },
    "input[0].execution",
    "client",
  ],
  [
    { input: [{ type: "tool_search_output", call_id: "c", tools: [{ type: "mcp" }] }] },
    "input[0].tools[0].type",
    "neither",
  ],
  [{ input: [{ type: "additional_tools", tools: [{ type: "file_search" }] }] }, "input[0].tools[0].type", "neither"],
  [{ input: [{ type: "additional_tools" }] }, "input[0].tools", "is required"],
  [
    {
      input: Array.from({ length: 9 }, () => ({
        type: "additional_tools",
        tools: Array.from({ length: 512 }, () => f),
      })),
    },
    "input",
    "more than 4096 tools",
  ],
  [
    { tools: Array.from({ length: 9 }, () => ({ ...space, tools: Array.from({ length: 512 }, () => f) })) },
    "tools",
    "more than 4096 tools",
  ],
  [
    { input: [{ type: "agent_message", content: [{ type: "output_text", text: "a" }] }] },
    "input[0].content[0].type",
    "one of",
  ],
  [{ input: [{ type: "function_call", name: "f", arguments: "" }] }, "input[0].call_id", "is required"],
  [{ input: [{ type: "function_call_output", call_id: "c" }] }, "input[0].output", "is required"],
  [{ input: said({ type: "image", url: "x" }) }, "input[0].content[0].type", "must be one of"],
  [{ input: said({ type: "input_image", file_id: "file_1" }) }, "input[0].content[0].file_id", "send the content"],
  [{ input: said({ type: "input_file", file_id: "file_1" }) }, "input[0].content[0].file_id", "send the content"],
  [{ input: said({ type: "input_image" }) }, "input[0].content[0]", "must have image_url"],
  [{ input: said({ type: "input_file", filename: "a" }) }, "input[0].content[0]", "file_data or file_url"],
  [{ input: said({ type: "input_image", image_url: "ftp://x" }) }, "input[0].content[0].image_url", "data URL"],
  [
    { input: [{ role: "system", content: [{ type: "input_image", image_url: "https://x/y.png" }] }] },
    "input[0].content[0].type",
    "input_text",
  ],
  [{ instructions: ["a"] }, "instructions", "a string"],
  [{ max_output_tokens: 0 }, "max_output_tokens", "an integer"],
  [{ max_tool_calls: 0 }, "max_tool_calls", "an integer"],
  [{ temperature: 3 }, "temperature", "0 to 2"],
  [{ include: ["secrets"] }, "include[0]", "must be one of"],
  [{ truncation: "middle" }, "truncation", "must be one of"],
  [{ tools: [{ type: "function", function: { name: "f" } }] }, "tools[0].name", "is required"],
  [{ tools: [{ type: "code_interpreter", container: "c" }] }, "tools[0].container", "account of the operator"],
  [{ tools: [{ type: "file_search", vector_store_ids: ["v"] }] }, "tools[0].type", "neither runs nor can pass on"],
  [{ tools: [{ type: "mcp", server_label: "m" }] }, "tools[0].type", "neither runs nor can pass on"],
  [{ tools: [{ type: "file_search" }] }, "tools[0].type", "neither runs nor can pass on"],
  [{ tools: [{ ...space, tools: [{ type: "web_search" }] }] }, "tools[0].tools[0].type", "must be one of"],
  [{ tools: [{ ...space, name: "n".repeat(129) }] }, "tools[0].name", "1 to 128"],
  [{ tools: [f], tool_choice: { type: "custom", name: "f" } }, "tool_choice.name", "not the name of a custom"],
  [{ tools: [f], tool_choice: { type: "apply_patch" } }, "tool_choice.type", "not among the tools"],
  [{ tools: [space], tool_choice: named("f") }, "tool_choice.name", "not the name of a function"],
  [{ tool_choice: { type: "mcp", server_label: "m" } }, "tool_choice.type", "must be one of"],
  [{ tools: [f], tool_choice: { type: "function", name: "h" } }, "tool_choice.name", "not the name of a function"],
  [
    { tools: [f], tool_choice: { type: "allowed_tools", mode: "auto", tools: [{ type: "function", name: "h" }] } },
    "tool_choice.tools[0].name",
    "not the name of a function",
  ],
  [{ text: { format: { type: "json_schema", name: "n" } } }, "text.format.schema", "is required"],
  [{ text: { format: { type: "grammar" } } }, "text.format.type", "must be one of"],
  [{ text: { verbosity: "loud" } }, "text.verbosity", "must be one of"],
  [{ reasoning: { effort: "low", max_tokens: 5 } }, "reasoning", "not both"],
  [{ modalities: ["audio"] }, "modalities[0]", "must be one of"],
  [{ user: "u".repeat(257) }, "user", "256"],
  [{ stream: "yes" }, "stream", "a boolean"],
  ...[
    "messages",
    "max_tokens",
    "max_completion_tokens",
    "response_format",
    "verbosity",
    "reasoning_effort",
    "include_reasoning",
    "logprobs",
    "functions",
    "function_call",
  ].map((name) => [{ [name]: "x" }, name, "belongs to the chat completions format: use"] as const),
  [{ n: 2 }, "n", "one answer"],
  [{ best_of: 2 }, "best_of", "one answer"],
]

/** What only hosts of the form can do: where it stands. */
const onlyOfForm: ReadonlyArray<readonly [given: JsonObject, path: string]> = [
  [{ input: [{ role: "user", content: "a" }, { type: "compaction_trigger" }] }, "input[1]"],
  [{ input: [{ type: "compaction", encrypted_content: "x" }] }, "input[0]"],
  [{ tools: [{ type: "computer_use_preview" }] }, "tools[0]"],
  [{ input: [{ type: "computer_call", call_id: "c" }] }, "input[0]"],
]

/** What no host of another form is sent, and the caller is told of. */
const dropped: ReadonlyArray<readonly [given: JsonObject, names: string]> = [
  [{ store: true }, "store"],
  [{ moderation: { model: "m" } }, "moderation"],
  [{ image_config: { a: 1 } }, "image_config"],
  [{ text: { verbosity: "low", future: 1 } }, "text.future"],
  [{ tools: [f, { type: "openrouter:datetime" }] }, "tools[1]"],
  [{ max_tool_calls: 3, tools: [{ type: "web_search" }] }, "max_tool_calls"],
  [{ stream_options: { include_obfuscation: true } }, "stream_options.include_obfuscation"],
  [{ image: { context_compression: "auto" } }, "image"],
  [{ client_metadata: { turn: "1" } }, "client_metadata"],
  [{ reasoning: { context: "all_turns", mode: "pro" } }, "reasoning.context, reasoning.mode"],
  [{ tools: [{ ...space, description: "of agents" }] }, "tools[0].description"],
  [{ tools: [{ ...f, defer_loading: true, async: false }] }, "tools[0].defer_loading"],
  [{ tools: [{ type: "web_search", filters: { allowed_domains: ["x.org"] } }] }, "tools[0].filters"],
  [
    { input: said({ type: "input_file", file_data: "data:text/plain,a", detail: "low" }) },
    "input[0].content[0].detail",
  ],
  [
    {
      input: [
        { role: "user", content: "a" },
        {
          type: "message",
          id: "msg_1",
          status: "completed",
          role: "assistant",
          phase: "commentary",
          content: [{ type: "output_text", text: "b", annotations: [{ type: "url_citation" }], logprobs: [] }],
        },
        { type: "function_call", call_id: "c", name: "f", arguments: "{}", async: true },
        { type: "function_call_output", call_id: "c", output: "1" },
      ],
    },
    "input[1].phase, input[1].content[0].annotations, input[2].async",
  ],
]

describe("a member of the Responses form", () => {
  let host: ScriptedHost
  let gateway: TestGateway

  beforeAll(async () => {
    host = scriptedHost((body) => (body["stream"] === true ? streamAnswer(["a"]) : wholeAnswer("a")))
    gateway = await startGateway({ config: configFor({ a: { ...host, webSearch: "0" } }) })
  })
  afterAll(async () => {
    await gateway.stop()
    await host.stop()
  })

  test.each(Object.entries(fates))("%s is %s in a row of this file", (name, fate) => {
    const rows = { carried: Object.entries(carried[name] ?? {}), refused, dropped }[fate]
    expect(
      fate === "carried" ? rows : rows.filter(([given]) => typeof given === "object" && name in given),
    ).not.toEqual([])
  })

  const base = { model: "upstream", messages: [{ role: "user", content: "hi" }], stream: false }

  test.each(Object.entries(carried).flatMap(([name, cases]) => cases.map((one) => [name, ...one] as const)))(
    "%s reaches the host: %j as %j",
    async (_name, given, sent) => {
      const response = await postResponses(gateway, given)
      expect([response.status, response.headers.get("x-gw-dropped")]).toEqual([200, null])
      expect(host.calls.at(-1)?.body).toEqual({ ...base, ...sent })
    },
  )

  test("a message whose type is null, as some clients write fields that are not set, was refused", async () => {
    const response = await postResponses(gateway, { input: [{ type: null, id: null, role: "user", content: "hi" }] })
    expect(response.status).toBe(200)
    expect(host.calls.at(-1)?.body).toEqual(base)
  })

  test.each(refused)("is refused, and no host called: %j at %s", async (given, path, says) => {
    const calls = host.calls.length
    const response = await postResponses(gateway, given)
    const { code, metadata, message } = await errorOf(response)
    expect([code, metadata?.["path"]]).toEqual([400, path])
    expect(message).toContain(says)
    expect(host.calls.length).toBe(calls)
  })

  test.each(onlyOfForm)("leaves hosts of other forms out of the plan: %j at %s", async (given, path) => {
    const calls = host.calls.length
    const { code, metadata, message } = await errorOf(await postResponses(gateway, given))
    expect([code, metadata?.["excluded_by"]]).toEqual([404, ["form"]])
    expect(message).toContain(`that can carry ${path}: only hosts of the Responses form`)
    expect(host.calls.length).toBe(calls)
  })

  test.each(dropped)("is not sent, and the caller is told: %j", async (given, names) => {
    const response = await postResponses(gateway, given)
    expect([response.status, response.headers.get("x-gw-dropped")]).toEqual([200, names])
  })
})
