/**
 * Converts the canonical `reasoning` to Anthropic's thinking parameters.
 *
 * Three generations differ (Anthropic's "extended thinking", "adaptive thinking" and migration pages, read in 2026-11):
 * `budget`, up to Claude 4.6, is given a number of tokens; `adaptive`, from Opus 4.7 on, an effort, and refuses budgets
 * and sampling parameters; `always`, Fable and the 5.5 models, cannot stop thinking either.
 */
import { isJsonObject, type JsonObject } from "../../domain/json/json.ts"
import type { ChatRequest } from "../../domain/request/request.ts"
import { effortFor, type ReasoningWish, reasoningWish, tokensFor } from "../effort.ts"
import type { Turn } from "./writeMessagesContent.ts"

export type ThinkingKind = "budget" | "adaptive" | "always"

// From Anthropic's migration guides, read in 2026-11. Thinking budgets end with Claude 4.6. Thinking can be turned off
// for Opus 4.7 to 5, Sonnet 5 and Haiku 5.5, but not for Fable, Mythos, Opus 5.5 and Sonnet 5.5. Later models are assumed
// to be like the last ones.
const givenBudget = /(?:^|[./])claude-(?:\d|instant|(?:opus|sonnet|haiku)-4(?!-[7-9]))/
const canStop = /(?:^|[./])claude-(?:(?:opus|sonnet|haiku)-(?:4|5(?!-[5-9]))|haiku-5)/

/** How a Claude model is asked to think, by its name at any host: `claude-opus-4-1`, `anthropic.claude-opus-4-1-v1:0`. */
export const thinkingOfClaude = (upstreamModel: string): ThinkingKind =>
  givenBudget.test(upstreamModel) ? "budget" : canStop.test(upstreamModel) ? "adaptive" : "always"

export interface Thinking {
  /** Value of the `thinking` member; `undefined`: it is left out. */
  readonly thinking: unknown
  /** Value of `output_config.effort`. */
  readonly effort: string | undefined
  /** Whether temperature, top_p and top_k may be sent along. */
  readonly sampling: boolean
}

const leastBudget = 1024
const largestBudget = 128_000

/**
 * `forced`: a tool must be called. Claude cannot do that while it thinks with a budget, so it is not asked to think;
 * adaptive thinking takes it. `maxTokens`: the bound that is sent. A thinking budget has to stay
 * below it. It is never raised, since the reservation depends on it.
 */
export const thinkingFor = (
  kind: ThinkingKind,
  { payload, reasoning }: ChatRequest,
  maxTokens: number,
  forced: boolean,
  turns: ReadonlyArray<Turn>,
): Thinking => {
  const given = readThinking(payload["thinking"], maxTokens)
  if (given !== undefined) {
    if (given["type"] === "enabled" && lacksThinking(turns))
      return { thinking: undefined, effort: undefined, sampling: kind === "budget" }
    return { thinking: given, effort: undefined, sampling: kind === "budget" && given["type"] === "disabled" }
  }
  const wish = reasoningWish(reasoning)
  if (kind === "budget") {
    const tokens = forced || lacksThinking(turns) ? undefined : budgetOf(wish, maxTokens)
    return {
      thinking: tokens === undefined ? undefined : { type: "enabled", budget_tokens: tokens },
      effort: undefined,
      sampling: tokens === undefined,
    }
  }
  if (kind === "adaptive" && wish === "off") {
    return { thinking: { type: "disabled" }, effort: undefined, sampling: false }
  }
  if (wish === undefined) return { thinking: undefined, effort: undefined, sampling: false }
  return {
    thinking: { type: "adaptive", display: reasoning.exclude ? "omitted" : "summarized" },
    effort: wish === "off" ? "low" : effortOf(wish, maxTokens),
    sampling: false,
  }
}

/** The caller's own `thinking`, as far as it is one, and within the bound of the output; `undefined`: it is none. */
const readThinking = (given: unknown, maxTokens: number): JsonObject | undefined => {
  if (!isJsonObject(given)) return undefined
  const { type, budget_tokens: budget, display } = given
  const shown = display === "summarized" || display === "omitted" ? { display } : {}
  if (type === "disabled") return { type }
  if (type === "adaptive") return { type, ...shown }
  if (type !== "enabled" || typeof budget !== "number") return undefined
  const tokens = Math.min(Math.floor(budget), maxTokens - 1)
  return tokens < leastBudget ? undefined : { type, budget_tokens: tokens, ...shown }
}

/**
 * `undefined` when no thinking is wanted, or when `max_tokens` does not exceed the smallest budget that the host
 * accepts.
 */
const budgetOf = (wish: ReasoningWish, maxTokens: number): number | undefined => {
  if (wish === undefined || wish === "off" || wish.tokens === 0) return undefined
  const wanted = wish.tokens ?? Math.min(tokensFor(wish.effort, maxTokens), largestBudget)
  const tokens = Math.min(Math.max(Math.floor(wanted), leastBudget), maxTokens - 1)
  return tokens < leastBudget ? undefined : tokens
}

const effortOf = (wish: Exclude<ReasoningWish, "off" | undefined>, maxTokens: number): string => {
  if (wish.tokens !== undefined) return effortFor(wish.tokens, maxTokens, ["low", "medium", "high", "xhigh"])
  return wish.effort === "minimal" ? "low" : wish.effort
}

/**
 * Whether there are tool results for a turn whose thinking is missing. With a thinking budget the host refuses such a
 * conversation; without thinking it accepts it.
 */
export const lacksThinking = (turns: ReadonlyArray<Turn>): boolean => {
  const asked = turns.at(-2)
  if (asked?.role !== "assistant" || turns.at(-1)?.content.some((block) => block["type"] === "tool_result") !== true) {
    return false
  }
  const first = asked.content[0]?.["type"]
  return first !== "thinking" && first !== "redacted_thinking"
}
