/** Canonical bodies, and what Anthropic is sent for them. */
import { describe, expect, test } from "bun:test"
import * as Either from "effect/Either"
import { encodedBy, hostFor, requestWith } from "../../support/recordings/recordings.ts"
import {
  assistant,
  cached,
  call,
  encoded,
  expectRow,
  hello,
  messages,
  png,
  type Row,
  result,
  sent,
  strictTool,
  textBlock,
  thought,
  tool,
  toolUse,
  user,
} from "./build.ts"

describe("the envelope of a request", () => {
  test("goes to /messages with the version of the API", () => {
    const request = encodedBy(messages, requestWith({ messages: hello, model: "acme/small" }), hostFor("claude-x"))
    expect(request.path).toBe("/messages")
    expect(request.headers).toEqual({ "anthropic-version": "2023-06-01" })
    expect(request.body).toEqual({
      model: "claude-x",
      max_tokens: 16_384,
      messages: [{ role: "user", content: [textBlock("hello")] }],
    })
  })

  test("asks for the beta of uploaded files", () => {
    const body = { messages: [user([{ type: "file", file: { file_id: "file_1" } }])] }
    const request = encodedBy(messages, requestWith(body), hostFor("claude-x"))
    expect(request.headers?.["anthropic-beta"]).toBe("files-api-2025-04-14")
    expect(request.body["messages"]).toEqual([
      user([{ type: "document", source: { type: "file", file_id: "file_1" } }]),
    ])
  })

  test("is the same twice, and leaves the canonical body as it was", () => {
    const body = {
      messages: [{ role: "system", content: "s" }, user("a"), user("b"), { role: "assistant", content: "c " }],
      tools: [{ type: "function", function: { name: "f" } }],
      output_config: { effort: "low" },
      response_format: { type: "json_schema", json_schema: { name: "x", schema: { type: "object" } } },
    }
    const before = structuredClone(body)
    expect(sent(body)).toEqual(sent(body))
    expect(body).toEqual(before)
  })

  test("streams only when the caller does", () => {
    expect(sent({ messages: hello }, { stream: true })["stream"]).toBe(true)
    expect(sent({ messages: hello, stream: false })).not.toHaveProperty("stream")
  })
})
const messageRows: ReadonlyArray<Row> = [
  {
    name: "system and developer text in front stands apart, later text stays in its place",
    body: {
      messages: [
        ...[{ role: "system", content: "one" }, { role: "developer", content: "two" }, ...hello],
        { role: "developer", content: "three" },
      ],
    },
    expected: {
      system: [textBlock("one"), textBlock("two")],
      messages: [user([textBlock("hello"), textBlock("<system-reminder>\nthree\n</system-reminder>")])],
    },
  },
  {
    name: "system parts keep their cache marks",
    body: { messages: [{ role: "system", content: [{ ...textBlock("one"), cache_control: cached }] }, ...hello] },
    expected: { system: [{ ...textBlock("one"), cache_control: cached }] },
  },
  {
    name: "instructions alone are the question",
    body: { messages: [{ role: "system", content: "one" }] },
    expected: { system: undefined, messages: [user([textBlock("one")])] },
  },
  {
    name: "neighbours of one role are one turn, blank text is none",
    body: { messages: [user("a"), user(""), assistant({ content: " \n" }), user([textBlock("b"), textBlock("  ")])] },
    expected: { messages: [user([textBlock("a"), textBlock("b")])] },
  },
  {
    name: "images by data URL and by address",
    body: {
      messages: [
        user([
          { type: "image_url", image_url: { url: png, detail: "high" }, cache_control: cached },
          { type: "image_url", image_url: { url: "data:image/jpg;base64,BBBB" } },
          { type: "image_url", image_url: { url: "https://example.com/a.png" } },
        ]),
      ],
    },
    expected: {
      messages: [
        user([
          { type: "image", source: { type: "base64", media_type: "image/png", data: "AAAA" }, cache_control: cached },
          { type: "image", source: { type: "base64", media_type: "image/jpeg", data: "BBBB" } },
          { type: "image", source: { type: "url", url: "https://example.com/a.png" } },
        ]),
      ],
    },
    dropped: ["messages[0].content[0].image_url.detail"],
  },
  {
    name: "an image of another type than it says, as its first bytes are",
    body: {
      messages: [
        user(
          ["iVBORw0KGgoAAA", "/9j/4AAQ", "R0lGODlh", "UklGRiQAAABXRUJQVlA4", "Qk0AAA"].map((data) => ({
            ...{ type: "image_url", image_url: { url: `data:image/jpeg;base64,${data}` } },
          })),
        ),
      ],
    },
    expected: {
      messages: [
        user(
          [
            ["image/png", "iVBORw0KGgoAAA"],
            ["image/jpeg", "/9j/4AAQ"],
            ["image/gif", "R0lGODlh"],
            ["image/webp", "UklGRiQAAABXRUJQVlA4"],
            ["image/jpeg", "Qk0AAA"],
          ].map(([media_type, data]) => ({ type: "image", source: { type: "base64", media_type, data } })),
        ),
      ],
    },
  },
  {
    name: "a blank last message stays the user's turn: without it the host would go on with its answer",
    body: { messages: [...hello, assistant({ content: "Hi" }), user(" ")] },
    expected: {
      messages: [
        user([textBlock("hello")]),
        { role: "assistant", content: [textBlock("Hi")] },
        user([textBlock("Please continue.")]),
      ],
    },
  },
  {
    name: "a note between two results comes behind both",
    body: {
      messages: [
        ...hello,
        assistant({ tool_calls: [call("a", "{}"), call("b", "{}")] }),
        result("a", "1"),
        user("note"),
        result("b", "2"),
      ],
    },
    expected: {
      messages: [
        user([textBlock("hello")]),
        { role: "assistant", content: [toolUse("a", {}), toolUse("b", {})] },
        user([
          { type: "tool_result", tool_use_id: "a", content: "1" },
          { type: "tool_result", tool_use_id: "b", content: "2" },
          textBlock("note"),
        ]),
      ],
    },
  },
  {
    name: "a refusal is text; a name is named as dropped",
    body: { messages: [{ ...user("hello"), name: "Ada" }, assistant({ refusal: "No." }), user("why")] },
    expected: {
      messages: [
        user([textBlock("hello")]),
        { role: "assistant", content: [textBlock("No.")] },
        user([textBlock("why")]),
      ],
    },
    dropped: ["messages[0].name"],
  },
  {
    name: "an image that a model made is named as dropped: it was lost in silence",
    body: {
      messages: [
        ...hello,
        assistant({ content: "Here.", images: [{ type: "image_url", image_url: { url: png } }] }),
        user("more"),
      ],
    },
    expected: {
      messages: [
        user([textBlock("hello")]),
        { role: "assistant", content: [textBlock("Here.")] },
        user([textBlock("more")]),
      ],
    },
    dropped: ["messages[1].images"],
  },
  {
    name: "files: PDF, text in two encodings, address",
    body: {
      messages: [
        user([
          { type: "file", file: { filename: "a.pdf", file_data: "data:application/pdf;base64,AAAA" } },
          { type: "file", file: { file_data: "data:text/plain;base64,aMOp" } },
          { type: "file", file: { file_data: "data:text/csv,a%2Cb" } },
          { type: "file", file: { file_data: "https://example.com/b.pdf" } },
        ]),
      ],
    },
    expected: {
      messages: [
        user([
          { type: "document", source: { type: "base64", media_type: "application/pdf", data: "AAAA" }, title: "a.pdf" },
          { type: "document", source: { type: "text", media_type: "text/plain", data: "hé" } },
          { type: "document", source: { type: "text", media_type: "text/plain", data: "a,b" } },
          { type: "document", source: { type: "url", url: "https://example.com/b.pdf" } },
        ]),
      ],
    },
  },
  {
    name: "a block of Anthropic's own passes",
    body: { messages: [user([{ type: "search_result", source: "s", title: "t", content: [textBlock("x")] }])] },
    expected: { messages: [user([{ type: "search_result", source: "s", title: "t", content: [textBlock("x")] }])] },
  },
  {
    name: "tool calls and their results, two results in one turn with what the user says next",
    body: {
      messages: [
        ...hello,
        assistant({ content: "let me see", tool_calls: [call("a", '{"x":1}'), call("b", "")] }),
        result("a", "one"),
        result("b", [textBlock("two"), { type: "image_url", image_url: { url: png } }]),
        user("and?"),
      ],
    },
    expected: {
      messages: [
        user([textBlock("hello")]),
        { role: "assistant", content: [textBlock("let me see"), toolUse("a", { x: 1 }), toolUse("b", {})] },
        user([
          { type: "tool_result", tool_use_id: "a", content: "one" },
          {
            type: "tool_result",
            tool_use_id: "b",
            content: [
              textBlock("two"),
              { type: "image", source: { type: "base64", media_type: "image/png", data: "AAAA" } },
            ],
          },
          textBlock("and?"),
        ]),
      ],
    },
  },
  {
    name: "ids and arguments that the host would refuse, from another host's answer",
    body: {
      messages: [
        ...hello,
        assistant({ tool_calls: [call("functions.f:0", "[1]"), call("x", '{"cut')] }),
        result("functions.f:0", ""),
      ],
    },
    expected: {
      messages: [
        user([textBlock("hello")]),
        {
          role: "assistant",
          content: [
            toolUse("call_d6bdd4de328a22edd610f9548b4f419f", { arguments: [1] }),
            toolUse("x", { arguments: '{"cut' }),
          ],
        },
        user([{ type: "tool_result", tool_use_id: "call_d6bdd4de328a22edd610f9548b4f419f" }]),
      ],
    },
  },
  {
    name: "thinking goes back as it came, fragments of a stream joined, others' reasoning left out",
    body: {
      messages: [
        ...hello,
        assistant({
          content: "4",
          reasoning: "two and two",
          reasoning_details: [
            thought({ index: 0, text: "two and" }),
            thought({ index: 0, text: " two" }),
            thought({ index: 0, signature: "sig0" }),
            { type: "reasoning.encrypted", format: "anthropic-claude-v1", index: 1, data: "hidden" },
            thought({ index: 2, text: "", signature: "sig2" }),
            thought({ index: 3, text: "never signed" }),
            thought({ index: 5, text: "signed", signature: "sig5" }),
            { type: "reasoning.text", format: "unknown", index: 4, text: "else", signature: "x" },
          ],
        }),
        user("sure?"),
      ],
    },
    expected: {
      messages: [
        user([textBlock("hello")]),
        {
          role: "assistant",
          content: [
            { type: "thinking", thinking: "two and two", signature: "sig0" },
            { type: "redacted_thinking", data: "hidden" },
            { type: "thinking", thinking: "", signature: "sig2" },
            { type: "thinking", thinking: "signed", signature: "sig5" },
            textBlock("4"),
          ],
        },
        user([textBlock("sure?")]),
      ],
    },
  },
  {
    name: "a prefill does not end in white space",
    body: { messages: [...hello, assistant({ content: "Answer: \n" })] },
    expected: { messages: [user([textBlock("hello")]), { role: "assistant", content: [textBlock("Answer:")] }] },
  },
]

