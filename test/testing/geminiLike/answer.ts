/** Gemini's answers in the canonical form: whole, and event by event. */
import {
  type Annotation,
  type AnswerContext,
  type ChatChunk,
  type ChatChunkChoice,
  type ChatUsage,
  type Decoder,
  errorInBody,
  type FinishReason,
  HostFailed,
  isJsonObject,
  type JsonObject,
  newCallId,
  type OutputImage,
  type Protocol,
  type ReasoningDetail,
  type ToolCall,
} from "headgate/plugin"
import { refined } from "./failure.ts"
import { format, given, numberIn, objectIn, objectsIn } from "./json.ts"

const malformed = (detail?: string) =>
  new HostFailed({ reason: "malformed", ...(detail === undefined ? {} : { detail }) })

// --- what one candidate says

interface Said {
  text: string
  thoughts: string
  readonly details: Array<ReasoningDetail>
  readonly calls: Array<ToolCall>
  readonly images: Array<OutputImage>
}

/** Counts the blocks of reasoning of one candidate over all its events. */
interface Blocks {
  next: number
  isOpen: boolean
}

const saidIn = (candidate: JsonObject, blocks: Blocks): Said => {
  const said: Said = { text: "", thoughts: "", details: [], calls: [], images: [] }
  for (const part of objectsIn(objectIn(candidate["content"])["parts"])) readPart(part, said, blocks)
  return said
}

const readPart = (part: JsonObject, said: Said, blocks: Blocks): void => {
  const { text, functionCall: called, inlineData: data, thoughtSignature: signature } = part
  if (part["thought"] === true) {
    if (typeof text !== "string" || text === "") return
    if (!blocks.isOpen) blocks.next++
    blocks.isOpen = true
    said.thoughts += text
    said.details.push({ type: "reasoning.text", text, format, index: blocks.next - 1 })
    return
  }
  let id: string | undefined
  if (typeof text === "string") said.text += text
  else if (isJsonObject(called) && typeof called["name"] === "string") {
    id = typeof called["id"] === "string" ? called["id"] : newCallId()
    const written = JSON.stringify(called["args"] ?? {})
    said.calls.push({ id, type: "function", function: { name: called["name"], arguments: written } })
  } else if (isJsonObject(data)) {
    said.images.push({ type: "image_url", image_url: { url: `data:${data["mimeType"]};base64,${data["data"]}` } })
  } else return
  if (text !== "") blocks.isOpen = false
  if (typeof signature !== "string") return
  blocks.isOpen = false
  said.details.push({
    type: "reasoning.encrypted",
    data: signature,
    format,
    index: blocks.next++,
    ...(id === undefined ? {} : { id }),
  })
}

const members = ({ thoughts, details, images }: Said) => ({
  ...(thoughts === "" ? {} : { reasoning: thoughts }),
  ...(details.length === 0 ? {} : { reasoning_details: details }),
  ...(images.length === 0 ? {} : { images }),
})

const reasons: Readonly<Record<string, FinishReason>> = {
  STOP: "stop",
  MAX_TOKENS: "length",
  ...Object.fromEntries(
    "SAFETY RECITATION LANGUAGE BLOCKLIST PROHIBITED_CONTENT SPII IMAGE_SAFETY IMAGE_PROHIBITED_CONTENT IMAGE_RECITATION"
      .split(" ")
      .map((word) => [word, "content_filter"]),
  ),
}

/** Endings with which the answer cannot be used. */
const broken = new Set([
  "MALFORMED_FUNCTION_CALL",
  "UNEXPECTED_TOOL_CALL",
  "TOO_MANY_TOOL_CALLS",
  "MISSING_THOUGHT_SIGNATURE",
  "NO_IMAGE",
])

