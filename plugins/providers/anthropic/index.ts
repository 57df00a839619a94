/** Anthropic's own API. */
import * as Schema from "effect/Schema"
import { authHeader, defineProvider, messagesProtocol } from "headgate/plugin"

// Anthropic's migration guides, read in 2026-11: budgets end with Claude 4.6; Opus 4.7 to 5, Sonnet 5 and Haiku 5.5
// can be kept from thinking; Fable, Mythos, Opus 5.5 and Sonnet 5.5 cannot, nor, as far as one can guess, what follows.
const givenBudget = /^claude-(?:\d|instant|(?:opus|sonnet|haiku)-4(?!-[7-9]))/
const canStop = /^claude-(?:(?:opus|sonnet|haiku)-(?:4|5(?!-[5-9]))|haiku-5)/

const messages = messagesProtocol({
  thinking: (model) => (givenBudget.test(model) ? "budget" : canStop.test(model) ? "adaptive" : "always"),
})

export default defineProvider({
  id: "anthropic",
  name: "Anthropic",
  baseUrl: "https://api.anthropic.com/v1",
  auth: authHeader("x-api-key"),
  keyVariable: "ANTHROPIC_API_KEY",
  // Not trained on; kept for 30 days. Catalogue, state of 2026-08.
  privacy: { mayTrain: false, retainsPrompts: true },
  config: Schema.Struct({}),
  load: () => ({
    protocols: { messages },
    error: messages.error,
    models: async () => (await import("./models.ts")).models,
  }),
})
