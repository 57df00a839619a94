/**
 * Google's clients at Google's hosts. Their body is sent as it came, but for the bounds, what the host lacks, tools without a
 * price and reasoning of other vendors; events and answers are passed on, with ids, model, usage and cost exchanged.
 */
import * as Either from "effect/Either"
import type { Unsupported } from "../../domain/failures/Failure.ts"
import type { Host } from "../../domain/hosts/Host.ts"
import { isJsonObject, type JsonObject, objectsIn } from "../../domain/json/json.ts"
import { placedIn } from "../../domain/request/placedParameters.ts"
import type { ChatRequest, NativeRequest } from "../../domain/request/request.ts"
import type { NativeWriter } from "../ChunkWriter.ts"
import { reasoningWish } from "../effort.ts"
import { type Encoded, jsonBody } from "../Protocol.ts"
import { foreignCall } from "./generateContentContents.ts"
import { given } from "./generateContentJson.ts"
import { modelFacts } from "./generateContentModels.ts"
import { isOwnSignature } from "./generateContentParts.ts"
import { modelPath, tierOf } from "./generateContentRequest.ts"
import { thinkingConfig } from "./generationConfig.ts"

/** Name of the form. */
export const generateContentForm = "generateContent"

/** Members of `generationConfig` by the member of the canonical form that they stand for. Where that was taken out, the host lacks it. */
const counterparts: ReadonlyMap<string, string> = new Map([
  ...placedIn("generateContent").map(({ name, at }) => [at, name] as const),
  ...["responseMimeType", "responseSchema", "responseJsonSchema"].map((name) => [name, "response_format"] as const),
  ["responseModalities", "modalities"],
  ["imageConfig", "image_config"],
])

/** Others that change nothing of what an answer costs per token. */
const alsoKnown: ReadonlySet<string> = new Set(["mediaResolution", "speechConfig", "enableEnhancedCivicAnswers"])

export const encodeNative = (
  vertex: boolean,
  request: ChatRequest,
  { body }: NativeRequest,
  host: Host,
): Either.Either<Encoded, Unsupported> => {
  const { payload } = request
  const dropped: Array<string> = []
  const facts = modelFacts(host.upstreamModel)
  const tools = toolsOf(body["tools"], request, dropped)
  const tier = tierOf(payload.service_tier)
  const sent = given({
    contents: objectsIn(body["contents"]).flatMap((content) => turnOf(content, facts.isThird)),
    systemInstruction: instructionOf(body["systemInstruction"]),
    tools: tools.length === 0 ? undefined : tools,
    toolConfig: tools.length === 0 ? undefined : (body["toolConfig"] ?? undefined),
    safetySettings: body["safetySettings"] ?? undefined,
    labels: vertex ? (body["labels"] ?? undefined) : undefined,
    generationConfig: configOf(request, body["generationConfig"], host, dropped),
    service_tier: vertex ? undefined : tier,
  })
  for (const name in body) {
    const isSent = sent[name] !== undefined || carriedApart.has(name) || body[name] == null
    if (!isSent) dropped.push(name)
  }
  const method = request.stream ? "streamGenerateContent?alt=sse" : "generateContent"
  return Either.right({
    path: `${modelPath(host.upstreamModel, vertex)}:${method}`,
    ...(vertex && tier !== undefined ? { headers: { "x-vertex-ai-llm-shared-request-type": tier } } : {}),
    ...jsonBody(sent),
    dropped,
  })
}

/** Members that are sent in another way, or whose own loss is named. */
const carriedApart: ReadonlySet<string> = new Set([
  "model",
  "stream",
  "tools",
  "toolConfig",
  "generationConfig",
  "user",
])

const instructionOf = (value: unknown): JsonObject | undefined =>
  typeof value === "string" ? { parts: [{ text: value }] } : isJsonObject(value) ? value : undefined

/** Functions, and a search where the host may be asked for one. */
const toolsOf = (tools: unknown, { payload }: ChatRequest, dropped: Array<string>): ReadonlyArray<JsonObject> =>
  objectsIn(tools).flatMap((tool, at): ReadonlyArray<JsonObject> => {
    const { functionDeclarations: functions, googleSearch: search, ...others } = tool
    for (const name in others) dropped.push(`tools[${at}].${name}`)
    const left = given({
      functionDeclarations: payload.tools == null ? undefined : (functions ?? undefined),
      googleSearch: payload["web_search_options"] == null ? undefined : (search ?? undefined),
    })
    return Object.keys(left).length === 0 ? [] : [left]
  })

