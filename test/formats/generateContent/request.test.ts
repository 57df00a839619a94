/** What Google is sent. */
import { describe, expect, test } from "bun:test"
import type { JsonObject } from "../../../src/domain/json/json.ts"
import { encoded, refused, sent, sentAny, user } from "./build.ts"

const call = (id: string, name = "look", args = "{}"): JsonObject => ({
  id,
  type: "function",
  function: { name, arguments: args },
})
const calling = (...calls: ReadonlyArray<JsonObject>): JsonObject => ({
  role: "assistant",
  content: null,
  tool_calls: calls,
})
const result = (id: string, content: unknown, more: JsonObject = {}): JsonObject => ({
  role: "tool",
  tool_call_id: id,
  content,
  ...more,
})
const tool = (name: string, parameters?: JsonObject): JsonObject => ({
  type: "function",
  function: { name, description: `Does ${name}`, ...(parameters === undefined ? {} : { parameters }) },
})
const schema = {
  type: "object",
  properties: { city: { type: "string" } },
  required: ["city"],
  additionalProperties: false,
}
const png = "data:image/png;base64,AAAA"

describe("where a request goes", () => {
  test.each<[string, boolean, boolean, string]>([
    ["gemini-2.5-pro", false, false, "/models/gemini-2.5-pro:generateContent"],
    ["gemini-2.5-pro", false, true, "/models/gemini-2.5-pro:streamGenerateContent?alt=sse"],
    ["gemini-2.5-pro", true, true, "/publishers/google/models/gemini-2.5-pro:streamGenerateContent?alt=sse"],
    ["tunedModels/mine", false, false, "/tunedModels/mine:generateContent"],
    ["endpoints/77", true, false, "/endpoints/77:generateContent"],
    ["a?b", false, false, "/models/a%3Fb:generateContent"],
  ])("%s, Vertex %p, stream %p", (model, vertex, stream, path) => {
    expect(encoded({}, { model, vertex, more: { stream } }).path).toBe(path)
  })
})