const patchTool = { name: "patch", input_schema: expect.objectContaining({ required: ["input"] }) }
const plainTool = { name: "f", description: "d", input_schema: { type: "object", properties: {} } }

const fieldRows: ReadonlyArray<Row> = [
  { name: "the caller's max_tokens", body: {}, more: { maxTokens: 5 }, expected: { max_tokens: 5 } },
  { name: "cut to what the host can do", body: {}, more: { maxTokens: 9000 }, expected: { max_tokens: 8000 } },
  { name: "tools", body: { tools: [tool] }, expected: { tools: [plainTool], tool_choice: undefined } },
  {
    name: "strict tools where the model has structured outputs",
    body: { tools: [{ ...strictTool, cache_control: cached }] },
    host: { supportedParameters: ["structured_outputs"] },
    expected: {
      tools: [
        {
          ...plainTool,
          input_schema: { type: "object", properties: {}, additionalProperties: false },
          strict: true,
          cache_control: cached,
        },
      ],
    },
  },
  {
    name: "a strict tool where the model has none is named; a custom tool is a function with one text",
    body: { tools: [strictTool, { type: "custom", custom: { name: "patch" } }] },
    expected: { tools: [plainTool, expect.objectContaining(patchTool)] },
    dropped: ["tools[0].function.strict"],
  },
  {
    name: "a choice of a custom tool is one of its function",
    body: {
      tools: [tool, { type: "custom", custom: { name: "patch" } }],
      tool_choice: { type: "custom", custom: { name: "patch" } },
    },
    expected: {
      tools: [plainTool, expect.objectContaining(patchTool)],
      tool_choice: { type: "tool", name: "patch" },
    },
  },
  ...[
    ["required", "any"],
    ["auto", "auto"],
  ].map(([mode, type]) => ({
    name: `tools that are allowed are the ones that are offered: ${mode}`,
    body: {
      tools: [tool, { type: "function", function: { name: "g" } }],
      tool_choice: {
        type: "allowed_tools",
        allowed_tools: { mode, tools: [{ type: "function", function: { name: "f" } }] },
      },
    },
    expected: { tools: [plainTool], tool_choice: { type } },
  })),
  {
    name: "a JSON Schema with what the host refuses",
    body: {
      response_format: {
        type: "json_schema",
        json_schema: {
          name: "n",
          schema: {
            type: "object",
            properties: {
              minimum: { type: "number", minimum: 1, description: "d" },
              list: { type: "array", minItems: 1, maxItems: 3, items: { type: "object", properties: {} } },
              either: { oneOf: [{ type: "string", minLength: 2 }, { type: ["object", "null"] }] },
            },
            $defs: { d: { type: "object", additionalProperties: { type: "string" } } },
          },
        },
      },
    },
    expected: {
      output_config: {
        format: {
          type: "json_schema",
          schema: {
            type: "object",
            properties: {
              minimum: { type: "number", description: "d\n\n{minimum: 1}" },
              list: {
                ...{ type: "array", minItems: 1, description: "{maxItems: 3}" },
                items: { type: "object", properties: {}, additionalProperties: false },
              },
              either: {
                anyOf: [
                  { type: "string", description: "{minLength: 2}" },
                  { type: ["object", "null"], additionalProperties: false },
                ],
              },
            },
            $defs: { d: { type: "object", additionalProperties: false } },
            additionalProperties: false,
          },
        },
      },
    },
  },
  {
    name: "blank stop sequences, which the host refuses",
    body: { stop: ["\n", "", "END"] },
    expected: { stop_sequences: ["END"] },
    dropped: ["stop"],
  },
  {
    name: "a blank stop sequence alone",
    body: { stop: "\n\n" },
    expected: { stop_sequences: undefined },
    dropped: ["stop"],
  },
  {
    name: "a function without parameters, and a tool of the host's own",
    body: {
      tools: [
        { type: "function", function: { name: "f" } },
        { type: "web_search_20250305", name: "web_search" },
      ],
    },
    expected: {
      tools: [
        { name: "f", input_schema: { type: "object", properties: {} } },
        { type: "web_search_20250305", name: "web_search" },
      ],
    },
  },
  { name: "choice none", body: { tools: [tool], tool_choice: "none" }, expected: { tool_choice: { type: "none" } } },
  { name: "choice auto", body: { tools: [tool], tool_choice: "auto" }, expected: { tool_choice: { type: "auto" } } },
  {
    name: "choice required, one at a time",
    body: { tools: [tool], tool_choice: "required", parallel_tool_calls: false },
    expected: { tool_choice: { type: "any", disable_parallel_tool_use: true }, parallel_tool_calls: undefined },
  },
  {
    name: "a named function",
    body: { tools: [tool], tool_choice: { type: "function", function: { name: "f" } } },
    expected: { tool_choice: { type: "tool", name: "f" } },
  },
  {
    name: "one at a time without a choice",
    body: { tools: [tool], parallel_tool_calls: false },
    expected: { tool_choice: { type: "auto", disable_parallel_tool_use: true } },
  },
  {
    name: "no choice among no tools",
    body: { tools: [], tool_choice: "auto", parallel_tool_calls: false },
    expected: { tools: undefined, tool_choice: undefined },
  },
  { name: "one stop", body: { stop: "x" }, expected: { stop_sequences: ["x"], stop: undefined } },
  { name: "several stops", body: { stop: ["x", "y"] }, expected: { stop_sequences: ["x", "y"] } },
  { name: "no stop", body: { stop: null }, expected: { stop_sequences: undefined, stop: undefined } },
  {
    name: "sampling",
    body: { temperature: 1.4, top_p: 0.5, top_k: 7 },
    expected: { temperature: 1, top_p: undefined, top_k: 7 },
    dropped: ["top_p"],
  },
  { name: "top_p alone", body: { top_p: 0.5, top_k: 0 }, expected: { top_p: 0.5, top_k: undefined } },
  {
    name: "a JSON Schema",
    body: {
      response_format: { type: "json_schema", json_schema: { name: "n", strict: true, schema: { type: "object" } } },
    },
    expected: {
      output_config: { format: { type: "json_schema", schema: { type: "object", additionalProperties: false } } },
      response_format: undefined,
    },
  },
  {
    name: "JSON without a schema has no counterpart",
    body: { response_format: { type: "json_object" } },
    expected: { output_config: undefined, response_format: undefined },
    dropped: ["response_format"],
  },
  {
    name: "the user beside other metadata",
    body: { user: "u", metadata: { a: "b" } },
    expected: { metadata: { user_id: "u" }, user: undefined },
    dropped: ["metadata"],
  },
  { name: "the user in metadata", body: { metadata: { user_id: "u" } }, expected: { metadata: { user_id: "u" } } },
  {
    name: "the user in metadata beside other metadata",
    body: { metadata: { user_id: "u", a: "b" } },
    expected: { metadata: { user_id: "u" } },
    dropped: ["metadata"],
  },
  {
    name: "the user twice",
    body: { user: "u", metadata: { user_id: "u" } },
    expected: { metadata: { user_id: "u" }, user: undefined },
  },
  {
    name: "two users",
    body: { user: "u", metadata: { user_id: "v" } },
    expected: { metadata: { user_id: "u" }, user: undefined },
    dropped: ["metadata"],
  },
  { name: "empty metadata", body: { metadata: {} }, expected: { metadata: undefined } },
  {
    name: "a system prompt of the host's form is not the caller's to write",
    body: { system: "s" },
    expected: { system: undefined },
    dropped: ["system"],
  },
  {
    name: "a system prompt of the host's form beside a system message",
    body: { system: "s", messages: [{ role: "system", content: "one" }, ...hello] },
    expected: { system: [textBlock("one")] },
    dropped: ["system"],
  },
  {
    name: "other metadata is not its",
    body: { metadata: { a: "b" } },
    expected: { metadata: undefined },
    dropped: ["metadata"],
  },
  { name: "default tier", body: { service_tier: "default" }, expected: { service_tier: "standard_only" } },
  {
    name: "a tier it does not know",
    body: { service_tier: "flex" },
    expected: { service_tier: undefined },
    dropped: ["service_tier"],
  },
  {
    name: "what may cost or reach something does not pass, nor what the chat form alone has",
    body: {
      ...{ container: "c", context_management: { edits: [] }, cache_control: cached, nothing: null },
      ...{ n: 2, logprobs: true, top_logprobs: 1, frequency_penalty: 1, presence_penalty: 1 },
      ...{ seed: 1, logit_bias: {}, verbosity: "low", prediction: {}, min_p: 0.1 },
    },
    expected: {
      ...{ container: undefined, context_management: undefined, cache_control: cached, nothing: undefined },
      n: undefined,
      ...{ logprobs: undefined, top_logprobs: undefined, frequency_penalty: undefined, presence_penalty: undefined },
      ...{ seed: undefined, logit_bias: undefined, verbosity: undefined },
      ...{ prediction: undefined, min_p: undefined, output_config: undefined },
    },
    dropped: [
      ...[
        "container",
        "context_management",
        "n",
        "logprobs",
        "top_logprobs",
        "frequency_penalty",
        "presence_penalty",
        "seed",
        "logit_bias",
        "verbosity",
      ],
      ...["prediction", "min_p"],
    ],
  },
]