const finishOf = ({ finishReason, finishMessage }: JsonObject, hasCalls: boolean) => {
  const native = String(finishReason)
  if (broken.has(native)) return malformed(`${native}: ${finishMessage ?? "no message"}`)
  const reason = reasons[native] ?? "stop"
  return { finish_reason: hasCalls && reason === "stop" ? "tool_calls" : reason, native_finish_reason: native } as const
}

const logprobsOf = ({ logprobsResult: result }: JsonObject): JsonObject | null => {
  if (!isJsonObject(result)) return null
  const one = (each: JsonObject) => ({ token: String(each["token"]), logprob: each["logProbability"], bytes: null })
  const top = objectsIn(result["topCandidates"])
  const content = objectsIn(result["chosenCandidates"]).map((each, at) => ({
    ...one(each),
    top_logprobs: objectsIn(top[at]?.["candidates"]).map(one),
  }))
  return { content }
}

const citations = ({
  groundingMetadata: grounds,
}: JsonObject): { readonly annotations?: ReadonlyArray<Annotation> } => {
  const found = objectsIn(objectIn(grounds)["groundingChunks"]).flatMap((chunk): ReadonlyArray<Annotation> => {
    const { uri, title } = objectIn(chunk["web"])
    return typeof uri === "string"
      ? [{ type: "url_citation", url_citation: { url: uri, title: String(title ?? uri) } }]
      : []
  })
  return found.length === 0 ? {} : { annotations: found }
}

/** A prompt that was refused has no candidates: an empty answer of the filter. */
const blocked = ({ promptFeedback: feedback }: JsonObject) => {
  const { blockReason, blockReasonMessage } = objectIn(feedback)
  if (typeof blockReason !== "string") return undefined
  const refusal = typeof blockReasonMessage === "string" ? blockReasonMessage : null
  return { refusal, finish_reason: "content_filter", native_finish_reason: blockReason } as const
}

// --- usage

const ofModality = (details: unknown, modality: string) =>
  numberIn(objectsIn(details).find((each) => each["modality"] === modality)?.["tokenCount"])

/** Gemini counts thoughts beside the candidates and the prompts of its own tools beside the prompt; zeros are left out. */
const usageOf = (body: JsonObject, searches: number): { readonly usage?: ChatUsage } => {
  const counted = body["usageMetadata"]
  if (!isJsonObject(counted)) return {}
  const prompt = numberIn(counted["promptTokenCount"])
  if (prompt === undefined) return {}
  const thoughts = numberIn(counted["thoughtsTokenCount"]) ?? 0
  const usage: ChatUsage = {
    prompt_tokens: prompt + (numberIn(counted["toolUsePromptTokenCount"]) ?? 0),
    completion_tokens: (numberIn(counted["candidatesTokenCount"]) ?? 0) + thoughts,
    prompt_tokens_details: given({
      cached_tokens: numberIn(counted["cachedContentTokenCount"]),
      audio_tokens: ofModality(counted["promptTokensDetails"], "AUDIO"),
      video_tokens: ofModality(counted["promptTokensDetails"], "VIDEO"),
    }),
    completion_tokens_details: given({
      reasoning_tokens: thoughts,
      image_tokens: ofModality(counted["candidatesTokensDetails"], "IMAGE"),
      audio_tokens: ofModality(counted["candidatesTokensDetails"], "AUDIO"),
    }),
    ...(searches === 0 ? {} : { server_tool_use_details: { web_search_requests: searches } }),
  }
  return { usage }
}

/** Gemini 3 asks a price for each search, older ones for each answer that rests on any. */
const searchesIn = ({ groundingMetadata: grounds }: JsonObject, { host }: AnswerContext): number => {
  const queries = objectIn(grounds)["webSearchQueries"]
  const count = Array.isArray(queries) ? queries.filter((each) => each !== "").length : 0
  return host.upstreamModel.includes("gemini-3") ? count : Math.min(count, 1)
}

// --- whole answers

