/** A canonical request in Google's words. Google refuses members that it does not know, so only known ones are sent. */
import * as Either from "effect/Either"
import { Unsupported } from "../../domain/failures/Failure.ts"
import type { Host } from "../../domain/hosts/Host.ts"
import { isJsonObject, type JsonObject } from "../../domain/json/json.ts"
import type { ChatPayload } from "../../domain/request/chat.ts"
import { translatedIn } from "../../domain/request/placedParameters.ts"
import type { ChatRequest } from "../../domain/request/request.ts"
import { withFunctions } from "../customTools.ts"
import { reasoningWish } from "../effort.ts"
import { type Encoded, jsonBody } from "../Protocol.ts"
import { conversationOf } from "./generateContentContents.ts"
import { given } from "./generateContentJson.ts"
import type { Reader } from "./generateContentMedia.ts"
import { modelFacts } from "./generateContentModels.ts"
import { droppedOfTools, toolFields } from "./generateContentTools.ts"
import { generationConfig, parameters } from "./generationConfig.ts"

/** Parameters that this protocol has, and what it takes besides. */
const carried: ReadonlySet<string> = new Set([
  ...["messages", "safetySettings"],
  ...translatedIn("generateContent"),
  ...parameters.map(({ name }) => name),
])

export const encodeGenerateContent = (
  vertex: boolean,
  request: ChatRequest,
  host: Host,
): Either.Either<Encoded, Unsupported> =>
  Either.gen(function* () {
    const lost: Array<string> = []
    const payload = withFunctions(request.payload, lost)
    const reader: Reader = { vertex, facts: modelFacts(host.upstreamModel) }
    yield* soundOf(payload)
    const { system, contents, dropped } = yield* conversationOf(payload.messages, reader)
    const tools = yield* toolFields(payload, reader)
    const config = generationConfig({ ...request, payload }, host, reader.facts)
    const tier = tierOf(payload.service_tier)
    const body = given({
      contents,
      systemInstruction: system.length === 0 ? undefined : { parts: system },
      ...tools,
      generationConfig: Object.keys(config).length === 0 ? undefined : config,
      safetySettings: payload["safetySettings"] ?? undefined,
      service_tier: vertex ? undefined : tier,
    })
    const method = request.stream ? "streamGenerateContent?alt=sse" : "generateContent"
    return {
      path: `${modelPath(host.upstreamModel, vertex)}:${method}`,
      ...(vertex && tier !== undefined ? { headers: { "x-vertex-ai-llm-shared-request-type": tier } } : {}),
      ...jsonBody(body),
      dropped: [...lost, ...droppedOf(request, reader, config), ...droppedOfTools(payload), ...dropped],
    }
  })

/** Where a model is, relative to the base URL. A name with a slash says so itself: `tunedModels/x`, `endpoints/7`. */
export const modelPath = (name: string, vertex: boolean): string => {
  if (name.includes("/")) return `/${name.split("/").map(encodeURIComponent).join("/")}`
  return `${vertex ? "/publishers/google" : ""}/models/${encodeURIComponent(name)}`
}

/** The only audio that Google writes is raw: 16 bits, 24 kHz. */
const soundOf = ({ audio }: ChatPayload): Either.Either<void, Unsupported> =>
  isJsonObject(audio) && audio["format"] != null && audio["format"] !== "pcm16"
    ? Either.left(new Unsupported({ path: "audio.format", reason: "this host writes pcm16 only" }))
    : Either.void

/** Google's tiers besides the usual one. */
export const tierOf = (tier: string | null | undefined): string | undefined =>
  tier === "flex" || tier === "priority" ? tier : undefined

/** Names of the caller's members that are not sent to the host in any form. */
const droppedOf = ({ payload, reasoning }: ChatRequest, { facts }: Reader, config: JsonObject) => {
  // Several calls in an answer are what Google's models do anyway.
  const isUsual = (name: string) => name === "parallel_tool_calls" && payload[name] === true
  const dropped = Object.keys(payload).filter((name) => payload[name] != null && !carried.has(name) && !isUsual(name))
  const format = payload.response_format
  if (format != null && format.type !== "text" && config["responseMimeType"] === undefined) {
    dropped.push("response_format")
  }
  const tier = payload.service_tier
  if (tier != null && tier !== "auto" && tier !== "default" && tierOf(tier) === undefined) dropped.push("service_tier")
  const wish = reasoningWish(reasoning)
  if (wish !== undefined && wish !== "off" && facts.thinking.kind === "none") {
    dropped.push(reasoning.written["reasoning"] == null ? "reasoning_effort" : "reasoning")
  }
  return dropped
}