describe("messages", () => {
  test("instructions in front stand apart, turns of one role are one, blank texts are left out", () => {
    const messages = [
      { role: "system", content: "Be brief." },
      user("a"),
      user([
        { type: "text", text: "b" },
        { type: "text", text: "" },
      ]),
      { role: "assistant", content: "c" },
      { role: "developer", content: [{ type: "text", text: "In French." }] },
      { role: "assistant", content: "d" },
    ]
    expect(sent({ messages })).toEqual({
      systemInstruction: { parts: [{ text: "Be brief." }] },
      contents: [
        { role: "user", parts: [{ text: "a" }, { text: "b" }] },
        { role: "model", parts: [{ text: "c" }] },
        { role: "user", parts: [{ text: "<system-reminder>\nIn French.\n</system-reminder>" }] },
        { role: "model", parts: [{ text: "d" }] },
      ],
    })
  })

  test("instructions alone are the user's turn", () => {
    expect(sent({ messages: [{ role: "system", content: "Hi" }] })).toEqual({
      contents: [{ role: "user", parts: [{ text: "Hi" }] }],
    })
  })

  test("calls and their results, with names, arguments as objects, and ids from Gemini 3 on", () => {
    const messages = [
      user("Look"),
      calling(call("1", "weather", '{"city":"Oslo"}'), call("2", "time", "")),
      result("1", "12 degrees"),
      result("2", '{"hour":7}'),
      user("And?"),
    ]
    expect(sent({ messages })["contents"]).toEqual([
      { role: "user", parts: [{ text: "Look" }] },
      {
        role: "model",
        parts: [
          { functionCall: { name: "weather", args: { city: "Oslo" } } },
          { functionCall: { name: "time", args: {} } },
        ],
      },
      {
        role: "user",
        parts: [
          { functionResponse: { name: "weather", response: { result: "12 degrees" } } },
          { functionResponse: { name: "time", response: { hour: 7 } } },
        ],
      },
      { role: "user", parts: [{ text: "And?" }] },
    ])
    const { contents } = sentAny({ messages }, { model: "gemini-3-pro" })
    expect(contents[1].parts).toMatchObject([{ functionCall: { id: "1" } }, { functionCall: { id: "2" } }])
    expect(contents[2].parts).toMatchObject([{ functionResponse: { id: "1" } }, { functionResponse: { id: "2" } }])
  })

  test.each<[string, unknown, JsonObject, JsonObject]>([
    ["a list", "[1]", {}, { result: [1] }],
    ["text", "fine", {}, { result: "fine" }],
    [
      "numbers that JavaScript cannot hold",
      '{"id":12345678901234567890}',
      {},
      { result: '{"id":12345678901234567890}' },
    ],
    ["an error", "no", { is_error: true }, { error: "no" }],
    ["nothing", "", {}, { result: "" }],
    [
      "parts",
      [
        { type: "text", text: '{"a":' },
        { type: "text", text: "1}" },
      ],
      {},
      { a: 1 },
    ],
  ])("a result that is %s", (_, content, more, response) => {
    const { contents } = sentAny({ messages: [user("x"), calling(call("1")), result("1", content, more)] })
    expect(contents[2].parts).toEqual([{ functionResponse: { name: "look", response } }])
  })

  const withImage = [
    user("x"),
    calling(call("1"), call("2")),
    result("1", [
      { type: "text", text: "seen" },
      { type: "image_url", image_url: { url: png } },
    ]),
    result("2", [{ type: "input_audio", input_audio: { data: "BBBB", format: "mp3" } }]),
    user("go on"),
  ]
  const image = { inlineData: { mimeType: "image/png", data: "AAAA" } }
  const audio = { inlineData: { mimeType: "audio/mpeg", data: "BBBB" } }
  const [seen, heard] = [
    { id: "1", name: "look", response: { result: "seen" } },
    { id: "2", name: "look", response: { result: "" } },
  ]

  test("images of results: within them from Gemini 3 on; other media follow", () => {
    expect(sentAny({ messages: withImage }, { model: "gemini-3-flash-preview" }).contents.slice(2)).toEqual([
      { role: "user", parts: [{ functionResponse: { ...seen, parts: [image] } }, { functionResponse: heard }] },
      { role: "user", parts: [audio, { text: "go on" }] },
    ])
  })

  test("images of results before Gemini 3 follow all results", () => {
    expect(sentAny({ messages: withImage }).contents.slice(2)).toEqual([
      { role: "user", parts: [seen, heard].map(({ id: _, ...own }) => ({ functionResponse: own })) },
      { role: "user", parts: [image, audio, { text: "go on" }] },
    ])
  })

  test.each<[string, JsonObject, JsonObject]>([
    [
      "an image",
      { type: "image_url", image_url: { url: "data:image/jpg;base64,AA" } },
      { inlineData: { mimeType: "image/jpeg", data: "AA" } },
    ],
    [
      "an image's address",
      { type: "image_url", image_url: { url: "https://a.example/b.webp?c=d.png" } },
      { fileData: { mimeType: "image/webp", fileUri: "https://a.example/b.webp?c=d.png" } },
    ],
    [
      "a video of YouTube",
      { type: "video_url", video_url: { url: "https://www.youtube.com/watch?v=x" } },
      { fileData: { fileUri: "https://www.youtube.com/watch?v=x" } },
    ],
    [
      "a video",
      { type: "video_url", video_url: { url: "data:video/webm;base64,AA" } },
      { inlineData: { mimeType: "video/webm", data: "AA" } },
    ],
    [
      "audio",
      { type: "input_audio", input_audio: { data: "AA", format: "wav" } },
      { inlineData: { mimeType: "audio/wav", data: "AA" } },
    ],
    [
      "a PDF",
      { type: "file", file: { file_data: "data:application/pdf;base64,AA" } },
      { inlineData: { mimeType: "application/pdf", data: "AA" } },
    ],
    [
      "bare base64",
      { type: "file", file: { file_data: "JVBERi0=" } },
      { inlineData: { mimeType: "application/pdf", data: "JVBERi0=" } },
    ],
    [
      "JSON",
      { type: "file", file: { file_data: "data:application/json,%7B%7D" } },
      { inlineData: { mimeType: "text/plain", data: "e30=" } },
    ],
  ])("%s", (_, part, expected) => {
    expect(sentAny({ messages: [user([part])] }).contents).toEqual([{ role: "user", parts: [expected] }])
  })

  test.each([
    "https://generativelanguage.googleapis.com/v1beta/files/a",
    "https://GenerativeLanguage.googleapis.com./v1beta/files/a",
    "https://x@us-central1-aiplatform.googleapis.com/v1/a",
    "https://storage.cloud.google.com/b/c.png",
  ])("%s may be what belongs to the operator", (url) => {
    for (const vertex of [false, true]) {
      const messages = [user([{ type: "image_url", image_url: { url } }])]
      expect(refused({ messages }, { vertex })).toBe(
        "messages[0].content[0]: the address is of what belongs to the operator",
      )
    }
  })

  test("so may buckets, for Vertex AI", () => {
    const asked = (file_data: string, vertex: boolean) =>
      refused({ messages: [user([{ type: "file", file: { file_data } }])] }, { vertex })
    const bucket = "https://storage.googleapis.com/b/c.pdf"
    expect(asked(bucket, false)).toBe("carried")
    expect(asked(bucket, true)).toContain("belongs to the operator")
    for (const vertex of [false, true]) expect(asked("gs://b/c.pdf", vertex)).toContain("https addresses only")
  })

  test.each<[string, JsonObject, string]>([
    [
      "http",
      { messages: [user([{ type: "image_url", image_url: { url: "http://a.example/b.png" } }])] },
      "messages[0].content[0]: this host fetches https addresses only",
    ],
    [
      "a stored file",
      { messages: [user([{ type: "file", file: { file_id: "file_1" } }])] },
      "messages[0].content[0]: this host takes files by their data or address",
    ],
    [
      "raw audio",
      { messages: [user([{ type: "input_audio", input_audio: { data: "AA", format: "pcm16" } }])] },
      "messages[0].content[0]: this host takes no raw audio",
    ],
    [
      "a result without a call",
      { messages: [result("9", "x")] },
      "messages[0].tool_call_id: no call in the conversation has this id",
    ],
    [
      "another kind of call",
      { messages: [user("x"), { role: "assistant", tool_calls: [{ type: "custom", id: "1", custom: {} }] }] },
      "messages[1].tool_calls[0]: this host takes calls of functions only",
    ],
    ["another host's tool", { tools: [{ type: "computer_2026" }] }, "tools[0]: this host has no such tool"],
    [
      "another choice",
      { tools: [tool("a")], tool_choice: { type: "other" } },
      "tool_choice: this host has no such choice",
    ],
    [
      "sound as mp3",
      { modalities: ["audio"], audio: { voice: "Kore", format: "mp3" } },
      "audio.format: this host writes pcm16 only",
    ],
  ])("refuses %s", (_, body, expected) => expect(refused(body)).toBe(expected))

  test("models before 2.5 take no addresses", () => {
    const messages = [user([{ type: "image_url", image_url: { url: "https://a.example/b.png" } }])]
    expect(refused({ messages }, { model: "gemini-2.0-flash" })).toContain("embedded media only")
    expect(refused({ messages }, { model: "gemini-2.0-flash", vertex: true })).toBe("carried")
  })
})

