/** Callers of the chat form, and of the legacy completions form. */
import { expect } from "bun:test"
import { isJsonObject, type JsonObject } from "../../../src/domain/json/json.ts"
import { readChatStream } from "../../../src/testing/grammar/chat.ts"
import { readCompletionsStream } from "../../../src/testing/grammar/completions.ts"
import { type ClientForm, type Failed, filled, plain, userContent, withoutNames } from "./ClientForm.ts"
import {
  type Heard,
  inputOf,
  joined,
  numberIn,
  objectIn,
  objectsIn,
  type Part,
  present,
  type Question,
  textIn,
} from "./script.ts"

const chatPart = (part: Part): JsonObject => {
  switch (part.kind) {
    case "text":
      return { type: "text", text: part.text }
    case "image":
      return { type: "image_url", image_url: { url: part.url } }
    case "file":
      return { type: "file", file: { filename: part.name, file_data: part.data } }
    case "audio":
      return { type: "input_audio", input_audio: { data: part.data, format: part.format } }
    case "video":
      return { type: "video_url", video_url: { url: part.url } }
    case "stored":
      return { type: "file", file: { file_id: part.id } }
  }
}

const chatWishes = ({ tools, stop, schema, temperature }: Question): JsonObject =>
  present({
    tools: tools?.map((tool) => ({ type: "function", function: tool })),
    stop,
    temperature,
    response_format:
      schema === undefined ? undefined : { type: "json_schema", json_schema: { name: "answer", schema, strict: true } },
  })

const chatCounts = (usage: JsonObject) => ({
  prompt: numberIn(usage["prompt_tokens"]),
  cached: numberIn(objectIn(usage["prompt_tokens_details"])["cached_tokens"]),
  completion: numberIn(usage["completion_tokens"]),
  reasoning: numberIn(objectIn(usage["completion_tokens_details"])["reasoning_tokens"]),
})

/** Gathers what the chunks of one choice say. */
const gather = (into: Record<string, unknown>, delta: JsonObject): void => {
  for (const name of ["content", "reasoning", "refusal"]) {
    if (typeof delta[name] === "string") into[name] = textIn(into[name]) + delta[name]
  }
  if (delta["reasoning_details"] !== undefined)
    into["reasoning_details"] = [...objectsIn(into["reasoning_details"]), ...objectsIn(delta["reasoning_details"])]
  for (const { index, ...call } of objectsIn(delta["tool_calls"])) {
    const calls = [...objectsIn(into["tool_calls"])]
    const called = objectIn(call["function"])
    const known = calls[Number(index)]
    const before = objectIn(known?.["function"])
    const json = textIn(before["arguments"]) + textIn(called["arguments"])
    calls[Number(index)] = { ...known, ...call, function: { ...before, ...called, arguments: json } }
    into["tool_calls"] = calls
  }
}

/** `text`: whether choices have a text beside the members of a message, as in the legacy form. */
const fromChunks = (chunks: ReadonlyArray<JsonObject>, object: string, isText: boolean): JsonObject => {
  const choices = new Map<number, Record<string, unknown>>()
  const messages = new Map<number, Record<string, unknown>>()
  for (const chunk of chunks) {
    for (const { delta, text, ...choice } of objectsIn(chunk["choices"])) {
      const index = Number(choice["index"])
      const message = messages.get(index) ?? { role: "assistant" }
      messages.set(index, message)
      gather(message, isText ? { ...choice, content: text } : objectIn(delta))
      const { reasoning: _, reasoning_details: __, refusal: ___, tool_calls: ____, ...rest } = choice
      choices.set(index, { ...choices.get(index), ...(isText ? rest : choice) })
    }
  }
  const { choices: _, ...last } = chunks.at(-1) ?? {}
  const all = [...choices.entries()].toSorted(([one], [other]) => one - other)
  return {
    ...last,
    object,
    choices: all.map(([index, choice]) => {
      const { role, content, ...said } = messages.get(index) ?? {}
      const message = { role, content, ...said }
      return isText ? { ...choice, ...said, text: textIn(content) } : { ...choice, message }
    }),
  }
}

