import { describe, expect, test } from "bun:test"
import * as Either from "effect/Either"
import type { Host, JsonObject } from "headgate/plugin"
import { encodedBy, hostFor, requestWith } from "../../../test/support/recordings/recordings.ts"
import { converse } from "./converse.ts"

// What a test reads of a body it checks itself.
// biome-ignore lint/suspicious/noExplicitAny: see above
type Anything = any

const claude = "anthropic.claude-sonnet-4-5-20250929-v1:0"
const nova = "us.amazon.nova-2-lite-v1:0"
const llama = "meta.llama3-3-70b-instruct-v1:0"
const user = { role: "user", content: "Hi" }

const sent = (body: JsonObject, model: string | Host = claude, more: Anything = {}): Anything => {
  const host = typeof model === "string" ? hostFor(model) : model
  return encodedBy(converse, requestWith({ messages: [user], ...body }, more), host)
}

const unsupported = (body: JsonObject, model = claude): Anything =>
  Either.match(converse.encode(requestWith({ messages: [user], ...body }), hostFor(model)), {
    onLeft: ({ path, reason }) => [path, reason],
    onRight: () => "carried",
  })

const weather = { type: "function", function: { name: "weather", parameters: { properties: { city: {} } } } }
const called = { id: "call.1", type: "function", function: { name: "weather", arguments: '{"city":"Oslo"}' } }
/** Of `called`, whose own id has a character that the host refuses. */
const shortId = "call_e8b7b7b3793f991dd79d37cbf2fd785d"
const asked = [
  user,
  { role: "assistant", content: null, tool_calls: [called] },
  { role: "tool", tool_call_id: "call.1", content: "12" },
]

