/**
 * Requests that public clients were recorded sending: what they mean is written in the chat form by a reader of its own, and
 * what we send for that must be what they sent, but for spellings that Google reads alike. And what was recorded of signatures
 * and sources must come back, or mark its text.
 */
import { describe, expect, test } from "bun:test"
import { HostFailed } from "../../../src/domain/failures/Failure.ts"
import { isJsonObject, type JsonObject } from "../../../src/domain/json/json.ts"
import { generateContentProtocol } from "../../../src/formats/generateContent/generateContentHost.ts"
import {
  bodyOf,
  encodedBy,
  hostFor,
  type RecordedCase,
  recordings,
  requestWith,
} from "../../support/recordings/recordings.ts"
import { gathered, head, sentAny, streamed, user } from "./build.ts"

// The recordings are trusted: this reader is meant to be naive, so it does not check every member.
// biome-ignore lint/suspicious/noExplicitAny: see above
type Anything = any

const cases = [...recordings("gemini"), ...recordings("vertex-gemini")]

// --- spellings

const camel = (name: string): string => name.replace(/_([a-z])/g, (_, letter: string) => letter.toUpperCase())

/** Members whose content is the caller's own: nothing in it is spelled otherwise. */
const own = new Set(["args", "response", "parametersJsonSchema", "responseJsonSchema"])

/** Google's members by one spelling each, without those that mean nothing. */
const plain = (value: Anything): Anything => {
  if (Array.isArray(value)) return value.map(plain)
  if (!isJsonObject(value)) return value
  const members: Record<string, Anything> = {}
  for (const [name, member] of Object.entries(value)) {
    const spelled = camel(name)
    if (member === null || (spelled === "thought" && member === false) || spelled === "model") continue
    members[spelled] = own.has(spelled) ? member : plain(member)
  }
  return members
}

/** A schema in Google's own subset of OpenAPI as JSON schema. */
const asJsonSchema = (schema: Anything): Anything => {
  if (Array.isArray(schema)) return schema.map(asJsonSchema)
  if (!isJsonObject(schema)) return schema
  const entries = Object.entries(schema).map(([name, member]) =>
    name === "type" ? [name, String(member).toLowerCase()] : [name, asJsonSchema(member)],
  )
  return Object.fromEntries(entries)
}

const declaration = ({ name, description, parameters, parametersJsonSchema }: Anything): JsonObject => ({
  name,
  ...(description === undefined ? {} : { description }),
  parametersJsonSchema: parametersJsonSchema ?? asJsonSchema(parameters),
})

/** Adjacent turns of one kind as one, as we send them; ids of calls as far as the recording has them. */
const turnsOf = (contents: Anything, hasIds: boolean): ReadonlyArray<Anything> => {
  const turns: Array<Anything> = []
  for (const { role = "user", parts } of contents) {
    const isResult = parts[0]?.functionResponse !== undefined
    const shown = parts.map((part: Anything) => (hasIds ? part : withoutId(part)))
    const last = turns.at(-1)
    if (last?.role === role && last.isResult === isResult) last.parts.push(...shown)
    else turns.push({ role, isResult, parts: [...shown] })
  }
  return turns
}

const withoutId = (part: Anything): Anything => {
  const member = part.functionCall ? "functionCall" : "functionResponse"
  if (part[member] === undefined) return part
  const { id: _, ...rest } = part[member]
  return { ...part, [member]: rest }
}

const comparable = (body: Anything, hasIds: boolean): JsonObject => {
  const { contents, systemInstruction, tools, toolConfig, generationConfig, safetySettings, ...rest } = plain(body)
  const { responseSchema, ...config } = generationConfig ?? {}
  const { role: _, ...system } = systemInstruction ?? {}
  const mode = toolConfig?.functionCallingConfig
  return {
    ...rest,
    contents: turnsOf(contents, hasIds),
    ...(systemInstruction ? { system } : {}),
    ...(tools
      ? { tools: tools.map((each: Anything) => each.functionDeclarations?.map(declaration) ?? Object.keys(each)) }
      : {}),
    // Auto is what is done anyway.
    ...(mode && mode.mode !== "AUTO" ? { mode } : {}),
    config: {
      ...config,
      // One answer is what is given anyway, and text what there is where nothing else is asked for.
      ...(config.candidateCount === 1 ? { candidateCount: undefined } : {}),
      ...(config.responseModalities ? { responseModalities: undefined } : {}),
      ...(responseSchema ? { responseJsonSchema: asJsonSchema(responseSchema) } : {}),
      ...(config.thinkingConfig ? { thinkingConfig: thinkingOf(config.thinkingConfig) } : {}),
    },
    safetySettings,
  }
}

