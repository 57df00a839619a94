/**
 * What requests of the Messages format say about thinking, and what of it their answers show.
 *
 * Four generations of Claude differ (Anthropic's "extended thinking", "adaptive thinking", "effort" and migration
 * pages, read in 2026-11): `budget`, up to Claude 4.5, takes a number of tokens and refuses adaptive thinking; `both`,
 * Claude 4.6, takes a number too, and is sent one only if the client wrote one, since budgets are deprecated there;
 * `adaptive`, from Opus 4.7 on, takes an effort, and refuses budgets and sampling parameters; `always`, Fable and the
 * 5.5 models, cannot stop thinking either. `either` is another vendor's model: it is sent adaptive thinking of a client
 * of this format, and else a number.
 */
import { described, integer, objectOf, oneOf } from "../../domain/json/checks.ts"
import { isJsonObject, type JsonObject, objectIn, textOr } from "../../domain/json/json.ts"
import { promptTokens } from "../../domain/money/Charge.ts"
import type { ChatRequest, Reasoning } from "../../domain/request/request.ts"
import type { AnswerNames } from "../AnswerWriter.ts"
import { effortFor, type ReasoningWish, reasoningWish, tokensFor } from "../effort.ts"
import { countOf } from "../request/chatRequest.ts"
import { most } from "../request/members.ts"
import { isEffort, noReasoning } from "../request/reasoning.ts"
import type { Turn } from "../request/turns.ts"
import { requiredWhere } from "./messagesTools.ts"

export type ThinkingKind = "budget" | "either" | "both" | "adaptive" | "always"

// From Anthropic's migration guides, read in 2026-11. Thinking budgets end with Claude 4.6. Thinking can be turned off
// for Opus 4.7 to 5, Sonnet 5 and Haiku 5.5, but not for Fable, Mythos, Opus 5.5 and Sonnet 5.5. Later models are
// assumed to be like the last ones.
const givenBudget = /(?:^|[./])claude-(?:\d|v\d|instant|(?:opus|sonnet|haiku)-4(?!-[7-9]))/
const canStop = /(?:^|[./])claude-(?:(?:opus|sonnet|haiku)-(?:4|5(?!-[5-9]))|haiku-5)/

// Adaptive thinking begins with Claude 4.6 (Anthropic's page on adaptive thinking, 2026-11). At Claude 4.5 and before:
// "Input tag 'adaptive' found using 'type' does not match any of the expected tags" (strands-agents/sdk-python#1856).
const neverAdaptive = /(?:^|[./])claude-(?:\d|v\d|instant|(?:opus|sonnet|haiku)-4(?!-[6-9]))/

/**
 * How a Claude model is asked to think, by its name at any host: `claude-opus-4-1`, `anthropic.claude-opus-4-1-v1:0`.
 */
export const thinkingOfClaude = (upstreamModel: string): ThinkingKind =>
  neverAdaptive.test(upstreamModel)
    ? "budget"
    : givenBudget.test(upstreamModel)
      ? "both"
      : canStop.test(upstreamModel)
        ? "adaptive"
        : "always"

/**
 * Whether a model of the kind `budget` knows efforts (Anthropic's page on effort, 2026-11: from Opus 4.5 on), by its
 * name at any host.
 */
export const knowsEffort = (baseModel: string): boolean => baseModel.includes("claude-opus-4-5")

// --- what clients ask for

const thinkingShape = objectOf(
  {
    type: oneOf("enabled", "disabled", "adaptive"),
    budget_tokens: described("Required where type is enabled.", integer(1, most.tokens)),
    display: oneOf("summarized", "omitted"),
  },
  "type",
)

/** The member `thinking` of a request. */
export const thinkingCheck = requiredWhere(thinkingShape, "enabled", "budget_tokens")

/** Adaptive thinking goes by the effort, which without it says how long the answer is to be. */
export const reasoningOf = ({ thinking, output_config: config }: JsonObject): Reasoning => {
  if (!isJsonObject(thinking)) return noReasoning
  if (thinking["type"] === "enabled") {
    const maxTokens = countOf(thinking["budget_tokens"])
    return { ...noReasoning, maxTokens, written: { reasoning: { max_tokens: maxTokens } } }
  }
  const enabled = isAdaptive(thinking)
  const { effort } = objectIn(config)
  if (enabled && isEffort(effort)) return { ...noReasoning, effort, written: { reasoning: { effort } } }
  return { ...noReasoning, enabled, written: { reasoning: { enabled } } }
}

export const isAdaptive = (thinking: unknown): boolean => objectIn(thinking)["type"] === "adaptive"

