/** What Google's clients get of an answer of a host that speaks another form. */
import { describe, expect, test } from "bun:test"
import * as Either from "effect/Either"
import { isJsonObject, type JsonObject } from "../../../src/domain/json/json.ts"
import type { Charge } from "../../../src/domain/money/Charge.ts"
import { noCost } from "../../../src/domain/price/price.ts"
import { noUsage } from "../../../src/domain/price/Usage.ts"
import type { ChatMessage, ChatResponse } from "../../../src/domain/request/chat.ts"
import type { ChatRequest } from "../../../src/domain/request/request.ts"
import { chunksOf } from "../../../src/formats/delta.ts"
import { generateContent } from "../../../src/formats/generateContent/generateContentClient.ts"
import { Target } from "../../../src/formats/Target.ts"
import { readGenerateContentStream } from "../../../src/testing/grammar/generateContent.ts"
import { answerNames } from "../../support/formats/answerNames.ts"
import { hostFor, requestWith } from "../../support/recordings/recordings.ts"

const host = hostFor("m")
const charge: Charge = { usage: noUsage, cost: noCost, upstream: noCost, waived: null, estimated: false }
const answerWith = (said: Partial<ChatMessage>): ChatResponse => {
  const message: ChatMessage = { role: "assistant", content: null, refusal: null, reasoning: null, ...said }
  return { choices: [{ index: 0, finish_reason: "stop", native_finish_reason: "stop", message, logprobs: null }] }
}

const partsIn = (body: unknown): ReadonlyArray<unknown> => {
  const [candidate]: ReadonlyArray<unknown> =
    isJsonObject(body) && Array.isArray(body["candidates"]) ? body["candidates"] : []
  const content = isJsonObject(candidate) ? candidate["content"] : undefined
  return isJsonObject(content) && Array.isArray(content["parts"]) ? content["parts"] : []
}

const whole = (message: Partial<ChatMessage>, request: ChatRequest): ReadonlyArray<unknown> => {
  const write = generateContent.answer(answerNames(), request)
  return partsIn(JSON.parse(String(write(host, answerWith(message), undefined)(charge))))
}

const streamed = (message: Partial<ChatMessage>, request: ChatRequest): ReadonlyArray<unknown> => {
  const target = new Target("/api/v1", "http://127.0.0.1/api/v1?alt=sse")
  const writer = generateContent.stream(answerNames(), request, target)(host)
  const chunks = chunksOf(answerWith(message))
  const text = chunks.map((chunk, at) =>
    at === chunks.length - 1 ? writer.finish(chunk, charge) : writer.chunk(chunk),
  )
  return readGenerateContentStream(text.join("")).flatMap(partsIn)
}

test("what other hosts are not sent is named: media of the instructions, and formats that Google alone has", () => {
  const media = { inlineData: { mimeType: "image/png", data: "AAAA" } }
  const body = {
    model: "m",
    contents: [{ parts: [{ text: "Hi" }] }],
    systemInstruction: { parts: [{ text: "Short." }, media] },
    generationConfig: { responseMimeType: "text/x.enum", responseSchema: { type: "STRING", enum: ["a"] } },
  }
  const target = new Target("/api/v1", "http://127.0.0.1/api/v1beta/models/m:generateContent")
  const { payload, native } = Either.getOrThrow(generateContent.decode(body, new Headers(), target))
  expect(payload.messages[0]).toEqual({ role: "system", content: "Short." })
  expect(native?.untranslated).toEqual([
    "systemInstruction.parts[1]",
    "generationConfig.responseMimeType",
    "generationConfig.responseSchema",
  ])
})

test("members of declarations, choices, parts and results that Google alone has are named at other hosts", () => {
  const functionDeclarations = [{ name: "look", behavior: "NON_BLOCKING", response: { type: "OBJECT" } }]
  const inlineData = { mimeType: "image/png", data: "AAAA" }
  const level = { level: "MEDIA_RESOLUTION_LOW" }
  const result = { id: "c1", name: "look", response: { output: "ok" }, willContinue: true, scheduling: "SILENT" }
  const body = {
    model: "m",
    contents: [
      {
        parts: [
          { text: "Hi", inlineData },
          { inlineData, mediaResolution: level },
        ],
      },
      { role: "model", parts: [{ functionCall: { id: "c1", name: "look", args: {} }, thoughtSignature: "a" }] },
      { role: "user", parts: [{ functionResponse: result }] },
    ],
    tools: [{ functionDeclarations }],
    toolConfig: {
      functionCallingConfig: { mode: "SOME_DAY", streamFunctionCallArguments: true },
      retrievalConfig: { languageCode: "en" },
    },
  }
  const target = new Target("/api/v1", "http://127.0.0.1/api/v1beta/models/m:generateContent")
  const { native } = Either.getOrThrow(generateContent.decode(body, new Headers(), target))
  expect(native?.untranslated.toSorted()).toEqual([
    "contents[0].parts[0].inlineData",
    "contents[0].parts[1].mediaResolution",
    "contents[2].parts[0].functionResponse.scheduling",
    "contents[2].parts[0].functionResponse.willContinue",
    "toolConfig.functionCallingConfig.mode",
    "toolConfig.functionCallingConfig.streamFunctionCallArguments",
    "toolConfig.retrievalConfig",
    "tools[0].functionDeclarations[0].behavior",
    "tools[0].functionDeclarations[0].response",
  ])
})

