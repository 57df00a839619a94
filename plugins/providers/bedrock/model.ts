/** What follows from the name of a model at Bedrock. */
import { type Host, type ThinkingKind, thinkingOfClaude } from "headgate/plugin"

/** Which own request members a model has. */
export type Family = "claude" | "nova" | "cohere" | "gpt-oss" | "other"

/** By the id or ARN at the host; by our own name of the model where the operator's ARN says nothing. */
export const familyOf = ({ upstreamModel, model }: Host): Family => {
  if (/anthropic\.|claude/.test(upstreamModel) || model.startsWith("anthropic/")) return "claude"
  if (/amazon\.nova/.test(upstreamModel) || model.startsWith("amazon/nova")) return "nova"
  if (/cohere\.command/.test(upstreamModel)) return "cohere"
  return /openai\.gpt-oss/.test(upstreamModel) ? "gpt-oss" : "other"
}

/** Path of an operation. Ids have colons, and ARNs also slashes. */
export const pathOf = ({ upstreamModel }: Host, operation: string): string =>
  `/model/${encodeURIComponent(upstreamModel)}/${operation}`

/** How thinking is requested from a Claude model: by its id or ARN, else by our own name of it. */
export const thinkingKindOf = (upstreamModel: string, model = ""): ThinkingKind => {
  const name = (/claude-[\w-]+/.exec(upstreamModel) ?? /claude-[\w.-]+/.exec(model))?.[0].replaceAll(".", "-") ?? ""
  return thinkingOfClaude(name)
}

/** Whether it takes an effort: Nova 2, by its user guide (2026-11). Untested against recorded traffic. */
export const novaReasons = ({ upstreamModel, model }: Host): boolean => /nova-2/.test(`${upstreamModel} ${model}`)
