/** A request in Gemini's words. */
import * as Either from "effect/Either"
import {
  type AssistantMessage,
  argumentsObject,
  base64Of,
  type ChatRequest,
  type ContentPart,
  calledNames,
  type Host,
  isJsonObject,
  type JsonObject,
  type Message,
  type Protocol,
  partsOf,
  readDataUrl,
  reasoningWish,
  type Tool,
  type ToolMessage,
  textOf,
  tokensFor,
  Unsupported,
} from "headgate/plugin"
import { format, given } from "./json.ts"

interface Turn {
  readonly role: "user" | "model"
  readonly parts: Array<JsonObject>
}

export const encode: Protocol["encode"] = (request, host) =>
  Either.gen(function* () {
    const { payload, stream } = request
    const contents = yield* contentsOf(payload.messages)
    const system = textsOfSystem(payload.messages)
    const tools = yield* toolsOf(payload.tools ?? [])
    const { config, dropped } = generationConfig(request, host)
    const isAlone = contents.length === 0
    const body = given({
      contents: isAlone ? [{ role: "user", parts: system }] : contents,
      systemInstruction: isAlone || system.length === 0 ? undefined : { parts: system },
      tools: tools.length === 0 ? undefined : tools,
      toolConfig: toolConfig(payload.tool_choice),
      generationConfig: config,
      safetySettings: payload["safetySettings"] ?? undefined,
      cachedContent: payload["cachedContent"] ?? undefined,
    })
    const method = stream ? "streamGenerateContent?alt=sse" : "generateContent"
    const path = `/models/${encodeURIComponent(host.upstreamModel)}:${method}`
    return { path, body: JSON.stringify(body), dropped: [...dropped, ...unknownMembers(payload)] }
  })

const translated = new Set(
  "messages tools tool_choice temperature top_p top_k frequency_penalty presence_penalty seed stop n logprobs top_logprobs response_format modalities safetySettings cachedContent".split(
    " ",
  ),
)

/** Gemini refuses members that it does not know, so none is passed on. */
const unknownMembers = (payload: JsonObject) =>
  Object.keys(payload).filter((name) => payload[name] != null && !translated.has(name))

// --- messages

const textsOfSystem = (messages: ReadonlyArray<Message>): Array<JsonObject> =>
  messages
    .filter(({ role }) => role === "system" || role === "developer")
    .map(({ content }) => ({ text: textOf(content) }))
    .filter(({ text }) => text !== "")

const contentsOf = (messages: ReadonlyArray<Message>): Either.Either<ReadonlyArray<Turn>, Unsupported> =>
  Either.gen(function* () {
    const names = calledNames(messages)
    const turns: Array<Turn> = []
    const say = (role: Turn["role"], parts: ReadonlyArray<JsonObject>) => {
      const last = turns.at(-1)
      if (last?.role === role) last.parts.push(...parts)
      else if (parts.length > 0) turns.push({ role, parts: [...parts] })
    }
    for (const [at, message] of messages.entries()) {
      const path = `messages[${at}].content`
      if (message.role === "user") say("user", yield* contentParts(message.content, path))
      if (message.role === "assistant") say("model", yield* assistantParts(message, path))
      if (message.role === "tool") say("user", yield* resultParts(message, names, path))
    }
    return turns
  })

const contentParts = (
  content: Message["content"],
  path: string,
): Either.Either<ReadonlyArray<JsonObject>, Unsupported> =>
  Either.all(partsOf(content).map((part, at) => partOf(part, `${path}[${at}]`)))

const inline = (mimeType: string, data: string): Either.Either<JsonObject> =>
  Either.right({ inlineData: { mimeType, data } })

const uploaded = /^https:\/\/(generativelanguage\.googleapis\.com|(www\.)?youtube\.com|youtu\.be)\//

const media = (url: string, path: string): Either.Either<JsonObject, Unsupported> => {
  const data = readDataUrl(url)
  if (data !== undefined) return inline(data.mediaType, base64Of(data))
  if (uploaded.test(url)) return Either.right({ fileData: { fileUri: url } })
  return Either.left(new Unsupported({ path, reason: "this host takes embedded media only" }))
}

