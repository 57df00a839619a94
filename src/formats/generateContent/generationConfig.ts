/** `generationConfig`: how the answer is made, and how much the model thinks before. */

import type { Host } from "../../domain/hosts/Host.ts"
import { isJsonObject, type JsonObject } from "../../domain/json/json.ts"
import type { ChatPayload, ResponseFormat } from "../../domain/request/chat.ts"
import { addParameters, type PlacedParameter, placedIn } from "../../domain/request/placedParameters.ts"
import type { ChatRequest, Effort } from "../../domain/request/request.ts"
import { effortFor, type ReasoningWish, reasoningWish, tokensFor } from "../effort.ts"
import { given } from "./generateContentJson.ts"
import type { ModelFacts, ThinkingControl, ThinkingLevel } from "./generateContentModels.ts"
import { hasFunctions } from "./generateContentTools.ts"

/** Parameters that need no function of their own. */
export const parameters: ReadonlyArray<PlacedParameter> = placedIn("generateContent")

export const generationConfig = (request: ChatRequest, host: Host, facts: ModelFacts): JsonObject => {
  const { payload, maxTokens } = request
  const config: Record<string, unknown> = maxTokens === undefined ? {} : { maxOutputTokens: maxTokens }
  addParameters(parameters, payload, config)
  const others: JsonObject = {
    ...(facts.isThird || !hasFunctions(payload) ? formatFields(payload.response_format) : {}),
    ...outputFields(payload),
    thinkingConfig: thinkingConfig(request, host, facts.thinking),
  }
  for (const name in others) if (others[name] !== undefined) config[name] = others[name]
  return config
}

const formatFields = (format: ResponseFormat | null | undefined): JsonObject => {
  if (format?.type !== "json_object" && format?.type !== "json_schema") return {}
  const schema = format.type === "json_schema" ? (format.json_schema?.schema ?? undefined) : undefined
  return { responseMimeType: "application/json", responseJsonSchema: schema }
}

/** What the answer consists of: `modalities`, `image_config` and `audio` of the chat form. */
const outputFields = (payload: ChatPayload): JsonObject => {
  const { modalities, image_config: image, audio } = payload
  const voice = isJsonObject(audio) ? audio["voice"] : undefined
  return {
    responseModalities: Array.isArray(modalities) ? modalities.map((kind) => String(kind).toUpperCase()) : undefined,
    imageConfig: isJsonObject(image)
      ? given({ aspectRatio: image["aspect_ratio"] ?? undefined, imageSize: image["image_size"] ?? undefined })
      : undefined,
    speechConfig:
      typeof voice === "string" ? { voiceConfig: { prebuiltVoiceConfig: { voiceName: voice } } } : undefined,
  }
}

/** `undefined`: nothing is asked for, or the model cannot think. */
export const thinkingConfig = (
  { reasoning, maxTokens }: ChatRequest,
  host: Host,
  control: ThinkingControl,
): JsonObject | undefined => {
  const wish = reasoningWish(reasoning)
  if (wish === undefined || control.kind === "none") return undefined
  const isWanted = wish !== "off"
  const includeThoughts = isWanted && !reasoning.exclude
  const limit = maxTokens ?? host.maxCompletionTokens
  switch (control.kind) {
    case "budget":
      return { includeThoughts, thinkingBudget: budgetOf(wish, limit, control) }
    case "level":
      return { includeThoughts, thinkingLevel: levelOf(wish, limit, control.levels) }
    case "fixed":
      return includeThoughts ? { includeThoughts } : undefined
  }
}

type Wish = Exclude<ReasoningWish, undefined>

const budgetOf = (
  wish: Wish,
  limit: number,
  { least, most, canStop }: ThinkingControl & { kind: "budget" },
): number => {
  const tokens = wish === "off" ? 0 : Math.floor(wish.tokens ?? tokensFor(wish.effort, limit))
  return tokens === 0 && canStop ? 0 : Math.min(Math.max(tokens, least), most)
}

const levels: ReadonlyArray<ThinkingLevel> = ["minimal", "low", "medium", "high"]

const levelOfEffort: Readonly<Record<Effort, ThinkingLevel>> = {
  none: "minimal",
  minimal: "minimal",
  low: "low",
  medium: "medium",
  high: "high",
  xhigh: "high",
  max: "high",
}

/** The wanted level, or the next one above it that the model has. A model that always thinks does so as little as it can. */
const levelOf = (wish: Wish, limit: number, known: ReadonlyArray<ThinkingLevel>): ThinkingLevel => {
  const effort = wish === "off" ? "none" : wish.effort
  const wanted = effort === undefined ? levelOfTokens(wish, limit) : levelOfEffort[effort]
  return known.find((level) => levels.indexOf(level) >= levels.indexOf(wanted)) ?? "high"
}

const levelOfTokens = (wish: Wish, limit: number): ThinkingLevel =>
  wish === "off" || wish.tokens === undefined ? "minimal" : levelOfEffort[effortFor(wish.tokens, limit, levels)]