describe("a request", () => {
  test.each([
    [claude, false, "/model/anthropic.claude-sonnet-4-5-20250929-v1%3A0/converse"],
    [
      "arn:aws:bedrock:us-east-1:1:inference-profile/a",
      true,
      "/model/arn%3Aaws%3Abedrock%3Aus-east-1%3A1%3Ainference-profile%2Fa/converse-stream",
    ],
  ])("to %s (stream: %p) goes to %s", (model, stream, path) => {
    expect(sent({}, model, { stream }).path).toBe(path)
    expect(sent({}, model, { stream }).headers?.accept).toBe(stream ? "application/vnd.amazon.eventstream" : undefined)
  })

  test("carries a conversation: instructions apart, one turn for each change of role", () => {
    const messages = [
      { role: "system", content: "Be brief." },
      ...asked,
      {
        role: "tool",
        tool_call_id: "b",
        content: [
          { type: "text", text: "no" },
          { type: "image_url", image_url: { url: "data:image/png;base64,AAAA" } },
        ],
        is_error: true,
      },
      {
        role: "user",
        content: [
          { type: "text", text: " " },
          { type: "text", text: "And?" },
        ],
      },
      { role: "assistant", content: "It is \n" },
    ]
    const { body, dropped } = sent({ messages, tools: [weather], stop: "END", temperature: 0.5, max_tokens: 7 })
    expect(dropped).toEqual([])
    expect(body).toEqual({
      system: [{ text: "Be brief." }],
      messages: [
        { role: "user", content: [{ text: "Hi" }] },
        {
          role: "assistant",
          content: [{ toolUse: { toolUseId: shortId, name: "weather", input: { city: "Oslo" } } }],
        },
        {
          role: "user",
          content: [
            { toolResult: { toolUseId: shortId, content: [{ text: "12" }] } },
            {
              toolResult: {
                toolUseId: "b",
                content: [{ text: "no" }, { image: { format: "png", source: { bytes: "AAAA" } } }],
                status: "error",
              },
            },
            { text: "And?" },
          ],
        },
        { role: "assistant", content: [{ text: "It is" }] },
      ],
      inferenceConfig: { maxTokens: 16_384, temperature: 0.5, stopSequences: ["END"] },
      toolConfig: {
        tools: [{ toolSpec: { name: "weather", inputSchema: { json: { type: "object", properties: { city: {} } } } } }],
      },
    })
  })

  test("is bounded by the gateway's bound, and by the host's", () => {
    expect(sent({}, claude, { maxTokens: 100 }).body.inferenceConfig).toEqual({ maxTokens: 100 })
    expect(sent({}, claude, { maxTokens: 100_000 }).body.inferenceConfig).toEqual({ maxTokens: 16_384 })
  })

  test.each([
    [
      { type: "image_url", image_url: { url: "data:image/jpg;base64,AA" } },
      { image: { format: "jpeg", source: { bytes: "AA" } } },
    ],
    [
      { type: "image_url", image_url: { url: "s3://b/a.webp" } },
      { image: { format: "webp", source: { s3Location: { uri: "s3://b/a.webp" } } } },
    ],
    [
      { type: "file", file: { filename: "Ä report_v1.pdf", file_data: "data:application/pdf;base64,AA" } },
      { document: { format: "pdf", name: "- report-v1-pdf", source: { bytes: "AA" } } },
    ],
    [
      { type: "file", file: { file_data: "data:text/plain,a%20b" } },
      { document: { format: "txt", name: "document", source: { bytes: "YSBi" } } },
    ],
    [
      { type: "file", file: { file_data: "s3://b/a.xlsx", filename: "a" } },
      { document: { format: "xlsx", name: "a", source: { s3Location: { uri: "s3://b/a.xlsx" } } } },
    ],
    [
      { type: "file", file: { file_data: "data:image/gif;base64,AA" } },
      { image: { format: "gif", source: { bytes: "AA" } } },
    ],
    [
      { type: "video_url", video_url: { url: "data:video/quicktime;base64,AA" } },
      { video: { format: "mov", source: { bytes: "AA" } } },
    ],
    [
      { type: "input_video", video_url: { url: "s3://b/a.3gp" } },
      { video: { format: "three_gp", source: { s3Location: { uri: "s3://b/a.3gp" } } } },
    ],
    [
      { type: "input_audio", input_audio: { data: "AA", format: "mp3" } },
      { audio: { format: "mp3", source: { bytes: "AA" } } },
    ],
  ])("carries %j", (part, block) => {
    const [written, beside] = sent({ messages: [{ role: "user", content: [part] }] }, nova).body.messages[0].content
    expect(written).toEqual(block)
    expect(beside).toEqual("document" in block ? { text: "See the document." } : undefined)
  })

  test.each([
    [{ type: "image_url", image_url: { url: "https://example.com/a.png" } }],
    [{ type: "image_url", image_url: { url: "data:image/tiff;base64,AA" } }],
    [{ type: "file", file: { file_id: "file_1" } }],
    [{ type: "file", file: { file_data: "https://example.com/a.pdf" } }],
    [{ type: "file", file: { file_data: "data:application/zip;base64,AA" } }],
    [{ type: "video_url", video_url: { url: "https://example.com/a.mp4" } }],
    [{ type: "input_audio", input_audio: { data: "AA", format: "midi" } }],
    [{ type: "hologram" }],
  ])("refuses %j, and says where it is", (part) => {
    const messages = [user, { role: "user", content: [{ type: "text", text: "x" }, part] }]
    expect(unsupported({ messages })).toEqual(["messages[1].content[1]", expect.stringMatching(/^[^.]+$/)])
  })

  test("documents get names that differ", () => {
    const part = { type: "file", file: { filename: "a", file_data: "data:text/plain,a" } }
    const messages = [
      { role: "user", content: [part, part] },
      { role: "assistant", content: "x" },
      { role: "user", content: [part] },
    ]
    const names = sent({ messages }).body.messages.flatMap(({ content }: Anything) =>
      content.flatMap((block: Anything) => block.document?.name ?? []),
    )
    expect(names).toEqual(["a", "a (2)", "a (3)"])
  })

  test.each([
    ["auto", { auto: {} }],
    ["required", { any: {} }],
    [{ type: "function", function: { name: "weather" } }, { tool: { name: "weather" } }],
  ])("the choice %j is %j", (choice, written) => {
    expect(sent({ tools: [weather], tool_choice: choice }).body.toolConfig.toolChoice).toEqual(written)
  })

  test("no tools may be called: they are left out, but for conversations that need them", () => {
    expect(sent({ tools: [weather], tool_choice: "none" }).body.toolConfig).toBeUndefined()
    expect(unsupported({ tools: [{ type: "web_search" }] })[0]).toBe("tools[0]")
    expect(unsupported({ tools: [weather], tool_choice: { type: "other" } })[0]).toBe("tool_choice")
    const foreign = { role: "assistant", tool_calls: [{ type: "custom", id: "a" }] }
    expect(unsupported({ messages: [user, foreign], tools: [weather] })[0]).toBe("messages[1].tool_calls[0]")
  })

  test("tools that the history calls are declared where the request has none, as in an agent's summary", () => {
    const declared = [{ toolSpec: { name: "weather", inputSchema: { json: { type: "object", properties: {} } } } }]
    const forbidden = { tool_choice: { type: "none" } }
    const summary = sent({ messages: asked })
    expect(summary.body.toolConfig).toEqual({ tools: declared })
    expect(summary.body.additionalModelRequestFields).toEqual(forbidden)
    expect(summary.dropped).toEqual([])
    const ofNova = sent({ messages: asked }, nova)
    expect(ofNova.body.toolConfig).toEqual({ tools: declared })
    expect(ofNova.dropped).toEqual([])
  })

  test("a conversation with calls whose tools may not be called: said in Claude's words, and dropped for others", () => {
    const body = { messages: asked, tools: [weather], tool_choice: "none" }
    const told = sent(body)
    expect(told.body.toolConfig.tools[0].toolSpec.inputSchema.json.properties).toEqual({ city: {} })
    expect(told.body.toolConfig.toolChoice).toBeUndefined()
    expect(told.body.additionalModelRequestFields).toEqual({ tool_choice: { type: "none" } })
    expect(told.dropped).toEqual([])
    expect(sent(body, nova).dropped).toEqual(["tool_choice"])
  })

  test("tools that are allowed are the ones that are offered; a custom tool is a function with one text", () => {
    const other = { type: "function", function: { name: "other" } }
    const custom = { type: "custom", custom: { name: "patch" } }
    const chosen = (...tools: ReadonlyArray<JsonObject>) => ({
      tools: [other, weather, custom],
      tool_choice: { type: "allowed_tools", allowed_tools: { mode: "required", tools } },
    })
    const namesIn = ({ body }: Anything) => body.toolConfig.tools.map(({ toolSpec }: Anything) => toolSpec.name)
    const written = sent(chosen({ type: "function", function: { name: "weather" } }))
    expect(namesIn(written)).toEqual(["weather"])
    expect(written.body.toolConfig.toolChoice).toEqual({ any: {} })
    expect(written.dropped).toEqual([])
    const call = { type: "custom", id: "c1", custom: { name: "patch", input: "a" } }
    const messages = [
      user,
      { role: "assistant", tool_calls: [call] },
      { role: "tool", tool_call_id: "c1", content: "ok" },
    ]
    const patching = sent({ messages, ...chosen(custom) })
    expect(namesIn(patching)).toEqual(["patch"])
    expect(patching.body.messages[1].content[0].toolUse).toMatchObject({ name: "patch", input: { input: "a" } })
  })

  test("thinking goes back where it was said; where a client lost the order, it is left out, and named", () => {
    const reasoning = (text: string, index: number) => ({
      ...{ type: "reasoning.text", format: "anthropic-claude-v1", index, text, signature: text },
    })
    const second = { ...called, id: "b" }
    const data = JSON.stringify([
      ...[
        ["reasoning", 1, "A", 0],
        ["call", "call.1"],
        ["reasoning", 1, "B", 0],
        ["text", 2],
        ["call", "b"],
      ],
    ])
    const entry = { type: "reasoning.encrypted", id: "headgate-order", format: "unknown", index: 5, data }
    const details = [reasoning("A", 0), reasoning("B", 2)]
    const said = (reasoning_details: ReadonlyArray<JsonObject>) => ({
      messages: [user, { role: "assistant", content: "so", tool_calls: [called, second], reasoning_details }, user],
      tools: [weather],
    })
    const kinds = ({ body }: Anything) => body.messages[1].content.map((block: JsonObject) => Object.keys(block)[0])
    const inOrder = sent(said([...details, entry]))
    expect(kinds(inOrder)).toEqual(["reasoningContent", "toolUse", "reasoningContent", "text", "toolUse"])
    expect(inOrder.dropped).toEqual([])
    const lost = sent(said(details))
    expect(kinds(lost)).toEqual(["text", "toolUse", "toolUse"])
    expect(lost.dropped).toEqual(["order"])
  })

  test("a note between two results comes behind both; a blank last message stays the user's turn", () => {
    const messages = [
      ...[user, { role: "assistant", tool_calls: [called, { ...called, id: "b" }] }],
      ...[{ role: "tool", tool_call_id: "call.1", content: "1" }, user],
      ...[{ role: "tool", tool_call_id: "b", content: "2" }],
    ]
    const [, , turn] = sent({ messages, tools: [weather] }).body.messages
    expect(turn.content.map((block: JsonObject) => Object.keys(block)[0])).toEqual(["toolResult", "toolResult", "text"])
    const blank = [user, { role: "assistant", content: "Hi" }, { role: "user", content: " " }]
    expect(sent({ messages: blank }).body.messages.at(-1)).toEqual({
      role: "user",
      content: [{ text: "Please continue." }],
    })
  })

  test("a refusal is text; a name, the detail of an image and images that a model made are named as dropped", () => {
    const image = { type: "image_url", image_url: { url: "data:image/jpeg;base64,iVBORw0KGgoAAA", detail: "high" } }
    const { body, dropped } = sent({
      messages: [
        { ...user, name: "Ada", content: [image] },
        { role: "assistant", refusal: "No.", images: [image] },
        user,
      ],
    })
    expect(body.messages[0].content[0].image.format).toBe("png")
    expect(body.messages[1].content).toEqual([{ text: "No." }])
    expect(dropped).toEqual(["messages[0].name", "messages[0].content[0].image_url.detail", "messages[1].images"])
  })

  test("blank stop sequences are left out, and named", () => {
    const { body, dropped } = sent({ stop: ["\n", "END"] })
    expect(body.inferenceConfig.stopSequences).toEqual(["END"])
    expect(dropped).toEqual(["stop"])
  })

  test("one call at a time: in Claude's words, and dropped for others", () => {
    const one = sent({ tools: [weather], tool_choice: "required", parallel_tool_calls: false })
    expect(one.body.toolConfig.toolChoice).toBeUndefined()
    expect(one.body.additionalModelRequestFields).toEqual({
      tool_choice: { type: "any", disable_parallel_tool_use: true },
    })
    expect(one.dropped).toEqual([])
    expect(sent({ tools: [weather], parallel_tool_calls: false }, nova).dropped).toEqual(["parallel_tool_calls"])
  })

  test("strict tools where the host has structured outputs", () => {
    const strict = { type: "function", function: { name: "a", strict: true } }
    const host = { ...hostFor(claude), supportedParameters: ["tools", "structured_outputs"] }
    expect(sent({ tools: [strict] }, host).body.toolConfig.tools[0].toolSpec.strict).toBe(true)
    expect(sent({ tools: [strict] }).body.toolConfig.tools[0].toolSpec.strict).toBeUndefined()
  })

  test("a schema is sent as text; an object without one is dropped", () => {
    const json_schema = { name: "city", description: "A city", schema: { type: "object" } }
    expect(sent({ response_format: { type: "json_schema", json_schema } }).body.outputConfig).toEqual({
      textFormat: {
        type: "json_schema",
        structure: {
          jsonSchema: { name: "city", description: "A city", schema: '{"type":"object","additionalProperties":false}' },
        },
      },
    })
    expect(sent({ response_format: { type: "json_object" } }).dropped).toEqual(["response_format"])
    expect(sent({ response_format: { type: "text" } }).dropped).toEqual([])
  })

  test("marks of a cache become cache points, where models have them", () => {
    const mark = { cache_control: { type: "ephemeral" } }
    const hour = { cache_control: { type: "ephemeral", ttl: "1h" } }
    const body = {
      messages: [
        { role: "system", content: [{ type: "text", text: "a", ...hour }] },
        { ...user, content: [{ type: "text", text: "b", ...mark }] },
        { role: "assistant", tool_calls: [called] },
        { role: "tool", tool_call_id: "call.1", content: [{ type: "text", text: "12", ...mark }] },
      ],
      tools: [{ ...weather, ...mark }],
    }
    const point = { cachePoint: { type: "default" } }
    const { system, messages, toolConfig } = sent(body).body
    expect(system).toEqual([{ text: "a" }, { cachePoint: { type: "default", ttl: "1h" } }])
    expect(messages[0].content).toEqual([{ text: "b" }, point])
    expect(messages[2].content).toEqual([{ toolResult: { toolUseId: shortId, content: [{ text: "12" }] } }, point])
    expect(toolConfig.tools[1]).toEqual(point)
    const ofNova = sent(body, nova).body
    expect(ofNova.system).toEqual([{ text: "a" }, point])
    expect(ofNova.messages[0].content).toEqual([{ text: "b" }, point])
    expect(JSON.stringify([ofNova.messages.slice(1), ofNova.toolConfig])).not.toContain("cachePoint")
    expect(JSON.stringify(sent(body, llama).body)).not.toContain("cachePoint")
  })

  test("reasoning goes back byte for byte, in the order of its blocks, to those who can read it", () => {
    const details = [
      { type: "reasoning.text", format: "anthropic-claude-v1", index: 0, text: "Rome, " },
      { type: "reasoning.text", format: "anthropic-claude-v1", index: 0, text: "then." },
      { type: "reasoning.text", format: "anthropic-claude-v1", index: 0, signature: "c2ln+/=" },
      { type: "reasoning.encrypted", format: "amazon-bedrock-v1", index: 1, data: "aGlk" },
      { type: "reasoning.text", format: "google-gemini-v1", index: 2, text: "foreign", signature: "x" },
      { type: "reasoning.text", format: "anthropic-claude-v1", index: 3, text: "unsigned" },
    ]
    const messages = [user, { role: "assistant", content: "x", reasoning_details: details }, user]
    expect(sent({ messages }).body.messages[1].content).toEqual([
      { reasoningContent: { reasoningText: { text: "Rome, then.", signature: "c2ln+/=" } } },
      { reasoningContent: { redactedContent: "aGlk" } },
      { text: "x" },
    ])
    expect(sent({ messages }, llama).body.messages[1].content).toEqual([
      { reasoningContent: { redactedContent: "aGlk" } },
      { text: "x" },
    ])
  })

  test("names what it leaves out", () => {
    const body = {
      seed: 1,
      user: "u",
      metadata: { a: "b" },
      guardrailConfig: {},
      additionalModelRequestFields: {},
      top_k: 5,
    }
    expect(sent(body, llama).dropped.toSorted()).toEqual(Object.keys(body).toSorted())
    expect(sent({ service_tier: "flex" }).body.serviceTier).toEqual({ type: "flex" })
    expect(sent({ service_tier: "scale" }).dropped).toEqual(["service_tier"])
  })
})