describe("tools", () => {
  test("functions are declared by their JSON schema; one without parameters has none", () => {
    expect(sent({ tools: [tool("a", schema), tool("b"), tool("c", {})] })["tools"]).toEqual([
      {
        functionDeclarations: [
          { name: "a", description: "Does a", parametersJsonSchema: schema },
          { name: "b", description: "Does b" },
          { name: "c", description: "Does c" },
        ],
      },
    ])
  })

  test.each<[unknown, JsonObject]>([
    ["none", { mode: "NONE" }],
    ["auto", { mode: "AUTO" }],
    ["required", { mode: "ANY" }],
    [
      { type: "function", function: { name: "b" } },
      { mode: "ANY", allowedFunctionNames: ["b"] },
    ],
    [
      {
        type: "allowed_tools",
        allowed_tools: { mode: "auto", tools: [{ type: "function", function: { name: "a" } }] },
      },
      { mode: "VALIDATED", allowedFunctionNames: ["a"] },
    ],
    [
      {
        type: "allowed_tools",
        allowed_tools: { mode: "required", tools: [{ type: "function", function: { name: "a" } }] },
      },
      { mode: "ANY", allowedFunctionNames: ["a"] },
    ],
    [
      { type: "allowed_tools", mode: "auto", tools: [{ type: "function", name: "a" }] },
      { mode: "VALIDATED", allowedFunctionNames: ["a"] },
    ],
    [
      { type: "allowed_tools", allowed_tools: { mode: "required", tools: [{ type: "function", name: "c" }, null] } },
      { mode: "NONE" },
    ],
  ])("the choice %j", (choice, functionCallingConfig) => {
    const body = sent({ tools: [tool("a"), tool("b")], tool_choice: choice })
    expect(body["toolConfig"]).toEqual({ functionCallingConfig })
  })

  test.each([
    { type: "custom", custom: { name: "a" } },
    { type: "allowed_tools", allowed_tools: { mode: "auto" } },
  ])("a choice that means no function is named as dropped: %j", (choice) => {
    const { body, dropped } = encoded({ tools: [tool("a")], tool_choice: choice })
    expect([body["toolConfig"], dropped]).toEqual([undefined, ["tool_choice"]])
  })

  test("a search, by options or as a tool", () => {
    expect(sent({ web_search_options: {} })["tools"]).toEqual([{ googleSearch: {} }])
    expect(sent({ tools: [{ type: "web_search" }], web_search_options: {} })["tools"]).toEqual([{ googleSearch: {} }])
    expect(sent({ tools: [{ type: "web_search_preview" }, tool("a")] })["tools"]).toEqual([
      { functionDeclarations: [{ name: "a", description: "Does a" }] },
      { googleSearch: {} },
    ])
  })

  test("functions beside a search are announced to the Gemini API from Gemini 3 on", () => {
    const body = { tools: [tool("a")], web_search_options: {} }
    const announced = { includeServerSideToolInvocations: true }
    expect(sent(body, { model: "gemini-3.5-flash" })["toolConfig"]).toEqual(announced)
    expect(sent(body, { model: "gemini-3.5-flash", vertex: true })["toolConfig"]).toBeUndefined()
    expect(sent(body)["toolConfig"]).toBeUndefined()
  })
})