const partOf = (part: ContentPart, path: string): Either.Either<JsonObject, Unsupported> => {
  switch (part.type) {
    case "text":
      return Either.right({ text: part.text })
    case "refusal":
      return Either.right({ text: part.refusal })
    case "image_url":
      return media(part.image_url.url, path)
    case "video_url":
    case "input_video":
      return media(part.video_url.url, path)
    case "input_audio":
      return inline(`audio/${part.input_audio.format}`, part.input_audio.data)
    case "file": {
      const { file_data: data, file_id: id } = part.file
      if (data != null && /^(data|https?):/.test(data)) return media(data, path)
      if (data != null) return inline("application/pdf", data)
      if (id != null) return Either.right({ fileData: { fileUri: id } })
      return Either.left(new Unsupported({ path, reason: "this host takes no empty file" }))
    }
  }
}

/** Signatures of an earlier answer by the call that they belong to; "" for the last one of its text. Fragments share an index. */
const signaturesOf = ({ reasoning_details: details }: AssistantMessage): ReadonlyMap<string, string> => {
  const blocks = new Map<unknown, { id: string; data: string }>()
  for (const [at, piece] of (details ?? []).entries()) {
    if (piece.type !== "reasoning.encrypted" || piece.format !== format) continue
    const block = blocks.get(piece.index ?? `at ${at}`) ?? { id: piece.id ?? "", data: "" }
    block.data += piece.data ?? ""
    blocks.set(piece.index ?? `at ${at}`, block)
  }
  return new Map([...blocks.values()].map(({ id, data }) => [id, data]))
}

const assistantParts = (
  message: AssistantMessage,
  path: string,
): Either.Either<ReadonlyArray<JsonObject>, Unsupported> =>
  Either.gen(function* () {
    const signatures = signaturesOf(message)
    const signed = (id: string) => given({ thoughtSignature: signatures.get(id) })
    const texts = (yield* contentParts(message.content, path)).filter(({ text }) => text !== "")
    if (texts.length === 0 && signatures.has("")) texts.push({ text: "" })
    const parts = texts.map((part, at) => (at === texts.length - 1 ? { ...part, ...signed("") } : part))
    for (const call of message.tool_calls ?? []) {
      if (call.function === undefined) continue
      const { id, function: called } = call
      parts.push({ functionCall: { id, name: called.name, args: argumentsObject(call) }, ...signed(id) })
    }
    return parts
  })

const resultParts = (message: ToolMessage, names: ReadonlyMap<string, string>, path: string) =>
  Either.gen(function* () {
    const id = message.tool_call_id
    const name = names.get(id)
    if (name === undefined)
      return yield* Either.left(new Unsupported({ path, reason: "no call in the conversation has this id" }))
    const others = (yield* contentParts(message.content, path)).filter((part) => part["text"] === undefined)
    return [{ functionResponse: { id, name, response: resultOf(textOf(message.content)) } }, ...others]
  })

const resultOf = (text: string): JsonObject => {
  try {
    const value: unknown = JSON.parse(text)
    return isJsonObject(value) ? value : { result: value }
  } catch {
    return { result: text }
  }
}

// --- tools

const hostTools: Readonly<Record<string, string>> = {
  google_search: "googleSearch",
  url_context: "urlContext",
  code_execution: "codeExecution",
}

const toolsOf = (tools: ReadonlyArray<Tool>): Either.Either<ReadonlyArray<JsonObject>, Unsupported> => {
  const functions: Array<JsonObject> = []
  const others: Array<JsonObject> = []
  for (const [at, tool] of tools.entries()) {
    const own = hostTools[tool.type]
    if (tool.function !== undefined) {
      const { name, description, parameters } = tool.function
      functions.push(
        given({ name, description: description ?? undefined, parametersJsonSchema: parameters ?? undefined }),
      )
    } else if (own !== undefined) others.push({ [own]: {} })
    else return Either.left(new Unsupported({ path: `tools[${at}]`, reason: "this host has no such tool" }))
  }
  return Either.right(functions.length === 0 ? others : [{ functionDeclarations: functions }, ...others])
}