const sameSaid = (said: JsonObject): JsonObject => {
  const details = joined(objectsIn(said["reasoning_details"]))
  return filled({ ...said, reasoning_details: details })
}

const heardOf = (body: JsonObject, choice: JsonObject, said: JsonObject, text: unknown): Heard => {
  const usage = objectIn(body["usage"])
  return {
    reasoning: textIn(said["reasoning"]),
    text: textIn(text),
    refusal: textIn(said["refusal"]),
    calls: objectsIn(said["tool_calls"]).map((call) => {
      const called = objectIn(call["function"])
      return { id: textIn(call["id"]), name: textIn(called["name"]), input: inputOf(called["arguments"]) }
    }),
    end: textIn(choice["finish_reason"]),
    counts: chatCounts(usage),
    cost: numberIn(usage["cost"]),
    model: textIn(body["model"]),
  }
}

export const chatFailed = (body: JsonObject, response: Response): Failed => {
  const error = objectIn(body["error"])
  expect(Object.keys(body)).toContain("error")
  expect(error["code"]).toBe(response.status)
  return chatError(error)
}

const chatError = (error: JsonObject): Failed => ({
  type: textIn(objectIn(error["metadata"])["error_type"]),
  message: textIn(error["message"]),
})

const chatBroken = (body: JsonObject): Failed | undefined =>
  isJsonObject(body["error"]) ? chatError(body["error"]) : undefined

const chatEnds = { stop: "stop", length: "length", tool_calls: "tool_calls", content_filter: "content_filter" }

export const chatClient: ClientForm = {
  name: "chat",
  path: "/chat/completions",
  isChat: true,
  choices: 8,
  ends: chatEnds,
  body: (question) => ({
    ...chatWishes(question),
    messages: question.turns.flatMap((turn): ReadonlyArray<JsonObject> => {
      if (turn.role === "assistant") return turn.items
      if (turn.role === "result") return [{ role: "tool", tool_call_id: turn.id, content: turn.text }]
      return [{ role: turn.role, content: userContent(turn.parts, chatPart) }]
    }),
  }),
  several: (n) => ({ n }),
  given: (answer) => objectsIn(answer["choices"]).map(({ message }) => objectIn(message)),
  assembled: (stream) => fromChunks(readChatStream(stream), "chat.completion", false),
  same: (body) => ({
    ...withoutNames(body),
    system_fingerprint: undefined,
    choices: objectsIn(body["choices"]).map((choice) => ({
      ...choice,
      message: sameSaid(objectIn(choice["message"])),
    })),
  }),
  heard: (body) =>
    objectsIn(body["choices"]).map((choice) => {
      const message = objectIn(choice["message"])
      return heardOf(body, choice, message, message["content"])
    }),
  failed: chatFailed,
  broken: chatBroken,
  partOf: chatPart,
}

// --- legacy completions

export const completionsClient: ClientForm = {
  name: "completions",
  path: "/completions",
  isChat: false,
  choices: 8,
  ends: chatEnds,
  body: (question) => ({
    ...chatWishes(question),
    prompt: question.turns.map((turn) => (turn.role === "user" ? plain(turn.parts) : "")).join(""),
  }),
  several: (n) => ({ n }),
  given: () => [],
  assembled: (stream) => fromChunks(readCompletionsStream(stream), "text_completion", true),
  same: (body) => ({
    ...withoutNames(body),
    system_fingerprint: undefined,
    choices: objectsIn(body["choices"]).map(sameSaid),
  }),
  heard: (body) => objectsIn(body["choices"]).map((choice) => heardOf(body, choice, choice, choice["text"])),
  failed: chatFailed,
  broken: chatBroken,
  partOf: () => undefined,
}