export const decode: Protocol["decode"] = (_head, body, context) => {
  if (!isJsonObject(body)) return malformed()
  if (body["error"] != null) return refined(errorInBody(body["error"]), body["error"])
  const candidates = objectsIn(body["candidates"])
  const refused = blocked(body)
  const searches = candidates.reduce((sum, each) => sum + searchesIn(each, context), 0)
  if (candidates.length === 0 && refused !== undefined) {
    const { refusal, ...finish } = refused
    return {
      choices: [{ index: 0, ...finish, message: { role: "assistant", content: null, refusal } }],
      ...usageOf(body, 0),
    }
  }
  const choices = []
  for (const [at, candidate] of candidates.entries()) {
    const said = saidIn(candidate, { next: 0, isOpen: false })
    const finish = finishOf(candidate, said.calls.length > 0)
    if (finish instanceof HostFailed) return finish
    const content = said.text === "" && said.calls.length > 0 ? null : said.text
    const calls = said.calls.length === 0 ? {} : { tool_calls: said.calls }
    const message = { role: "assistant", content, ...members(said), ...calls, ...citations(candidate) } as const
    choices.push({ index: numberIn(candidate["index"]) ?? at, ...finish, logprobs: logprobsOf(candidate), message })
  }
  return choices.length === 0 ? malformed() : { choices, ...usageOf(body, searches) }
}

// --- streamed answers

interface State extends Blocks {
  calls: number
  searches: number
  isFinished: boolean
}

export const decoder: Protocol["decoder"] = (_head, context): Decoder => {
  const states = new Map<number, State>()
  const stateOf = (index: number): State => {
    const state = states.get(index) ?? { next: 0, isOpen: false, calls: 0, searches: 0, isFinished: false }
    states.set(index, state)
    return state
  }
  const chunkChoices = (candidate: JsonObject): ReadonlyArray<ChatChunkChoice> | HostFailed => {
    const index = numberIn(candidate["index"]) ?? 0
    const state = stateOf(index)
    const said = saidIn(candidate, state)
    const pieces = said.calls.map((call) => ({ index: state.calls++, ...call }))
    state.searches = Math.max(state.searches, searchesIn(candidate, context))
    const delta = {
      ...(said.text === "" ? {} : { content: said.text }),
      ...members(said),
      ...(pieces.length === 0 ? {} : { tool_calls: pieces }),
      ...citations(candidate),
    }
    const logprobs = logprobsOf(candidate)
    const choices: Array<ChatChunkChoice> = []
    if (Object.keys(delta).length > 0)
      choices.push({ index, delta, finish_reason: null, ...(logprobs === null ? {} : { logprobs }) })
    if (candidate["finishReason"] == null || state.isFinished) return choices
    const finish = finishOf(candidate, state.calls > 0)
    if (finish instanceof HostFailed) return finish
    state.isFinished = true
    return [...choices, { index, delta: {}, ...finish }]
  }
  const event: Decoder["event"] = (_name, data) => {
    if (!isJsonObject(data)) return malformed()
    if (data["error"] != null) return refined(errorInBody(data["error"]), data["error"])
    if (data["candidates"] === undefined && data["usageMetadata"] === undefined && data["promptFeedback"] === undefined)
      return malformed()
    const chunks: Array<ChatChunk> = []
    const refused = blocked(data)
    if (refused !== undefined && !stateOf(0).isFinished) {
      const { refusal, ...finish } = refused
      stateOf(0).isFinished = true
      chunks.push({ choices: [{ index: 0, delta: { refusal }, ...finish }] })
    }
    for (const candidate of objectsIn(data["candidates"])) {
      const choices = chunkChoices(candidate)
      if (choices instanceof HostFailed) return choices
      chunks.push(...choices.map((choice) => ({ choices: [choice] })))
    }
    const searches = [...states.values()].reduce((sum, each) => sum + each.searches, 0)
    const usage = usageOf(data, searches)
    return usage.usage === undefined ? chunks : [...chunks, { choices: [], ...usage }]
  }
  return { event, end: () => [] }
}