describe("how the answer is made", () => {
  test("every parameter under Google's name", () => {
    const body = {
      ...{ temperature: 0.3, top_p: 0.9, top_k: 40, n: 2, stop: ["END"], seed: 7 },
      ...{ presence_penalty: 0.1, frequency_penalty: 0.2, logprobs: true, top_logprobs: 5 },
      ...{ modalities: ["text", "image"], image_config: { aspect_ratio: "16:9", image_size: "2K" } },
      response_format: { type: "json_schema", json_schema: { name: "x", schema } },
    }
    const { body: written, dropped } = encoded(body, { more: { maxTokens: 80 } })
    expect(dropped).toEqual([])
    expect(written["generationConfig"]).toEqual({
      ...{ maxOutputTokens: 80, temperature: 0.3, topP: 0.9, topK: 40, candidateCount: 2, stopSequences: ["END"] },
      ...{ seed: 7, presencePenalty: 0.1, frequencyPenalty: 0.2, responseLogprobs: true, logprobs: 5 },
      ...{ responseMimeType: "application/json", responseJsonSchema: schema, responseModalities: ["TEXT", "IMAGE"] },
      imageConfig: { aspectRatio: "16:9", imageSize: "2K" },
    })
  })

  test("a single text to stop at, JSON without a schema, a voice; nothing for what means nothing", () => {
    expect(sent({ stop: "END" })["generationConfig"]).toEqual({ stopSequences: ["END"] })
    expect(sent({ response_format: { type: "json_object" } })["generationConfig"]).toEqual({
      responseMimeType: "application/json",
    })
    const audio = { voice: "Kore", format: "pcm16" }
    expect(sent({ modalities: ["audio"], audio })["generationConfig"]).toEqual({
      responseModalities: ["AUDIO"],
      speechConfig: { voiceConfig: { prebuiltVoiceConfig: { voiceName: "Kore" } } },
    })
    const none = {
      top_k: 0,
      n: 1,
      stop: [],
      logprobs: false,
      response_format: { type: "text" },
      parallel_tool_calls: true,
    }
    expect(encoded(none)).toMatchObject({ body: { contents: expect.anything() }, dropped: [] })
    expect(sent(none)["generationConfig"]).toBeUndefined()
  })

  test("what Google does not know is left out and named", () => {
    const lost = {
      ...{ min_p: 0.1, top_a: 0.1, repetition_penalty: 1.1, logit_bias: { "1": 2 }, user: "u", metadata: { a: "b" } },
      ...{ verbosity: "low", parallel_tool_calls: false, prediction: {}, service_tier: "scale", labels: { team: "x" } },
      response_format: { type: "grammar", grammar: "x" },
    }
    const { body, dropped } = encoded(lost)
    expect(dropped?.toSorted()).toEqual(Object.keys(lost).toSorted())
    expect(Object.keys(body)).toEqual(["contents"])
  })

  test("safety settings are passed on; what belongs to the operator is not", () => {
    const safetySettings = [{ category: "c", threshold: "t" }]
    const { body, dropped } = encoded({ safetySettings, cachedContent: "cachedContents/1", labels: { a: "b" } })
    expect(body["safetySettings"]).toEqual(safetySettings)
    expect(dropped).toEqual(["cachedContent", "labels"])
    expect(JSON.stringify(body)).not.toContain("cachedContents/1")
  })

  test("service tiers: a member of the Gemini API, a header of Vertex AI", () => {
    expect(sent({ service_tier: "flex" })["service_tier"]).toBe("flex")
    expect(encoded({ service_tier: "auto" })).toMatchObject({ dropped: [] })
    const { headers, body } = encoded({ service_tier: "priority" }, { vertex: true })
    expect(headers).toEqual({ "x-vertex-ai-llm-shared-request-type": "priority" })
    expect(body["service_tier"]).toBeUndefined()
  })
})

