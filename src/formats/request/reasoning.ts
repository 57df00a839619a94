/** How the members for reasoning go together: `reasoning`, `reasoning_effort`, `include_reasoning`. */

import { hasMember, type JsonSchema, report } from "../../domain/json/checks.ts"
import { isJsonObject, type JsonObject } from "../../domain/json/json.ts"
import { type Effort, noReasoning, type Reasoning } from "../../domain/request/request.ts"
import { ruleOf } from "./rules.ts"

export { noReasoning }

/** No schema says that the shorthand may not differ. */
const effortOrTokens: JsonSchema = {
  not: {
    ...hasMember("reasoning", hasMember("max_tokens")),
    anyOf: [hasMember("reasoning_effort"), hasMember("reasoning", hasMember("effort"))],
  },
}

/** Effort, its shorthand and a token budget exclude each other, unless they agree. */
export const reasoningRule = ruleOf(effortOrTokens, (body, issues) => {
  const { reasoning: asked, reasoning_effort: shorthand } = body
  if (!isJsonObject(asked)) return
  if (asked["max_tokens"] != null && (asked["effort"] ?? shorthand) != null) {
    report(issues, "reasoning", "takes either an effort or max_tokens, not both")
  }
  if (shorthand != null && asked["effort"] != null && asked["effort"] !== shorthand) {
    report(issues, "reasoning_effort", "differs from reasoning.effort")
  }
})

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
