/** `generationConfig`: how the answer is made, and how much the model thinks before. */

import { baseModelOf, type Host } from "../../domain/hosts/Host.ts"
import type { Issues } from "../../domain/json/checks.ts"
import { isJsonObject, type JsonObject, textOr } from "../../domain/json/json.ts"
import type { ChatPayload, ResponseFormat } from "../../domain/request/chat.ts"
import { addParameters, type PlacedParameter, placedIn } from "../../domain/request/placedParameters.ts"
import type { ChatRequest, Effort, Reasoning } from "../../domain/request/request.ts"
import { effortFor, type ReasoningWish, reasoningWish, tokensFor } from "../effort.ts"
import { type Dropped, dropOthers } from "../request/Dropped.ts"
import { tokenCount } from "../request/members.ts"
import { isEffort, noReasoning } from "../request/reasoning.ts"
import { given, givenSome } from "./generateContentJson.ts"
import {
  type ModelFacts,
  modelFacts,
  type ThinkingControl,
  type ThinkingLevel,
  thinkingLevels,
} from "./generateContentModels.ts"
import { hasFunctions, readSchema } from "./generateContentTools.ts"

/** Parameters that need no function of their own. */
export const parameters: ReadonlyArray<PlacedParameter> = placedIn("generateContent")

/** Members by the member of the canonical form that they stand for. Where that was taken out, the host lacks it. */
const counterparts: ReadonlyMap<string, string> = new Map([
  ...parameters.map(({ name, at }) => [at, name] as const),
  ...["responseMimeType", "responseSchema", "responseJsonSchema"].map((name) => [name, "response_format"] as const),
  ["responseModalities", "modalities"],
  ["imageConfig", "image_config"],
])

/** Members of the canonical request that are fields of it, not of its payload. */
const apart: ReadonlySet<string> = new Set(["maxOutputTokens", "thinkingConfig"])

const translated: ReadonlySet<string> = new Set([...counterparts.keys(), ...apart])

/** The members of the payload that a client's config stands for. */
export const readConfig = (config: JsonObject, untranslated: Dropped, issues: Issues): Partial<ChatPayload> => {
  const payload: Record<string, unknown> = {}
  for (const { name, at, check } of parameters) {
    if (config[at] == null) continue
    check?.(config[at], `generationConfig.${at}`, issues)
    payload[name] = config[at]
  }
  if (config["maxOutputTokens"] != null)
    tokenCount(config["maxOutputTokens"], "generationConfig.maxOutputTokens", issues)
  const { responseModalities: modalities, imageConfig: image } = config
  if (Array.isArray(modalities)) payload["modalities"] = modalities.map((kind) => String(kind).toLowerCase())
  if (isJsonObject(image))
    payload["image_config"] = given({ aspect_ratio: image["aspectRatio"], image_size: image["imageSize"] })
  dropOthers(config, translated, "generationConfig", untranslated)
  return { ...payload, ...readFormat(config, untranslated) }
}

/** The config for a host of a request in the canonical form. */
export const writtenConfig = (request: ChatRequest, host: Host, facts: ModelFacts): JsonObject => {
  const { payload, maxTokens } = request
  const config: Record<string, unknown> = maxTokens === undefined ? {} : { maxOutputTokens: maxTokens }
  addParameters(parameters, payload, config)
  const { modalities, image_config: image, audio } = payload
  const voiceName = isJsonObject(audio) ? textOr(audio["voice"], undefined) : undefined
  return given({
    ...config,
    ...(facts.isThird || !hasFunctions(payload) ? writtenFormat(payload.response_format) : {}),
    responseModalities: Array.isArray(modalities) ? modalities.map((kind) => String(kind).toUpperCase()) : undefined,
    imageConfig: isJsonObject(image)
      ? given({ aspectRatio: image["aspect_ratio"] ?? undefined, imageSize: image["image_size"] ?? undefined })
      : undefined,
    speechConfig: voiceName === undefined ? undefined : { voiceConfig: { prebuiltVoiceConfig: { voiceName } } },
    thinkingConfig: thinkingConfig(request, host, facts.thinking),
  })
}

/** Others that change nothing of what an answer costs per token. */
const harmless: ReadonlySet<string> = new Set(["mediaResolution", "speechConfig", "enableEnhancedCivicAnswers"])