// --- what hosts are asked for

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
  const isBudget = kind === "budget" || kind === "either" || kind === "both"
  const asked = readThinking(payload["thinking"], maxTokens)
  const given = kind === "budget" && isAdaptive(asked) ? undefined : asked
  if (given?.["type"] === "enabled" && lacksThinking(turns)) return { ...unasked, sampling: isBudget }
  if (given !== undefined) return { ...unasked, thinking: given, sampling: isBudget && given["type"] === "disabled" }
  const wish = reasoningWish(reasoning)
  const asksEffort = wish !== undefined && wish !== "off" && wish.effort !== undefined
  if (isBudget && !(kind === "both" && asksEffort)) {
    const tokens = forced || lacksThinking(turns) ? undefined : budgetOf(wish, maxTokens)
    if (tokens === undefined) return { ...unasked, sampling: true }
    return { ...unasked, thinking: { type: "enabled", budget_tokens: tokens } }
  }
  if (wish === undefined) return unasked
  if (kind === "adaptive" && wish === "off") return { ...unasked, thinking: { type: "disabled" } }
  return {
    thinking: { type: "adaptive", display: reasoning.exclude ? "omitted" : "summarized" },
    effort: wish === "off" ? "low" : effortOf(wish, maxTokens, kind),
    sampling: false,
  }
}

const unasked: Thinking = { thinking: undefined, effort: undefined, sampling: false }

/** The caller's own `thinking`, as far as it is one, and within the bound of the output; `undefined`: it is none. */
const readThinking = (given: unknown, maxTokens: number): JsonObject | undefined => {
  const { type, budget_tokens: budget, display } = objectIn(given)
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

const effortOf = (wish: Exclude<ReasoningWish, "off" | undefined>, maxTokens: number, kind: ThinkingKind): string => {
  // Opus 4.7 was the first with this one (Anthropic's page on effort, 2026-11).
  if (kind === "both" && wish.effort === "xhigh") return "high"
  if (wish.tokens !== undefined) return effortFor(wish.tokens, maxTokens, ["low", "medium", "high", "xhigh"])
  return wish.effort === "minimal" ? "low" : wish.effort
}

/**
 * The thinking budget for a model that refuses adaptive thinking; `undefined`: none is wanted, or `maxTokens` does not
 * exceed the smallest budget that the host accepts.
 */
export const budgetFor = (adaptive: JsonObject, reasoning: Reasoning, maxTokens: number): JsonObject | undefined => {
  const tokens = budgetOf(reasoningWish(reasoning), maxTokens)
  return tokens === undefined ? undefined : { ...adaptive, type: "enabled", budget_tokens: tokens }
}

/**
 * The caller's thinking with its budget below `maxTokens`, which may be lower than the caller's own bound; `undefined`:
 * `maxTokens` does not exceed the smallest budget that the host accepts.
 */
export const withinBound = (thinking: JsonObject, maxTokens: number): JsonObject | undefined => {
  const { budget_tokens: budget } = thinking
  if (typeof budget !== "number" || budget < maxTokens) return thinking
  return maxTokens > leastBudget ? { ...thinking, budget_tokens: maxTokens - 1 } : undefined
}

/**
 * Whether there are tool results for a turn whose thinking is missing. With a thinking budget the host refuses such a
 * conversation; without thinking it accepts it.
 */
export const lacksThinking = (turns: ReadonlyArray<Turn>): boolean => {
  const at = turns.findLastIndex(({ role }) => role === "assistant")
  const isResult = (block: JsonObject): boolean => block["type"] === "tool_result"
  if (at === -1 || !turns.slice(at + 1).some(({ content }) => content.some(isResult))) return false
  const first = turns[at]?.content[0]?.["type"]
  return first !== "thinking" && first !== "redacted_thinking"
}

// --- what clients are shown

/** What every answer to one request has in common. */
export interface MessageNames extends AnswerNames {
  /**
   * What callers get of the thinking of a host of another form: its text, only signatures (`thinking.display` is
   * `omitted`), or nothing, where they did not ask for it. A host of this form sees to that itself.
   */
  readonly thinking: "shown" | "signed" | "none"
  /** Estimated tokens of the prompt, which clients read at the start of a stream. */
  readonly promptTokens: number
}

export const namesFor = (names: AnswerNames, { native, reasoning, bounds }: ChatRequest): MessageNames => ({
  ...names,
  thinking: shownThinking(objectIn(native?.body), reasoning),
  promptTokens: promptTokens(bounds),
})

const shownThinking = ({ thinking, model }: JsonObject, reasoning: Reasoning): MessageNames["thinking"] => {
  if (objectIn(thinking)["display"] === "omitted") return "signed"
  const wish = reasoningWish(reasoning)
  // The name of a model may ask, too.
  const isAsked = wish === undefined ? textOr(model, "").includes(":thinking") : wish !== "off"
  return isAsked ? "shown" : "none"
}