const toolConfig = (choice: ChatRequest["payload"]["tool_choice"]): JsonObject | undefined => {
  if (choice == null) return undefined
  if (choice === "none" || choice === "auto") return { functionCallingConfig: { mode: choice.toUpperCase() } }
  if (choice === "required") return { functionCallingConfig: { mode: "ANY" } }
  const named = isJsonObject(choice["function"]) ? choice["function"]["name"] : undefined
  return { functionCallingConfig: { mode: "ANY", ...(named === undefined ? {} : { allowedFunctionNames: [named] }) } }
}

// --- generationConfig

const generationConfig = ({ payload, maxTokens, reasoning }: ChatRequest, host: Host) => {
  const { stop, response_format: wanted, top_k: topK, n } = payload
  const thinkingConfig = thinking(reasoning, maxTokens, host)
  const isJson = wanted?.type === "json_object" || wanted?.type === "json_schema"
  const config = given({
    maxOutputTokens: maxTokens,
    temperature: payload.temperature ?? undefined,
    topP: payload.top_p ?? undefined,
    topK: topK == null || topK === 0 ? undefined : topK,
    frequencyPenalty: payload.frequency_penalty ?? undefined,
    presencePenalty: payload.presence_penalty ?? undefined,
    seed: payload.seed ?? undefined,
    stopSequences: stop == null ? undefined : typeof stop === "string" ? [stop] : stop,
    candidateCount: n == null || n === 1 ? undefined : n,
    responseLogprobs: payload.logprobs ?? undefined,
    logprobs: payload.top_logprobs ?? undefined,
    responseMimeType: isJson ? "application/json" : undefined,
    responseJsonSchema: wanted?.type === "json_schema" ? (wanted.json_schema?.schema ?? undefined) : undefined,
    responseModalities: modalitiesOf(payload["modalities"]),
    thinkingConfig: thinkingConfig === "dropped" ? undefined : thinkingConfig,
  })
  const dropped = [
    ...(thinkingConfig === "dropped" ? ["reasoning"] : []),
    ...(wanted != null && wanted.type !== "text" && !isJson ? ["response_format"] : []),
  ]
  return { config: Object.keys(config).length === 0 ? undefined : config, dropped }
}

const modalitiesOf = (value: unknown) =>
  Array.isArray(value) ? value.map((each) => String(each).toUpperCase()) : undefined

/** Gemini 3 takes a level, 2.5 a number of tokens, older ones neither. */
const thinking = (
  reasoning: ChatRequest["reasoning"],
  maxTokens: number | undefined,
  host: Host,
): JsonObject | "dropped" | undefined => {
  const wish = reasoningWish(reasoning)
  if (wish === undefined) return undefined
  const [, version] = /gemini-(\d+(?:\.\d+)?)/.exec(host.upstreamModel) ?? []
  if (version !== undefined && Number(version) < 2.5) return wish === "off" ? undefined : "dropped"
  const includeThoughts = wish !== "off" && !reasoning.exclude
  const limit = maxTokens ?? host.maxCompletionTokens
  const isPro = host.upstreamModel.includes("pro")
  if (version !== undefined && Number(version) >= 3) {
    const share = wish === "off" ? 0 : (wish.tokens ?? tokensFor(wish.effort, limit)) / limit
    const least = isPro ? "low" : "minimal"
    return {
      includeThoughts,
      thinkingLevel: share <= 0.1 ? least : share <= 0.3 ? "low" : share <= 0.6 && !isPro ? "medium" : "high",
    }
  }
  const tokens = wish === "off" ? 0 : Math.round(wish.tokens ?? tokensFor(wish.effort, limit))
  return { includeThoughts, thinkingBudget: Math.min(Math.max(tokens, isPro ? 128 : 0), isPro ? 32_768 : 24_576) }
}
