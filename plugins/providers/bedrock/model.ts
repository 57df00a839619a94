/** What follows from the vendor's name of a model at Bedrock. */
import { baseModelOf, type Host, type ThinkingKind, thinkingOfClaude } from "headgate/plugin"

/** Which own request members a model has. */
export type Family = "claude" | "nova" | "cohere" | "gpt-oss" | "other"

/** From "Inference request parameters" of AWS's user guide, read in 2026-11. */
const families: ReadonlyArray<readonly [models: RegExp, family: Family]> = [
  [/anthropic\.|claude/, "claude"],
  [/amazon\.nova/, "nova"],
  [/cohere\.command/, "cohere"],
  [/openai\.gpt-oss/, "gpt-oss"],
]

/** By the id, or the operator's `base_model`; by our own name's author where an ARN says nothing. */
export const familyOf = (host: Host): Family => {
  const [, family] = families.find(([models]) => models.test(baseModelOf(host))) ?? []
  if (family !== undefined) return family
  return host.model.startsWith("anthropic/") ? "claude" : host.model.startsWith("amazon/nova") ? "nova" : "other"
}

/** Path of an operation. Ids have colons, and ARNs also slashes. */
export const pathOf = ({ upstreamModel }: Host, operation: string): string =>
  `/model/${encodeURIComponent(upstreamModel)}/${operation}`

/** How thinking is requested from a Claude model: by its id, else by our own name of it. */
export const thinkingKindOf = (baseModel: string, model = ""): ThinkingKind => {
  const name = (/claude-[\w-]+/.exec(baseModel) ?? /claude-[\w.-]+/.exec(model))?.[0].replaceAll(".", "-") ?? ""
  return thinkingOfClaude(name)
}

/** Whether it takes an effort: Nova 2, by its user guide (2026-11). Untested against recorded traffic. */
export const novaReasons = (host: Host): boolean => /nova-2/.test(`${baseModelOf(host)} ${host.model}`)
