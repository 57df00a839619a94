/** How the vendors differ that serve the Messages API. */

/** What a vendor's API takes of a request, beside what all of them take. */
export interface MessagesApi {
  /** Whether it takes Claude Code's attribution block out of the prompt (`formats/request/attribution.ts`). */
  readonly attribution: boolean
}

/** Whose API it is: Anthropic's own, another cloud's, or a server of any other vendor that speaks the format. */
export type MessagesCloud = "anthropic" | "foundry" | "bedrock" | "vertex" | "other"

export const messagesApis: Readonly<Record<MessagesCloud, MessagesApi>> = {
  anthropic: { attribution: true },
  foundry: { attribution: false },
  bedrock: { attribution: false },
  vertex: { attribution: false },
  other: { attribution: false },
}