for (const [title, rows] of Object.entries({ messages: messageRows, fields: fieldRows })) {
  describe(title, () => {
    for (const row of rows) test(row.name, () => expectRow(row))
  })
}

describe("what the host could only refuse is refused before it is called", () => {
  const file = (file_data: string) => user([{ type: "file", file: { file_data } }])
  test.each([
    [
      "audio",
      [user([textBlock("x"), { type: "input_audio", input_audio: { data: "AA", format: "wav" } }])],
      "content[1]",
    ],
    ["video", [user([{ type: "video_url", video_url: { url: "https://example.com/a.mp4" } }])], "content[0]"],
    ["video as input", [user([{ type: "input_video", video_url: { url: "data:video/mp4;base64,AA" } }])], "content[0]"],
    ["audio in a file", [file("data:audio/mpeg;base64,AA")], "content[0]"],
    ["a spreadsheet", [file("data:application/vnd.ms-excel;base64,AA")], "content[0]"],
    [
      "a picture's neighbour in a tool result",
      [result("a", [{ type: "video_url", video_url: { url: png } }])],
      "content[0]",
    ],
    ["a call that is no function", [assistant({ tool_calls: [{ id: "a", type: "custom" }] })], "tool_calls[0]"],
  ])("%s", (_, last, path) => {
    const encoded = messages.encode(requestWith({ messages: [...hello, ...last] }), hostFor("claude-x"))
    expect(Either.getLeft(encoded)).toMatchObject({ value: { _tag: "Unsupported", path: `messages[1].${path}` } })
  })

  test("what the host accepts is not refused", () => {
    const carried = [file("data:image/png;base64,AA"), file("data:application/json,{}"), file("JVBERi0="), user("x")]
    expect(encoded({ messages: carried }).dropped).toEqual([])
  })
})