describe("reasoning and sampling", () => {
  const fields = (body: JsonObject, model: string, more = {}) => {
    const { body: written, dropped } = sent(body, model, { maxTokens: 10_000, ...more })
    return { ...written.inferenceConfig, ...written.additionalModelRequestFields, dropped }
  }
  const bound = { maxTokens: 10_000 }

  test.each<[string, JsonObject, string, JsonObject]>([
    [
      "a budget",
      { reasoning: { max_tokens: 2000 }, temperature: 0.5 },
      claude,
      { thinking: { type: "enabled", budget_tokens: 2000 }, dropped: ["temperature"] },
    ],
    [
      "an effort as a budget",
      { reasoning_effort: "medium" },
      claude,
      { thinking: { type: "enabled", budget_tokens: 5000 }, dropped: [] },
    ],
    [
      "no thinking",
      { temperature: 1.5, top_p: 0.5, top_k: 7 },
      claude,
      { temperature: 1, top_k: 7, dropped: ["top_p"] },
    ],
    [
      "adaptive thinking",
      { reasoning_effort: "high" },
      "us.anthropic.claude-opus-4-7",
      { thinking: { type: "adaptive", display: "summarized" }, output_config: { effort: "high" }, dropped: [] },
    ],
    [
      "no adaptive thinking of a chat client at Claude 4.5, which refuses it",
      { thinking: { type: "adaptive" } },
      "anthropic.claude-opus-4-5-v1:0",
      { thinking: undefined, dropped: ["thinking"] },
    ],
    [
      "thinking off",
      { reasoning_effort: "none" },
      "us.anthropic.claude-opus-4-7",
      { thinking: { type: "disabled" }, dropped: [] },
    ],
    [
      "Nova's effort",
      { reasoning_effort: "high", top_k: 7, top_p: 0.5 },
      nova,
      {
        reasoningConfig: { type: "enabled", maxReasoningEffort: "medium" },
        inferenceConfig: { topK: 7 },
        topP: 0.5,
        dropped: [],
      },
    ],
    ["Nova without reasoning", { reasoning: { effort: "low" } }, "amazon.nova-pro-v1:0", { dropped: ["reasoning"] }],
    [
      "an open model's effort",
      { reasoning_effort: "minimal" },
      "openai.gpt-oss-120b-1:0",
      { reasoning_effort: "low", dropped: [] },
    ],
    ["Cohere's k", { top_k: 7 }, "cohere.command-r-plus-v1:0", { k: 7, dropped: [] }],
    [
      "another model",
      { reasoning_effort: "low", temperature: 2, top_p: 0.5 },
      llama,
      { temperature: 1, topP: 0.5, dropped: ["reasoning_effort"] },
    ],
  ])("%s", (_, body, model, expected) => expect(fields(body, model)).toEqual({ ...bound, ...expected }))

  test("no budget where a tool must be called, or where a result lacks its thinking", () => {
    expect(fields({ reasoning_effort: "high", tools: [weather], tool_choice: "required" }, claude)).toEqual({
      ...bound,
      dropped: ["reasoning_effort"],
    })
    expect(fields({ reasoning_effort: "high", tools: [weather], messages: asked }, claude)).toEqual({
      ...bound,
      dropped: ["reasoning_effort"],
    })
    const thought = { type: "reasoning.text", format: "anthropic-claude-v1", index: 0, text: "a", signature: "b" }
    const [first, answer, result] = asked
    const messages = [first, { ...answer, reasoning_details: [thought] }, result]
    expect(fields({ reasoning_effort: "high", tools: [weather], messages }, claude)).toMatchObject({
      thinking: { type: "enabled" },
    })
  })

  test("an ARN says nothing of the model, our own name does", () => {
    const host = {
      ...hostFor("arn:aws:bedrock:us-east-1:1:application-inference-profile/x"),
      model: "anthropic/claude-opus-4.7" as Host["model"],
    }
    const { body } = sent({ reasoning_effort: "low" }, host)
    expect(body.additionalModelRequestFields).toMatchObject({ thinking: { type: "adaptive" } })
  })
})

