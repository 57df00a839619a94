/**
 * How much Claude is to think: the canonical `reasoning` member in Anthropic's words. Reference 6.2.
 *
 * Three generations differ (Anthropic's "extended thinking", "adaptive thinking" and migration pages, read in 2026-11):
 * `budget`, up to Claude 4.6, is given a number of tokens; `adaptive`, from Opus 4.7 on, an effort, and refuses budgets
 * and sampling parameters; `always`, Fable and the 5.5 models, cannot stop thinking either.
 */
import type { ChatRequest } from "../../domain/Chat.ts"
import { isJsonObject, type JsonObject } from "../../domain/Json.ts"
import type { Turn } from "./content.ts"

export type ThinkingKind = "budget" | "adaptive" | "always"

export interface Thinking {
  /** Value of the `thinking` member; `undefined`: it is left out. */
  readonly thinking: unknown
  /** Value of `output_config.effort`. */
  readonly effort: string | undefined
  /** Whether temperature, top_p and top_k may be sent along. */
  readonly sampling: boolean
}

interface Wish {
  readonly effort: string
  /** Tokens, when the caller gave a number instead of an effort. */
  readonly budget: number | undefined
}

/** Shares of `max_tokens` that an effort is worth. Reference 6.2. */
const shares: ReadonlyMap<string, number> = new Map([
  ["minimal", 0.1],
  ["low", 0.2],
  ["medium", 0.5],
  ["high", 0.8],
  ["xhigh", 0.95],
  ["max", 0.95],
])

const leastBudget = 1024
const largestBudget = 128_000

/**
 * `forced`: a tool must be called, which no Claude does while it thinks; the caller's tool then wins.
 * `maxTokens`: what is sent, which a budget has to stay below. It is never raised: the money held depends on it (G1).
 */
export const thinkingFor = (
  kind: ThinkingKind,
  request: ChatRequest,
  maxTokens: number,
  forced: boolean,
  turns: ReadonlyArray<Turn>,
): Thinking => {
  const given = request.body["thinking"]
  if (isJsonObject(given)) {
    return { thinking: given, effort: undefined, sampling: kind === "budget" && given["type"] === "disabled" }
  }
  const wish = wishOf(request.body)
  if (kind === "budget") {
    const tokens =
      wish === undefined || wish === "off" || forced || lacksThinking(turns) ? undefined : budgetOf(wish, maxTokens)
    return {
      thinking: tokens === undefined ? undefined : { type: "enabled", budget_tokens: tokens },
      effort: undefined,
      sampling: tokens === undefined,
    }
  }
  if (kind === "adaptive" && (wish === "off" || forced)) {
    return { thinking: { type: "disabled" }, effort: undefined, sampling: false }
  }
  if (wish === undefined) return { thinking: undefined, effort: undefined, sampling: false }
  return {
    thinking: { type: "adaptive", display: request.excludeReasoning ? "omitted" : "summarized" },
    effort: wish === "off" ? "low" : effortOf(wish, maxTokens),
    sampling: false,
  }
}

const wishOf = (body: JsonObject): Wish | "off" | undefined => {
  const reasoning = isJsonObject(body["reasoning"]) ? body["reasoning"] : {}
  const effort = reasoning["effort"] ?? body["reasoning_effort"]
  const budget = reasoning["max_tokens"]
  if (effort === "none" || reasoning["enabled"] === false) return "off"
  if (typeof budget === "number" && budget > 0) return { effort: "medium", budget }
  if (typeof effort === "string") return { effort, budget: undefined }
  return reasoning["enabled"] === true ? { effort: "medium", budget: undefined } : undefined
}

/** `undefined` where `max_tokens` leaves no room for the least budget the host takes. */
const budgetOf = ({ effort, budget }: Wish, maxTokens: number): number | undefined => {
  const wanted = budget ?? Math.min(maxTokens * (shares.get(effort) ?? 0.5), largestBudget)
  const tokens = Math.min(Math.max(Math.floor(wanted), leastBudget), maxTokens - 1)
  return tokens < leastBudget ? undefined : tokens
}

const effortOf = ({ effort, budget }: Wish, maxTokens: number): string => {
  if (budget === undefined) return effort === "minimal" ? "low" : shares.has(effort) ? effort : "medium"
  const share = budget / maxTokens
  const nearest = (["low", "medium", "high", "xhigh"] as const).toSorted(
    (a, b) => Math.abs((shares.get(a) ?? 0) - share) - Math.abs((shares.get(b) ?? 0) - share),
  )
  return nearest[0] ?? "medium"
}

/**
 * Whether tool results are handed in for a turn whose thinking did not come back with it: with a budget the host
 * refuses such a conversation, without thinking it takes it.
 */
const lacksThinking = (turns: ReadonlyArray<Turn>): boolean => {
  const asked = turns.at(-2)
  if (asked?.role !== "assistant" || turns.at(-1)?.content.some((block) => block["type"] === "tool_result") !== true) {
    return false
  }
  const first = asked.content[0]?.["type"]
  return first !== "thinking" && first !== "redacted_thinking"
}
