/** What Google counted, and which tier served. */

import { isJsonObject, type JsonObject, objectsIn } from "../../domain/json/json.ts"
import type { Charge } from "../../domain/money/Charge.ts"
import { isCount } from "../../domain/price/Usage.ts"
import type { ChatUsage } from "../../domain/request/chat.ts"
import { usageBody } from "../routerUsage.ts"
import { given } from "./generateContentJson.ts"

/**
 * The canonical usage; `undefined` where Google did not count, or where a count is none. Without a total and without a count of
 * output, the output is left out, so that it is estimated. Thoughts stand beside the candidates' tokens, and what its own
 * tools put into the prompt beside the prompt's; canonically they are parts of output and prompt. Google leaves zeros out.
 * `searches`: web searches that are billed.
 */
export const usageOf = (metadata: unknown, searches: number): ChatUsage | undefined => {
  if (!isJsonObject(metadata)) return undefined
  const total = metadata["totalTokenCount"]
  if (!isCount(total) && !isCount(metadata["promptTokenCount"])) return undefined
  if (!counts.every((name) => metadata[name] == null || isCount(metadata[name]))) return undefined
  const prompt = count(metadata["promptTokenCount"]) + count(metadata["toolUsePromptTokenCount"])
  const thoughts = count(metadata["thoughtsTokenCount"])
  const candidates = count(metadata["candidatesTokenCount"])
  const isCounted = total != null || metadata["candidatesTokenCount"] != null
  return {
    prompt_tokens: prompt,
    ...(isCounted ? { completion_tokens: outputIn(total, prompt, candidates, thoughts) } : {}),
    prompt_tokens_details: {
      cached_tokens: count(metadata["cachedContentTokenCount"]),
      cached_audio_tokens: ofModality(metadata["cacheTokensDetails"], "AUDIO"),
      audio_tokens: inPrompt(metadata, "AUDIO"),
      image_tokens: inPrompt(metadata, "IMAGE"),
      video_tokens: inPrompt(metadata, "VIDEO"),
    },
    completion_tokens_details: {
      reasoning_tokens: thoughts,
      image_tokens: ofModality(metadata["candidatesTokensDetails"], "IMAGE"),
      audio_tokens: ofModality(metadata["candidatesTokensDetails"], "AUDIO"),
    },
    server_tool_use_details: { web_search_requests: searches },
  }
}

/** What is billed. */
const counts = [
  "totalTokenCount",
  "promptTokenCount",
  "candidatesTokenCount",
  "thoughtsTokenCount",
  "toolUsePromptTokenCount",
] as const

/** What the total has besides the prompt, so that both agree also where thoughts are counted among the candidates' tokens. */
const outputIn = (total: unknown, prompt: number, candidates: number, thoughts: number): number => {
  const rest = isCount(total) ? total - prompt : -1
  return rest >= Math.max(candidates, thoughts) ? rest : candidates + thoughts
}

const count = (value: unknown): number => (isCount(value) ? value : 0)

const ofModality = (details: unknown, modality: string): number =>
  objectsIn(details).reduce((sum, each) => sum + (each["modality"] === modality ? count(each["tokenCount"]) : 0), 0)

const inPrompt = (metadata: JsonObject, modality: string): number =>
  ofModality(metadata["promptTokensDetails"], modality) + ofModality(metadata["toolUsePromptTokensDetails"], modality)

/** The chat form's name of the tier that served. */
export const tierField = (metadata: unknown): { readonly service_tier?: string } => {
  const tier = isJsonObject(metadata) ? metadata["serviceTier"] : undefined
  return typeof tier === "string" ? { service_tier: tier === "standard" ? "default" : tier } : {}
}

/** The counts of an answer as Google writes them, and its cost beside them. Thoughts stand beside the candidates' tokens. */
export const usageMetadata = (charge: Pick<Charge, "usage" | "cost" | "upstream">): JsonObject => {
  const { usage } = charge
  const { cost, is_byok, cost_details } = usageBody(charge)
  return given({
    promptTokenCount: usage.promptTokens,
    candidatesTokenCount: usage.completionTokens - usage.reasoningTokens,
    totalTokenCount: usage.promptTokens + usage.completionTokens,
    cachedContentTokenCount: usage.cachedTokens || undefined,
    thoughtsTokenCount: usage.reasoningTokens || undefined,
    ...{ cost, is_byok, cost_details },
  })
}

/** The host's own counts, with the cost. Where the gateway had to count, its counts replace those of the host. */
export const usageWithCost = (written: unknown, charge: Charge): JsonObject => {
  const own = usageMetadata(charge)
  if (charge.estimated || !isJsonObject(written)) return own
  const { cost, is_byok, cost_details } = own
  return { ...written, cost, is_byok, cost_details }
}
