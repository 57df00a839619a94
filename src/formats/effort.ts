/** Reasoning efforts, and the share of the output tokens that each stands for. */
import { baseModelOf, type Host } from "../domain/hosts/Host.ts"
import type { ChatRequest, Effort, Reasoning } from "../domain/request/request.ts"

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
  return nearest(known, (effort) => Math.abs(shares[effort] - share)) ?? known[0] ?? "medium"
}

/** The first of those with the least distance. */
const nearest = <Step>(steps: ReadonlyArray<Step>, distance: (step: Step) => number): Step | undefined => {
  const least = Math.min(...steps.map(distance))
  return steps.find((step) => distance(step) === least)
}

/** The efforts that a host knows, by its own model name, in ascending order; none: those of the host's record. */
interface EffortQuirks {
  readonly efforts?: (upstreamModel: string) => ReadonlyArray<string>
}

/** The effort that the caller wants; `undefined` where it cannot be requested from the host. */
export const effortAsked = (
  wish: NonNullable<ReturnType<typeof reasoningWish>>,
  { maxTokens }: ChatRequest,
  host: Host,
  quirks: EffortQuirks,
): string | undefined => {
  const parameters = host.supportedParameters
  if (parameters.length > 0 && !parameters.includes("reasoning") && !parameters.includes("reasoning_effort")) return
  const asked = wish === "off" ? "none" : (wish.effort ?? effortFor(wish.tokens, maxTokens ?? host.maxCompletionTokens))
  const ofQuirk = quirks.efforts?.(baseModelOf(host)) ?? []
  const known = ofQuirk.length > 0 ? ofQuirk : (host.efforts ?? [])
  return known.length === 0 ? asked : nearestKnown(asked, known)
}

const ladder: ReadonlyArray<string> = efforts

/**
 * The effort, or the nearest one that the host knows; the lower of two. `none` is not sent to a host that always
 * reasons. It is nearer to `minimal` than any effort above `low`.
 */
const nearestKnown = (effort: string, known: ReadonlyArray<string>): string | undefined => {
  if (known.includes(effort)) return effort
  const wanted = ladder.indexOf(effort)
  if (wanted === -1) return undefined
  const step = nearest(
    ladder.filter((one) => known.includes(one)),
    (one) => Math.abs(ladder.indexOf(one) - wanted),
  )
  return effort === "minimal" && step !== "low" && known.includes("none") ? "none" : step
}
