/** The checker of streams in Google's form accepts what the gateway writes, and refuses what breaks it. */
import { describe, expect, test } from "bun:test"
import type { JsonObject } from "../../src/domain/json/json.ts"
import { readGenerateContentStream } from "../../src/testing/grammar/generateContent.ts"

const names = { modelVersion: "acme/small", responseId: "gen-1", provider: "Acme" }
const usageMetadata = { promptTokenCount: 1, candidatesTokenCount: 2, totalTokenCount: 3, cost: 0.1 }
const error = { code: 502, message: "It broke.", status: "UNAVAILABLE", details: [] }

const candidate = (parts: ReadonlyArray<unknown>, more: JsonObject = {}): JsonObject => ({
  content: { role: "model", parts },
  index: 0,
  ...more,
})
const event = (...candidates: ReadonlyArray<JsonObject>): JsonObject => ({ ...names, candidates })
const saying = (part: JsonObject, more?: JsonObject): JsonObject => event(candidate([part], more))
const first = saying({ text: "a" })
const finish = { ...saying({ text: "" }, { finishReason: "STOP" }), usageMetadata }
const failed = { error, usageMetadata }
const call = { functionCall: { id: "c", name: "f", args: {} }, thoughtSignature: "c2ln" }

const forms: Readonly<Record<string, (events: ReadonlyArray<unknown>) => string>> = {
  events: (events) => events.map((one) => `data: ${JSON.stringify(one)}\n\n`).join(""),
  "an array": (events) => `[${events.map((one) => JSON.stringify(one)).join(",\r\n")}]`,
}

describe.each(Object.entries(forms))("a stream in Google's form as %s", (_, written) => {
  test.each<[string, ReadonlyArray<JsonObject>]>([
    ["text and its end", [first, saying({ text: "b" }), finish]],
    ["an end alone", [finish]],
    [
      "thoughts, calls and media",
      [saying({ text: "", thought: true, thoughtSignature: "YQ==" }), saying(call), finish],
    ],
    ["sound", [saying({ inlineData: { mimeType: "audio/L16;codec=pcm;rate=24000", data: "AAAA" } }), finish]],
    ["a prompt that was blocked", [{ ...names, promptFeedback: { blockReason: "SAFETY" } }, finish]],
    ["sources alone", [event({ index: 0, groundingMetadata: {} }), finish]],
    ["an error after text", [first, failed]],
    ["an error alone", [failed]],
  ])("may have %s", (_name, events) => {
    expect(readGenerateContentStream(written(events))).toEqual([...events])
  })

  test.each<[string, ReadonlyArray<unknown>]>([
    ["no end", [first]],
    ["two ends", [first, finish, finish]],
    ["text after its end", [finish, first]],
    ["text after an error", [failed, first]],
    ["an event that is no object", [1, finish]],
    ["an error without usage", [{ error }]],
    ["an error without its status", [{ ...failed, error: { ...error, status: undefined } }]],
    ["an error without details", [{ ...failed, error: { ...error, details: undefined } }]],
    ["an error beside candidates", [{ ...finish, error }]],
    ["a finish before the last event", [saying({ text: "a" }, { finishReason: "STOP" }), finish]],
    ["a finish without a reason", [{ ...first, usageMetadata }]],
    ["a candidate without an end", [saying({ text: "a" }, { index: 1 }), finish]],
    ["a candidate twice", [event(candidate([{ text: "a" }]), candidate([{ text: "b" }])), finish]],
    ["a candidate with an index that is a text", [saying({ text: "a" }, { index: "0" }), finish]],
    ["a candidate that says nothing", [event({ index: 0 }), finish]],
    ["no candidate in an event", [{ ...names, candidates: [] }, finish]],
    ["no part", [event(candidate([])), finish]],
    ["content of the user", [saying({ text: "a" }, { content: { role: "user", parts: [{ text: "a" }] } }), finish]],
    ["a part of no kind", [saying({ thought: true }), finish]],
    ["a part of two kinds", [saying({ ...call, text: "a" }), finish]],
    ["a call without arguments", [saying({ functionCall: { name: "f" } }), finish]],
    ["data without its type", [saying({ inlineData: { data: "AAAA" } }), finish]],
    ["a thought that is a text", [saying({ text: "a", thought: "yes" }), finish]],
    ["a signature that is no base64", [saying({ text: "", thoughtSignature: "headgate.v1." }), finish]],
    ["another id", [first, { ...finish, responseId: "gen-2" }]],
    ["another model", [first, { ...finish, modelVersion: "acme/other" }]],
    ["a usage without cost", [first, { ...finish, usageMetadata: { ...usageMetadata, cost: undefined } }]],
    ["a total below the prompt", [first, { ...finish, usageMetadata: { ...usageMetadata, totalTokenCount: 0 } }]],
  ])("may not have %s", (_name, events) => {
    expect(() => readGenerateContentStream(written(events))).toThrow("A stream in the generateContent form has")
  })
})

test.each<[string, string]>([
  ["an array that is cut", `[${JSON.stringify(finish)}`],
  ["a name of an event", `event: message\ndata: ${JSON.stringify(finish)}\n\n`],
  ["[DONE]", `data: ${JSON.stringify(finish)}\n\ndata: [DONE]\n\n`],
  ["nothing", ""],
])("a stream in Google's form may not have %s", (_name, text) => {
  expect(() => readGenerateContentStream(text)).toThrow("A stream in the generateContent form has")
})