describe("Nova's schemas", () => {
  const parametersFor = (parameters: JsonObject) => {
    const tools = [{ type: "function", function: { name: "f", parameters } }]
    return sent({ tools }, nova).body.toolConfig.tools[0].toolSpec.inputSchema.json
  }

  test("have type, properties and required alone, and no references", () => {
    const place = { type: "object", properties: { city: { type: "string" } }, additionalProperties: false }
    const schema = {
      ...{ $schema: "https://json-schema.org/draft/2020-12/schema", title: "F", additionalProperties: false },
      ...{ type: "object", required: ["at"], $defs: { Place: place } },
      properties: {
        at: { $ref: "#/$defs/Place", description: "Where." },
        all: { type: "array", items: { $ref: "#/$defs/Place" } },
      },
    }
    expect(parametersFor(schema)).toEqual({
      type: "object",
      properties: { at: { ...place, description: "Where." }, all: { type: "array", items: place } },
      required: ["at"],
    })
  })

  test("end where a reference is within itself, or stands for too much", () => {
    const node = { type: "object", properties: { next: { $ref: "#/definitions/Node" } } }
    const { properties } = parametersFor({ ...node, definitions: { Node: node } })
    expect(properties).toEqual({ next: { type: "object", properties: { next: {} } } })
    const level = (at: number) => ({
      type: "object",
      properties: { a: { $ref: `#/$defs/L${at}` }, b: { $ref: `#/$defs/L${at}` } },
    })
    const levels = Object.fromEntries(Array.from({ length: 40 }, (_, at) => [`L${at}`, level(at + 1)]))
    expect(JSON.stringify(parametersFor({ ...level(0), $defs: levels })).length).toBeLessThan(200_000)
  })
})