describe("thinking", () => {
  const thinking = (model: string, reasoning: JsonObject, maxTokens = 10_000) =>
    sentAny({ reasoning }, { model, more: { maxTokens } }).generationConfig.thinkingConfig

  test.each<[string, JsonObject, JsonObject | undefined]>([
    ["gemini-2.5-flash", {}, undefined],
    ["gemini-2.5-flash", { effort: "low" }, { includeThoughts: true, thinkingBudget: 2000 }],
    ["gemini-2.5-flash", { max_tokens: 700 }, { includeThoughts: true, thinkingBudget: 700 }],
    ["gemini-2.5-flash", { max_tokens: 99_000 }, { includeThoughts: true, thinkingBudget: 24_576 }],
    ["gemini-2.5-flash", { effort: "none" }, { includeThoughts: false, thinkingBudget: 0 }],
    ["gemini-2.5-flash-lite", { max_tokens: 100 }, { includeThoughts: true, thinkingBudget: 512 }],
    ["gemini-2.5-pro", { enabled: false }, { includeThoughts: false, thinkingBudget: 128 }],
    ["gemini-2.5-pro", { enabled: true }, { includeThoughts: true, thinkingBudget: 5000 }],
    ["gemini-2.5-pro", { effort: "high", exclude: true }, { includeThoughts: false, thinkingBudget: 8000 }],
    ["a-tuned-model", { effort: "medium" }, { includeThoughts: true, thinkingBudget: 5000 }],
    ["gemini-3-pro-preview", { effort: "medium" }, { includeThoughts: true, thinkingLevel: "high" }],
    ["gemini-3-pro-preview", { effort: "none" }, { includeThoughts: false, thinkingLevel: "low" }],
    ["gemini-3.1-pro-preview", { effort: "medium" }, { includeThoughts: true, thinkingLevel: "medium" }],
    ["gemini-3-flash-preview", { effort: "minimal" }, { includeThoughts: true, thinkingLevel: "minimal" }],
    ["gemini-3.5-flash", { max_tokens: 8000 }, { includeThoughts: true, thinkingLevel: "high" }],
    ["gemini-3.5-flash", { max_tokens: 100 }, { includeThoughts: true, thinkingLevel: "minimal" }],
    ["gemini-3.8-flash", { effort: "none" }, { includeThoughts: false, thinkingLevel: "low" }],
    ["gemini-flash-latest", { effort: "xhigh" }, { includeThoughts: true, thinkingLevel: "high" }],
    ["gemini-3-pro-image-preview", { effort: "low" }, { includeThoughts: true }],
    ["gemini-3.1-flash-image-preview", { effort: "low" }, { includeThoughts: true, thinkingLevel: "high" }],
    ["gemma-4-31b-it", { effort: "low" }, { includeThoughts: true, thinkingLevel: "high" }],
  ])("%s, asked for %j", (model, reasoning, expected) => expect(thinking(model, reasoning)).toEqual(expected))

  test("models that cannot think are not asked to, which is said", () => {
    for (const model of ["gemini-2.0-flash", "gemini-2.5-flash-image", "gemma-3-27b-it"]) {
      const { body, dropped } = encoded({ reasoning: { effort: "low" } }, { model })
      expect([body["generationConfig"], dropped]).toEqual([undefined, ["reasoning"]])
      expect(encoded({ reasoning: { effort: "none" } }, { model })).toMatchObject({ dropped: [] })
    }
  })
})

