/** What an estimate counts of a prompt: everything that is sent, in every form. docs/guarantees.md#g5 */
import { describe, expect, test } from "bun:test"
import * as Either from "effect/Either"
import type { JsonObject } from "../../../src/domain/json/json.ts"
import { promptTokens } from "../../../src/domain/money/Charge.ts"
import { decodeChat } from "../../../src/formats/chat/chatRequest.ts"
import { decodeMessages } from "../../../src/formats/messages/messagesRequest.ts"
import { decodeResponses } from "../../../src/formats/responses/responsesRequest.ts"

const model = "acme/small"
const long = "word ".repeat(6000)
const base64 = Buffer.from(long).toString("base64")
const turn = (content: unknown, more: JsonObject = {}) => [{ role: "user", content, ...more }]
const chat = (body: JsonObject) => decodeChat({ model, messages: turn("Hi"), ...body })
const messages = (body: JsonObject) =>
  decodeMessages({ model, max_tokens: 50, messages: turn("Hi"), ...body }, new Headers())
const responses = (body: JsonObject) => decodeResponses({ model, input: "Hi", ...body })

/** 30,000 bytes, which were one token. */
const texts: ReadonlyArray<readonly [name: string, decoded: ReturnType<typeof decodeChat>]> = [
  ["a text", chat({ messages: turn(long) })],
  [
    "a file of text",
    chat({
      messages: turn([{ type: "file", file: { filename: "a.txt", file_data: `data:text/plain;base64,${base64}` } }]),
    }),
  ],
  [
    "a schema",
    chat({ response_format: { type: "json_schema", json_schema: { name: "s", schema: { description: long } } } }),
  ],
  ["a prediction", chat({ prediction: { type: "content", content: long } })],
  ["documents", chat({ documents: [{ title: "a", text: long }] })],
  ["a tool", chat({ tools: [{ type: "function", function: { name: "f", description: long } }] })],
  [
    "earlier reasoning",
    chat({
      messages: [
        ...turn("Hi"),
        { role: "assistant", content: "x", reasoning_details: [{ type: "reasoning.text", text: long }] },
        ...turn("And?"),
      ],
    }),
  ],
  [
    "an earlier call",
    chat({
      messages: [
        ...turn("Hi"),
        {
          role: "assistant",
          content: null,
          tool_calls: [{ id: "c", type: "function", function: { name: "f", arguments: JSON.stringify({ a: long }) } }],
        },
        { role: "tool", tool_call_id: "c", content: "x" },
      ],
    }),
  ],
  ["instructions of the Responses form", responses({ instructions: long })],
  ["a system prompt of the Messages form", messages({ system: long })],
  [
    "a document of the Messages form",
    messages({
      messages: turn([{ type: "document", source: { type: "text", media_type: "text/plain", data: long } }]),
    }),
  ],
  [
    "found pages of the Messages form",
    messages({
      messages: turn([{ type: "search_result", source: "a", title: "b", content: [{ type: "text", text: long }] }]),
    }),
  ],
]

test.each(texts)("%s of 30,000 bytes counts", (_name, decoded) => {
  const { bounds } = Either.getOrThrow(decoded)
  expect(promptTokens(bounds)).toBeWithin(7500, 7700)
})

describe("media counts by its kind and size", () => {
  const part = (part: JsonObject) => Either.getOrThrow(chat({ messages: turn([part]) })).bounds

  test.each([
    ["an image", { type: "image_url", image_url: { url: `data:image/png;base64,${base64}` } }, 1000],
    ["an image by its address", { type: "image_url", image_url: { url: "https://a.example/b.png" } }, 1000],
    ["sound", { type: "input_audio", input_audio: { data: base64, format: "mp3" } }, 30],
    [
      "a document",
      { type: "file", file: { filename: "a.pdf", file_data: `data:application/pdf;base64,${base64}` } },
      938,
    ],
  ] as const)("%s", (_name, given, tokens) => {
    expect(promptTokens(part(given))).toBe(tokens)
  })
})