const thinkingOf = ({ includeThoughts = false, thinkingLevel, thinkingBudget }: Anything) => ({
  includeThoughts,
  thinkingBudget,
  level: thinkingLevel?.toLowerCase(),
})

// --- what it means

const mediaUrl = ({ mimeType, data }: Anything) => `data:${mimeType};base64,${data}`

const partIn = ({ text, inlineData, fileData }: Anything): JsonObject => {
  if (fileData) return { type: "file", file: { file_data: fileData.fileUri } }
  if (!inlineData) return { type: "text", text }
  if (inlineData.mimeType.startsWith("image/")) return { type: "image_url", image_url: { url: mediaUrl(inlineData) } }
  return { type: "file", file: { file_data: mediaUrl(inlineData) } }
}

const signature = (data: string, id: string) => ({ type: "reasoning.encrypted", data, id, format: "google-gemini-v1" })

const messagesIn = (contents: Anything): ReadonlyArray<JsonObject> => {
  const messages: Array<JsonObject> = []
  /** Calls without a result yet: results come in their order where they have no ids. */
  const open: Array<string> = []
  for (const [turn, { role = "user", parts }] of contents.entries()) {
    const others = parts.filter((part: Anything) => !part.functionCall && !part.functionResponse)
    for (const { functionResponse } of parts.filter((part: Anything) => part.functionResponse)) {
      const { id = open.shift() ?? "", response, parts: media = [] } = functionResponse
      const content = [{ type: "text", text: JSON.stringify(response) }, ...media.map(partIn)]
      messages.push({ role: "tool", tool_call_id: id, content })
    }
    if (role === "user" && others.length > 0) messages.push(user(others.map(partIn)))
    if (role !== "model") continue
    const calls = parts
      .filter((part: Anything) => part.functionCall)
      .map(({ functionCall, thoughtSignature }: Anything, at: number) => {
        const { id = `call-${turn}-${at}`, name, args } = functionCall
        open.push(id)
        return { id, name, args, thoughtSignature }
      })
    messages.push({
      role: "assistant",
      content: others.map((part: Anything) => part.text).join(""),
      tool_calls: calls.map(({ id, name, args }: Anything) => ({
        id,
        type: "function",
        function: { name, arguments: JSON.stringify(args) },
      })),
      reasoning_details: calls.flatMap(({ id, thoughtSignature: data }: Anything) =>
        data ? [signature(data, id)] : [],
      ),
    })
  }
  return messages
}

const toolIn = (each: Anything): ReadonlyArray<JsonObject> =>
  each.functionDeclarations?.map((declared: Anything) => {
    const { name, description, parametersJsonSchema: parameters } = declaration(declared)
    return { type: "function", function: { name, description, parameters } }
  }) ?? Object.keys(each).map((type) => ({ type: type === "googleSearch" ? "web_search" : type }))