/** Reasoning of other vendors is left out. Gemini 3 refuses a turn whose first call is not signed, as those of other hosts are. */
const turnOf = (content: JsonObject, isThird: boolean): ReadonlyArray<JsonObject> => {
  const parts = objectsIn(content["parts"])
  const own = parts.filter(({ thoughtSignature: signature }) => !isOwnSignature(signature))
  if (own.length === 0 && parts.length > 0) return []
  const first = own.findIndex((part) => part["functionCall"] != null)
  const isUnsigned = isThird && first !== -1 && content["role"] === "model" && own[first]?.["thoughtSignature"] == null
  if (!isUnsigned) return [own.length === parts.length ? content : { ...content, parts: own }]
  return [
    { ...content, parts: own.map((part, at) => (at === first ? { ...part, thoughtSignature: foreignCall } : part)) },
  ]
}

const configOf = (
  request: ChatRequest,
  written: unknown,
  host: Host,
  dropped: Array<string>,
): JsonObject | undefined => {
  const { payload, maxTokens, reasoning } = request
  const config: Record<string, unknown> = {}
  const given: JsonObject = isJsonObject(written) ? written : {}
  for (const name in given) {
    const counterpart = counterparts.get(name)
    const isKnown = counterpart === undefined ? alsoKnown.has(name) : payload[counterpart] !== undefined
    if (given[name] == null || apart.has(name)) continue
    if (isKnown) config[name] = given[name]
    // What a host lacks was named when it was taken out.
    else if (counterpart === undefined) dropped.push(`generationConfig.${name}`)
  }
  if (maxTokens !== undefined) config["maxOutputTokens"] = maxTokens
  const wish = reasoningWish(reasoning)
  const thinking = given["thinkingConfig"]
  const { thinking: control } = modelFacts(host.upstreamModel)
  const asked = isJsonObject(thinking) ? thinking : thinkingConfig(request, host, control)
  // A variant of the model's name may ask for it, and a host may not reason at all.
  if (asked !== undefined && (wish !== undefined || asksNothing(asked))) config["thinkingConfig"] = asked
  return Object.keys(config).length === 0 ? undefined : config
}

const apart: ReadonlySet<string> = new Set(["maxOutputTokens", "thinkingConfig"])

/** Whether it says only how thoughts are shown. */
const asksNothing = (thinking: JsonObject): boolean =>
  thinking["thinkingBudget"] == null && thinking["thinkingLevel"] == null

/** Passes the events of a host on. Their usage and the finishes are withheld, so that the last event has them with the cost. */
export class NativeEvents implements NativeWriter {
  hasStarted = false
  hasSpoken = false
  /** What the host counted last. */
  usage: JsonObject | undefined
  private readonly finishes = new Map<unknown, JsonObject>()
  private readonly written: (event: JsonObject) => string

  constructor(written: (event: JsonObject) => string) {
    this.written = written
  }

  event(_: string, event: JsonObject): string {
    const { usageMetadata: usage, candidates, error, ...others } = event
    if (error != null) return ""
    this.hasStarted = true
    if (isJsonObject(usage)) this.usage = { ...this.usage, ...usage }
    const said = objectsIn(candidates).flatMap((candidate): ReadonlyArray<JsonObject> => {
      const { finishReason, finishMessage, ...own } = candidate
      const place = own["index"] ?? 0
      if (finishReason != null) this.finishes.set(place, given({ index: place, finishReason, finishMessage }))
      const { content, index: _index, ...more } = own
      const isSaid = isJsonObject(content) && objectsIn(content["parts"]).length > 0
      return isSaid || Object.keys(more).length > 0 ? [own] : []
    })
    const isBlocked = others["promptFeedback"] != null
    if (said.length === 0 && !isBlocked) return ""
    this.hasSpoken = true
    return this.written(said.length === 0 ? others : { ...others, candidates: said })
  }

  /** The members of the last event. `ends`: of the candidates, as the gateway would write them where the host did not. */
  last(ends: ReadonlyArray<JsonObject>): JsonObject {
    return {
      candidates: ends.map((end) => ({ ...end, ...this.finishes.get(end["index"] ?? 0) })),
    }
  }

  plainBytes(): number {
    return 0
  }

  plain(): string {
    return ""
  }
}