describe("thoughts and signatures of earlier answers", () => {
  const format = "google-gemini-v1"
  const partsFor = (message: JsonObject, model = "gemini-3.5-flash") =>
    sentAny({ messages: [user("x"), { role: "assistant", ...message }, user("y")] }, { model }).contents[1].parts

  test("go back to the parts that they came with", () => {
    const details = [
      { type: "reasoning.text", text: "Hm", format, index: 0 },
      { type: "reasoning.text", text: "m.", format, index: 0 },
      { type: "reasoning.text", text: "Then", signature: "t+/=", format, index: 1 },
      { type: "reasoning.encrypted", data: "s1", id: "text_2_5_abc", format, index: 2 },
      { type: "reasoning.encrypted", data: "s2", id: "call_2", format, index: 3 },
      { type: "reasoning.encrypted", data: "s3", id: "image_0_abc", format, index: 4 },
      { type: "reasoning.encrypted", data: "s4", id: null, format, index: 5 },
      { type: "reasoning.encrypted", data: "other", format: "openai-responses-v1", index: 6 },
    ]
    const message = {
      content: "0123456",
      reasoning: "Hmm.Then",
      reasoning_details: details,
      images: [{ type: "image_url", image_url: { url: png } }],
      tool_calls: [call("call_1", "a", '{"b":1}'), call("call_2", "c")],
    }
    expect(partsFor(message)).toEqual([
      { text: "Hmm.", thought: true },
      { text: "Then", thought: true, thoughtSignature: "t+/=" },
      { text: "01" },
      { text: "234", thoughtSignature: "s1" },
      { text: "56" },
      { inlineData: { mimeType: "image/png", data: "AAAA" }, thoughtSignature: "s3" },
      { text: "", thoughtSignature: "s4" },
      {
        functionCall: { id: "call_1", name: "a", args: { b: 1 } },
        thoughtSignature: "skip_thought_signature_validator",
      },
      { functionCall: { id: "call_2", name: "c", args: {} }, thoughtSignature: "s2" },
    ])
  })

  test("of a text that was changed since: its last part", () => {
    const reasoning_details = [{ type: "reasoning.encrypted", data: "s", id: "text_0_9_a", format, index: 0 }]
    expect(partsFor({ content: "short", reasoning_details })).toEqual([{ text: "short", thoughtSignature: "s" }])
  })

  test("of no other vendor; reasoning without pieces is not sent", () => {
    const reasoning_details = [{ type: "reasoning.text", text: "a", signature: "b", format: "anthropic-claude-v1" }]
    expect(partsFor({ content: "c", reasoning: "a", reasoning_details })).toEqual([{ text: "c" }])
  })

  test("a first call that nobody signed is marked for Gemini 3, and for no other model", () => {
    const message = { tool_calls: [call("1"), call("2")] }
    const signatures = (model: string) => partsFor(message, model).map((part: JsonObject) => part["thoughtSignature"])
    expect(signatures("gemini-3-pro-preview")).toEqual(["skip_thought_signature_validator", undefined])
    expect(signatures("gemini-flash-latest")).toEqual(["skip_thought_signature_validator", undefined])
    expect(signatures("gemini-2.5-pro")).toEqual([undefined, undefined])
    expect(signatures("a-tuned-model")).toEqual([undefined, undefined])
  })
})