const meaningOf = (recorded: RecordedCase): { readonly body: JsonObject; readonly maxTokens: number | undefined } => {
  const {
    contents,
    systemInstruction,
    tools = [],
    toolConfig,
    generationConfig = {},
    safetySettings,
  } = plain(recorded.request?.body)
  const { thinkingConfig: thinking, ...config } = generationConfig
  const schema = config.responseJsonSchema ?? asJsonSchema(config.responseSchema)
  const reasoning = thinking && {
    ...(thinking.thinkingBudget === undefined ? {} : { max_tokens: thinking.thinkingBudget }),
    ...(thinking.thinkingLevel === undefined ? {} : { effort: thinking.thinkingLevel.toLowerCase() }),
    ...(Object.keys(thinking).length === 1 ? { enabled: true } : {}),
    exclude: thinking.includeThoughts !== true,
  }
  const body: JsonObject = {
    messages: [
      ...(systemInstruction ? [{ role: "system", content: systemInstruction.parts[0].text }] : []),
      ...messagesIn(contents),
    ],
    ...(tools.length === 0 ? {} : { tools: tools.flatMap(toolIn) }),
    ...(toolConfig?.functionCallingConfig ? { tool_choice: toolConfig.functionCallingConfig.mode.toLowerCase() } : {}),
    ...(config.responseMimeType
      ? { response_format: { type: "json_schema", json_schema: { name: "x", schema } } }
      : {}),
    ...(reasoning ? { reasoning } : {}),
    ...(safetySettings ? { safetySettings } : {}),
    temperature: config.temperature,
    top_p: config.topP,
    top_k: config.topK,
    n: config.candidateCount,
    logprobs: config.responseLogprobs,
    top_logprobs: config.logprobs,
  }
  return { body, maxTokens: config.maxOutputTokens }
}

/** Recorded requests that we mean to write otherwise. */
const otherwise: Readonly<Record<string, string>> = {
  "google/generateContent-stream-test-tools-c1f502":
    "asks for thoughts without an amount, which the chat form always has",
  "google/generateContent-stream-test-nested-model-direct-reference-d38cfb": "the same",
  "google/generateContent-stream-testexec-gemini-toolcall-ff300a": "names a function's result by the id of its call",
  "google/generateContent-stream-test-code-execution-stream-a7a161": "runs code, for which no price list has a price",
  "google/generateContent-chat-code-execution-with-gemini-gemini-3-5-flash-runs-code-s-788107": "the same",
  "google/generateContent-test-multimodal-tool-return-matrix-tool-return-content-url-a-615ed4":
    "gives calls of Gemini 2.5 ids, which Google has known at this model on some days only (anomalyco/opencode#50504, 2026-09)",
  "google/generateContent-stream-test-google-web-fetch-fc5205": "has Google read pages, whose tokens nothing bounds",
}

describe("recorded requests", () => {
  const asked = cases.filter(({ id, request }) => request !== null && otherwise[id] === undefined)

  test.skipIf(cases.length === 0)("of 28 there are 21 that we would send, too", () => expect(asked).toHaveLength(21))

  for (const recorded of asked) {
    test(`${recorded.id}: we send the same`, () => {
      const vertex = recorded.dialect === "vertex-gemini"
      const model = (recorded.model ?? "").replace("models/", "")
      const { body, maxTokens } = meaningOf(recorded)
      const request = requestWith(body, { stream: recorded.stream, ...(maxTokens === undefined ? {} : { maxTokens }) })
      const { body: written, path, dropped } = encodedBy(generateContentProtocol({ vertex }), request, hostFor(model))
      const hasIds = JSON.stringify(recorded.request?.body).includes('"id"')
      expect(comparable(written, hasIds)).toEqual(comparable(recorded.request?.body, hasIds))
      expect(dropped).toEqual([])
      // Keys in the address are the gateway's matter, and some clients ask for an array, or for numbers in place of words.
      const method = recorded.stream ? ":streamGenerateContent" : ":generateContent"
      expect(path.split("?")[0]).toBe(`${vertex ? "/publishers/google" : ""}/models/${model}${method}`)
      expect(recorded.request?.path.split("?")[0]).toEndWith(`/models/${model}${method}`)
    })
  }
})

// --- what comes back

const eventsIn = (recorded: RecordedCase): ReadonlyArray<Anything> => {
  const { raw } = recorded.response
  if (raw === undefined) return [bodyOf(recorded)]
  if (raw.startsWith("[")) return JSON.parse(raw)
  return raw.split("\r\n").flatMap((line) => (line.startsWith("data: ") ? [JSON.parse(line.slice(6))] : []))
}

const partsIn = (recorded: RecordedCase): ReadonlyArray<Anything> =>
  eventsIn(recorded).flatMap((event) => event.candidates?.[0]?.content?.parts ?? [])

/** Steps of Google's own tools are not passed on, and their signatures with them. */
const isPassedOn = (part: Anything): boolean => typeof part.text === "string" || part.functionCall !== undefined

