/**
 * How the vendors differ that serve the Messages API. Claude Code's page for gateways
 * (code.claude.com/docs/en/llm-gateway-protocol, 2026-11) asks that headers and members are forwarded unchanged to
 * Anthropic, and that Foundry is treated like it. Other clouds refuse what they do not know: "invalid beta flag",
 * "Extra inputs are not permitted".
 */
import { baseModelOf, type Host } from "../../domain/hosts/Host.ts"
import type { NativeRequest } from "../../domain/request/request.ts"
import { messagesForm } from "./messagesMembers.ts"

/** What a vendor's API takes of a request, beside what all of them take. */
export interface MessagesApi {
  /** Whether it takes Claude Code's attribution block out of the prompt (`formats/request/attribution.ts`). */
  readonly attribution: boolean
  /** Whether a model there takes system messages within the conversation (`BlockWriter.systemTurns`). */
  readonly systemTurns: (baseModel: string) => boolean
  /**
   * The betas that change what becomes of a translated request. Those of a request that is sent as it came all pass.
   */
  readonly betas: ReadonlyArray<Beta>
  /** Whether it takes `cache_control` of the body, which marks the end of the prompt. */
  readonly marksBody: boolean
  /**
   * Whether it takes `safeguards` (code.claude.com/docs/en/auto-mode-classifier-billing, 2026-11). They are free of
   * charge.
   */
  readonly safeguards: boolean
  /** Whether it is sent members that the gateway does not know, if they cannot cost or reach anything. */
  readonly unknownMembers: boolean
}

/** A beta, and the models for which a cloud takes it. */
interface Beta {
  readonly name: string
  readonly models: RegExp
}

/** Whose API it is: Anthropic's own, another cloud's, or a server of any other vendor that speaks the format. */
export type MessagesCloud = "anthropic" | "foundry" | "bedrock" | "vertex" | "other"

/**
 * From Opus 4.8 on, but not Sonnet 5 (platform.claude.com/docs/en/build-with-claude/mid-conversation-system-messages,
 * 2026-11). Others answer 400: "role 'system' is not supported on this model".
 */
const laterClaude = /claude-(?:opus-4-[89]|(?:opus|haiku)-[5-9]|sonnet-(?:5-[5-9]|[6-9])|fable|mythos)/
const byModel = (baseModel: string): boolean => laterClaude.test(baseModel)
const never = (): boolean => false

const longContextBeta = "context-1m"

/**
 * Beyond the usual context vendors bill twice the price (Anthropic's page on context windows, 2025-11), which the price
 * list of such a host has.
 */
const longContext = 1_000_000

// Later models think between calls and read a million tokens without a beta, and these clouds fail a request whose beta
// is not for its model (Anthropic's page on extended thinking, 2026-11). Names: AWS's user guide, "Anthropic Claude
// Messages API", and BerriAI/litellm's anthropic_beta_headers_config.json, 2026-11.
const ofBothClouds: ReadonlyArray<Beta> = [
  { name: "context-1m-2025-08-07", models: /claude-(?:sonnet-4(?!-[7-9])|opus-4-6)/ },
  { name: "interleaved-thinking-2025-05-14", models: /claude-(?:opus-4(?!-[6-9])|sonnet-4(?!-[6-9]))/ },
]
const ofBedrock: ReadonlyArray<Beta> = [
  ...ofBothClouds,
  { name: "effort-2025-11-24", models: /claude-opus-4-5/ },
  { name: "fine-grained-tool-streaming-2025-05-14", models: /claude-(?:opus|sonnet|haiku)-4/ },
]

const translated = { attribution: false, marksBody: false, safeguards: false, unknownMembers: false }

export const messagesApis: Readonly<Record<MessagesCloud, MessagesApi>> = {
  anthropic: {
    ...{ attribution: true, systemTurns: byModel, betas: [] },
    ...{ marksBody: true, safeguards: true, unknownMembers: true },
  },
  foundry: {
    // Not among the clouds that the page on system messages names.
    ...{ attribution: false, systemTurns: never, betas: [] },
    ...{ marksBody: true, safeguards: true, unknownMembers: false },
  },
  bedrock: { ...translated, systemTurns: byModel, betas: ofBedrock },
  vertex: { ...translated, systemTurns: byModel, betas: ofBothClouds },
  other: {
    ...{ attribution: false, systemTurns: never, betas: [] },
    ...{ marksBody: true, safeguards: false, unknownMembers: false },
  },
}

/**
 * The betas of a caller of the Messages format that a translated request for a host has. Lost ones are named in
 * `dropped`.
 */
export const betasFor = (
  cloud: MessagesCloud,
  native: NativeRequest | undefined,
  host: Host,
  dropped: Array<string>,
): ReadonlyArray<string> => {
  const given = native?.form === messagesForm ? native.headers["anthropic-beta"] : undefined
  if (given === undefined) return []
  const { betas } = messagesApis[cloud]
  const names = given.split(",")
  const baseModel = baseModelOf(host)
  const isTaken = (name: string) =>
    isPaid(name, host) && betas.some((beta) => beta.name === name && beta.models.test(baseModel))
  const taken = names.filter(isTaken)
  if (taken.length < names.length) dropped.push("anthropic-beta")
  return taken
}

/** Whether the host's price list has what a beta may cost. */
export const isPaid = (beta: string, { contextLength }: Host): boolean =>
  contextLength >= longContext || !beta.startsWith(longContextBeta)
