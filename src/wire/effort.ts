/** Reasoning efforts, and the share of the output tokens that each stands for. */
import type { Effort, Reasoning } from "../domain/request/request.ts"

/** From least to most. */
export const efforts: ReadonlyArray<Effort> = ["minimal", "low", "medium", "high", "xhigh", "max"]

/** Share of the output tokens that each effort may take. */
const shares: Readonly<Record<Effort, number>> = {
  none: 0,
  minimal: 0.1,
  low: 0.2,
  medium: 0.5,
  high: 0.8,
  xhigh: 0.95,
  max: 0.95,
}

/** What the caller wants: the default, no reasoning, an effort, or a number of tokens. */
export type ReasoningWish =
  | undefined
  | "off"
  | { readonly effort: Effort; readonly tokens?: never }
  | { readonly tokens: number; readonly effort?: never }

/** The members of `reasoning` as one wish. Without an effort or tokens, `enabled` means `medium`. */
export const reasoningWish = ({ effort, maxTokens, enabled }: Reasoning): ReasoningWish => {
  if (effort === "none" || enabled === false) return "off"
  if (effort !== undefined) return { effort }
  if (maxTokens !== undefined) return { tokens: maxTokens }
  return enabled === true ? { effort: "medium" } : undefined
}

/** Tokens that an effort may take out of `maxTokens` tokens of output; not rounded. */
export const tokensFor = (effort: Effort, maxTokens: number): number => maxTokens * shares[effort]

/**
 * The effort among `known` (in ascending order) whose share of `maxTokens` is nearest to these tokens; the lower of
 * two.
 */
export const effortFor = (tokens: number, maxTokens: number, known: ReadonlyArray<Effort> = efforts): Effort => {
  const share = tokens / maxTokens
  let nearest: Effort = known[0] ?? "medium"
  for (const effort of known) {
    if (Math.abs(shares[effort] - share) < Math.abs(shares[nearest] - share)) nearest = effort
  }
  return nearest
}