describe("what hosts refused or lost", () => {
  const asked = (more: JsonObject, model = "gemini-2.5-pro") =>
    encoded({ tools: [tool("look", schema)], ...more }, { model })
  const json = { response_format: { type: "json_schema", json_schema: { name: "a", schema } } }

  test("H16: Gemini 3 refuses a result with references (`$ref`), so it stays a text", () => {
    const response = (said: string) =>
      sentAny({ messages: [user("x"), calling(call("1")), result("1", said)] }).contents[2].parts[0].functionResponse
        .response
    for (const said of ['{"a":{"$ref":"#/b"}}', '[{"\\u0024defs": {}}]', '{"$schema" :"x","b":1}'])
      expect(response(said)).toEqual({ result: said })
    expect(response('{"a":"$ref"}')).toEqual({ a: "$ref" })
  })

  test("H16: Gemini 2.5 refuses tools together with JSON, so the format is left out and named", () => {
    const { body, dropped } = asked(json)
    expect([body["generationConfig"], dropped]).toEqual([undefined, ["response_format"]])
    expect(body["tools"]).toBeDefined()
    const third = asked(json, "gemini-3.5-flash")
    expect([third.body["generationConfig"], third.dropped]).toMatchObject([{ responseJsonSchema: schema }, []])
    const uncalled = asked({ ...json, tool_choice: "none" })
    expect([uncalled.body["tools"], uncalled.dropped]).toEqual([undefined, []])
    expect(uncalled.body["generationConfig"]).toMatchObject({ responseJsonSchema: schema })
  })

  test("H17: a message between two results made three turns; results come first", () => {
    const messages = [user("x"), calling(call("1"), call("2")), result("1", "a"), user("wait"), result("2", "b")]
    const { contents } = sentAny({ messages })
    expect(contents.map((turn: JsonObject) => turn["role"])).toEqual(["user", "model", "user", "user"])
    expect(contents[2].parts).toHaveLength(2)
    expect(contents[3].parts).toEqual([{ text: "wait" }])
  })

  test("H17: a blank last message of the user vanished, so that the model went on with its own answer", () => {
    const { contents } = sentAny({ messages: [user("x"), { role: "assistant", content: "y" }, user("")] })
    expect(contents.at(-1)).toEqual({ role: "user", parts: [{ text: " " }] })
  })

  test("images of an answer that are not embedded are named, and an empty name is not", () => {
    const images = [png, "https://images.test/a.png"].map((url) => ({ type: "image_url", image_url: { url } }))
    const messages = [user("x"), { role: "assistant", content: "y", images }, { ...user("z"), name: "" }]
    expect(encoded({ messages }).dropped).toEqual(["messages[1].images"])
  })

  test("F7: what Google has no words for is named: strict, a message's name, an image's detail; not custom tools", () => {
    const strict = tool("look", schema)
    const custom = { type: "custom", custom: { name: "sql" } }
    const { body, dropped } = encoded({
      tools: [{ ...strict, function: { ...Object(strict["function"]), strict: true } }, custom],
      messages: [
        { ...user([{ type: "image_url", image_url: { url: png, detail: "high" } }]), name: "Ann" },
        user([{ type: "image_url", image_url: { url: png, detail: "auto" } }]),
      ],
    })
    expect(dropped?.toSorted()).toEqual([
      "messages[0].content[0].image_url.detail",
      "messages[0].name",
      "tools[0].function.strict",
    ])
    const [look, sql] = [{ name: "look" }, { name: "sql" }].map((declared) => expect.objectContaining(declared))
    expect(body["tools"]).toEqual([{ functionDeclarations: [look, sql] }])
  })

  test("F7: a refusal of the assistant vanished, and the two turns of the user were one", () => {
    const { contents } = sentAny({ messages: [user("x"), { role: "assistant", refusal: "No." }, user("y")] })
    expect(contents[1]).toEqual({ role: "model", parts: [{ text: "No." }] })
  })
})