const decodedOf = (body: JsonObject) => {
  const target = new Target("/api/v1", "http://127.0.0.1/api/v1beta/models/m:generateContent")
  return generateContent.decode({ model: "m", contents: [{ parts: [{ text: "Hi" }] }], ...body }, new Headers(), target)
}

test("contents that say nothing were sent as a conversation without messages", () => {
  expect(Either.getLeft(decodedOf({ contents: [{ parts: [{}] }] }))).toMatchObject({
    value: { issues: [{ path: "contents", message: "must have a part that says something" }] },
  })
})

test("contents of parts that Google alone has are for its hosts: others were sent no messages", () => {
  const { routing } = Either.getOrThrow(decodedOf({ contents: [{ parts: [{ executableCode: { code: "1" } }] }] }))
  const reason = "only hosts of Google's format take parts of these kinds"
  expect(routing.needs).toMatchObject({ form: "generateContent", onlyForm: { path: "contents", reason } })
})

test("a choice without functions is none: hosts refuse one without tools", () => {
  const toolConfig = { functionCallingConfig: { mode: "ANY" } }
  for (const tools of [undefined, [], [{ functionDeclarations: [] }]]) {
    const { payload, routing } = Either.getOrThrow(decodedOf({ tools, toolConfig }))
    expect([payload.tool_choice, routing.parameters]).toEqual([undefined, []])
  }
})

test("declarations that are no list were left out without a word", () => {
  expect(Either.getLeft(decodedOf({ tools: [{ functionDeclarations: { name: "look" } }] }))).toMatchObject({
    value: { issues: [{ path: "tools[0].functionDeclarations", message: "must be an array" }] },
  })
})

test("a schema of Google's own kind becomes a JSON Schema at every depth", () => {
  const text = { type: "STRING", nullable: true }
  const parameters = {
    type: "OBJECT",
    propertyOrdering: ["byName"],
    properties: {
      byName: { type: "OBJECT", additionalProperties: { type: "ARRAY", items: text, maxItems: "3" } },
      pet: { anyOf: [{ ref: "#/defs/pet" }, { type: "NULL" }] },
    },
    defs: { pet: { type: "OBJECT", properties: { type: text }, additionalProperties: false } },
  }
  const { payload } = Either.getOrThrow(
    decodedOf({ tools: [{ functionDeclarations: [{ name: "look", parameters }] }] }),
  )
  const written = { type: ["string", "null"] }
  expect(payload.tools?.[0]?.function?.parameters).toEqual({
    type: "object",
    properties: {
      byName: { type: "object", additionalProperties: { type: "array", items: written, maxItems: 3 } },
      pet: { anyOf: [{ $ref: "#/$defs/pet" }, { type: "null" }] },
    },
    $defs: { pet: { type: "object", properties: { type: written }, additionalProperties: false } },
  })
})

describe.each([
  ["whole", whole],
  ["streamed", streamed],
])("sound of a translated answer, %s", (_, read) => {
  test.each([
    [undefined, "audio/L16;codec=pcm;rate=24000"],
    ["pcm16", "audio/L16;codec=pcm;rate=24000"],
    ["mp3", "audio/mpeg"],
    ["wav", "audio/wav"],
    ["opus", "audio/opus"],
  ])("in the format %p is data with its type", (format, mimeType) => {
    const audio = format === undefined ? {} : { audio: { voice: "alloy", format } }
    const request = requestWith({ messages: [{ role: "user", content: "Hi" }], ...audio })
    const message = { content: "Listen:", audio: { id: "audio_1", data: "AAAA", transcript: "Hi." } }
    const parts = [{ text: "Listen:" }, { inlineData: { mimeType, data: "AAAA" } }]
    expect(read(message, request).slice(0, 2)).toEqual(parts)
  })

  test("of an unknown shape is left out", () => {
    const request = requestWith({ messages: [{ role: "user", content: "Hi" }] })
    for (const audio of ["x", { data: 5 }, { id: "audio_1" }, null])
      expect(read({ content: "Hi.", audio }, request)[0]).toEqual({ text: "Hi." })
  })
})