describe("recorded signatures", () => {
  const signed = cases.filter((recorded) => partsIn(recorded).some((part) => part.thoughtSignature && isPassedOn(part)))

  for (const recorded of signed) {
    test(`${recorded.id}: go back as they came`, () => {
      const model = recorded.model ?? ""
      const message = gathered(streamed(eventsIn(recorded), model))
      const parts = sentAny({ messages: [user("x"), message, user("y")] }, { model }).contents[1].parts
      const recordedParts = partsIn(recorded).filter(isPassedOn)
      const marked = (all: ReadonlyArray<Anything>) =>
        all
          .filter((part) => part.thoughtSignature)
          .map(({ text, functionCall, thoughtSignature }) => [
            text,
            functionCall?.name,
            functionCall?.args,
            thoughtSignature,
          ])
      expect(marked(parts)).toEqual(marked(recordedParts))
      const textIn = (all: ReadonlyArray<Anything>) =>
        all.flatMap((part) => (part.text && !part.thought ? [part.text] : [])).join("")
      expect(textIn(parts)).toBe(textIn(recordedParts))
    })
  }
})

describe("recorded sources", () => {
  const grounded = cases.filter((recorded) => JSON.stringify(eventsIn(recorded)).includes('"groundingSupports"'))

  for (const recorded of grounded) {
    test(`${recorded.id}: mark the texts that they support`, () => {
      const metadata = eventsIn(recorded).at(-1).candidates[0].groundingMetadata
      const { content, annotations } = gathered(streamed(eventsIn(recorded), recorded.model ?? ""))
      const marked = (annotations as ReadonlyArray<Anything>).map(
        ({ url_citation: { url, start_index, end_index } }) => [url, String(content).slice(start_index, end_index)],
      )
      const expected = metadata.groundingSupports.flatMap(({ segment, groundingChunkIndices }: Anything) =>
        groundingChunkIndices.map((at: number) => [metadata.groundingChunks[at].web.uri, segment.text]),
      )
      expect(marked).toEqual(expected)
      expect(annotations).not.toHaveLength(0)
    })
  }
})

test("recorded images and probabilities are those of the answer", () => {
  for (const recorded of cases.filter(({ categories }) => categories.includes("media-out"))) {
    const images = partsIn(recorded).flatMap(({ inlineData }) => (inlineData ? [mediaUrl(inlineData)] : []))
    const read = gathered(streamed(eventsIn(recorded), recorded.model ?? ""))["images"] as ReadonlyArray<Anything>
    expect(read.map(({ image_url }) => image_url.url)).toEqual(images)
  }
  for (const recorded of cases.filter(({ categories }) => categories.includes("logprobs"))) {
    const [{ candidates }] = eventsIn(recorded) as [Anything]
    const { chosenCandidates, topCandidates } = candidates[0].logprobsResult
    const [chunk] = streamed(eventsIn(recorded), recorded.model ?? "") as [Anything]
    const pairs = (tokens: Anything) => tokens.map(({ token, logprob }: Anything) => [token, logprob])
    const expected = (tokens: Anything) => tokens.map(({ token, logProbability }: Anything) => [token, logProbability])
    const { content } = chunk.choices[0].logprobs
    expect(pairs(content)).toEqual(expected(chosenCandidates))
    expect(content.map((token: Anything) => pairs(token.top_logprobs))).toEqual(
      topCandidates.map(({ candidates: others }: Anything) => expected(others)),
    )
  }
})

test("a whole answer and a stream of it say the same", () => {
  for (const recorded of cases.filter(({ response }) => response.raw === undefined && response.status === 200)) {
    const model = recorded.model ?? ""
    const context = { request: requestWith({}), host: hostFor(model) }
    const answer = generateContentProtocol().decode(head, bodyOf(recorded), context)
    if (answer instanceof HostFailed) throw answer
    const { content, reasoning, annotations } = gathered(streamed([bodyOf(recorded)], model))
    const message = answer.choices[0]?.message
    expect([message?.content ?? "", message?.reasoning ?? "", message?.annotations ?? []]).toEqual([
      String(content),
      String(reasoning),
      annotations as [],
    ])
  }
})
