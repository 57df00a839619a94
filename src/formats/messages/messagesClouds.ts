/** How the vendors differ that serve the Messages API. */

/** What a vendor's API takes of a request, beside what all of them take. */
export interface MessagesApi {
  /** Whether it takes Claude Code's attribution block out of the prompt (`formats/request/attribution.ts`). */
  readonly attribution: boolean
  /** Whether a model there takes system messages within the conversation (`BlockWriter.systemTurns`). */
  readonly systemTurns: (upstreamModel: string) => boolean
}

/** Whose API it is: Anthropic's own, another cloud's, or a server of any other vendor that speaks the format. */
export type MessagesCloud = "anthropic" | "foundry" | "bedrock" | "vertex" | "other"

/**
 * From Opus 4.8 on, but not Sonnet 5 (platform.claude.com/docs/en/build-with-claude/mid-conversation-system-messages, 2026-11).
 * Others answer 400: "role 'system' is not supported on this model".
 */
const laterClaude = /claude-(?:opus-4-[89]|(?:opus|haiku)-[5-9]|sonnet-(?:5-[5-9]|[6-9])|fable|mythos)/
const byModel = (upstreamModel: string): boolean => laterClaude.test(upstreamModel)
const never = (): boolean => false

export const messagesApis: Readonly<Record<MessagesCloud, MessagesApi>> = {
  anthropic: { attribution: true, systemTurns: byModel },
  // Not among the clouds that the page on system messages names.
  foundry: { attribution: false, systemTurns: never },
  bedrock: { attribution: false, systemTurns: byModel },
  vertex: { attribution: false, systemTurns: byModel },
  other: { attribution: false, systemTurns: never },
}