/** A client's config for a host of Google's: as it was written, but for the bounds and what the host lacks. */
export const passedConfig = (
  written: JsonObject,
  request: ChatRequest,
  host: Host,
  dropped: Array<string>,
): JsonObject | undefined => {
  const { payload, maxTokens, reasoning } = request
  const config: Record<string, unknown> = {}
  // Google has more formats than the canonical form.
  const isOwnFormat = readFormat(written, []).response_format === undefined
  for (const name in written) {
    if (written[name] == null || apart.has(name)) continue
    const counterpart = counterparts.get(name)
    // What a host lacks was named when it was taken out.
    if (counterpart === undefined && !harmless.has(name)) dropped.push(`generationConfig.${name}`)
    else if (counterpart === undefined || payload[counterpart] !== undefined) config[name] = written[name]
    else if (counterpart === "response_format" && isOwnFormat) config[name] = written[name]
  }
  const { thinkingConfig: own } = written
  const thinking = isJsonObject(own) ? own : thinkingConfig(request, host, modelFacts(baseModelOf(host)).thinking)
  // A variant of the model's name may ask for it, and a host may not reason at all.
  const isAsked = reasoningWish(reasoning) !== undefined || asksNothing(thinking)
  return givenSome({ ...config, maxOutputTokens: maxTokens, thinkingConfig: isAsked ? thinking : undefined })
}

/** Whether it says only how thoughts are shown. */
const asksNothing = (thinking: JsonObject | undefined): boolean =>
  thinking?.["thinkingBudget"] == null && thinking?.["thinkingLevel"] == null

// --- what the text of the answer has to be

const readFormat = (config: JsonObject, untranslated: Dropped): Partial<ChatPayload> => {
  const { responseMimeType: type, responseSchema: written, responseJsonSchema: own } = config
  if (type !== "application/json") {
    if (type != null && type !== "text/plain") untranslated.push("generationConfig.responseMimeType")
    for (const name of ["responseSchema", "responseJsonSchema"])
      if (config[name] != null) untranslated.push(`generationConfig.${name}`)
    return {}
  }
  const schema = readSchema(own, written)
  if (schema === undefined) return { response_format: { type: "json_object" } }
  return { response_format: { type: "json_schema", json_schema: { name: "answer", schema } } }
}

const writtenFormat = (format: ResponseFormat | null | undefined): JsonObject => {
  if (format?.type !== "json_object" && format?.type !== "json_schema") return {}
  const schema = format.type === "json_schema" ? (format.json_schema?.schema ?? undefined) : undefined
  return { responseMimeType: "application/json", responseJsonSchema: schema }
}

// --- thinking

export const readThinking = (thinking: unknown): Reasoning => {
  if (!isJsonObject(thinking)) return noReasoning
  const { thinkingBudget: budget, thinkingLevel: level } = thinking
  const effort = textOr(level, "").toLowerCase()
  if (isEffort(effort)) return { ...noReasoning, effort, written: { reasoning: { effort } } }
  if (typeof budget !== "number") return noReasoning
  if (budget > 0) return { ...noReasoning, maxTokens: budget, written: { reasoning: { max_tokens: budget } } }
  const enabled = budget < 0
  return { ...noReasoning, enabled, written: { reasoning: { enabled } } }
}

/** `undefined`: nothing is asked for, or the model cannot think. */
const thinkingConfig = (
  { reasoning, maxTokens }: ChatRequest,
  host: Host,
  control: ThinkingControl,
): JsonObject | undefined => {
  const wish = reasoningWish(reasoning)
  if (wish === undefined || control.kind === "none") return undefined
  const includeThoughts = wish !== "off" && !reasoning.exclude
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

const levelOfEffort: Readonly<Record<Effort, ThinkingLevel>> = {
  ...{ none: "minimal", minimal: "minimal", low: "low", medium: "medium" },
  ...{ high: "high", xhigh: "high", max: "high" },
}

/**
 * The wanted level, or the next one above it that the model has. A model that always thinks does so as little as it
 * can.
 */
const levelOf = (wish: Wish, limit: number, known: ReadonlyArray<ThinkingLevel>): ThinkingLevel => {
  const asked =
    wish === "off" ? "none" : wish.effort === undefined ? effortFor(wish.tokens, limit, thinkingLevels) : wish.effort
  const least = thinkingLevels.indexOf(levelOfEffort[asked])
  return known.find((level) => thinkingLevels.indexOf(level) >= least) ?? "high"
}
