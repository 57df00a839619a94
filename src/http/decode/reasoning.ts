/** The members for reasoning, which several forms share: `reasoning`, `reasoning_effort`, `include_reasoning`. */
import { isJsonObject, type JsonObject } from "../../domain/json/Json.ts"
import { type Effort, noReasoning, type Reasoning } from "../../domain/request/Request.ts"
import { type Check, flag, type Issues, integer, objectOf, oneOf, orNull, report } from "./checks.ts"

export { noReasoning }

const effort = oneOf("max", "xhigh", "high", "medium", "low", "minimal", "none")

const reasoning = objectOf({
  effort: orNull(effort),
  max_tokens: orNull(integer(0, 2 ** 31 - 1)),
  enabled: flag,
  exclude: flag,
  summary: orNull(oneOf("auto", "concise", "detailed")),
  context: oneOf("auto", "all_turns", "current_turn"),
  mode: oneOf("standard", "pro"),
})

export const reasoningMembers = {
  include_reasoning: orNull(flag),
  reasoning: orNull(reasoning),
  reasoning_effort: orNull(effort),
} satisfies Readonly<Record<string, Check>>

/** Effort, its shorthand and a token budget exclude each other, unless they agree. */
export const checkReasoning = (body: JsonObject, issues: Issues): void => {
  const { reasoning: asked, reasoning_effort: shorthand } = body
  if (!isJsonObject(asked)) return
  if (asked["max_tokens"] != null && (asked["effort"] ?? shorthand) != null) {
    report(issues, "reasoning", "takes either an effort or max_tokens, not both")
  }
  if (shorthand != null && asked["effort"] != null && asked["effort"] !== shorthand) {
    report(issues, "reasoning_effort", "differs from reasoning.effort")
  }
}

/** Combines the three members, which were checked before. */
export const reasoningOf = (body: JsonObject): Reasoning => {
  const { reasoning: asked, reasoning_effort: shorthand, include_reasoning: include } = body
  if (asked == null && shorthand == null && include == null) return noReasoning
  const { effort: named, max_tokens: maxTokens, enabled, exclude }: JsonObject = isJsonObject(asked) ? asked : {}
  const effort = named ?? shorthand
  return {
    effort: isEffort(effort) ? effort : undefined,
    maxTokens: typeof maxTokens === "number" ? maxTokens : undefined,
    enabled: typeof enabled === "boolean" ? enabled : undefined,
    exclude: include === false || exclude === true,
    written: {
      ...(asked == null ? {} : { reasoning: asked }),
      ...(shorthand == null ? {} : { reasoning_effort: shorthand }),
      ...(include == null ? {} : { include_reasoning: include }),
    },
  }
}

const efforts: ReadonlySet<unknown> = new Set<Effort>(["none", "minimal", "low", "medium", "high", "xhigh", "max"])

export const isEffort = (value: unknown): value is Effort => efforts.has(value)
