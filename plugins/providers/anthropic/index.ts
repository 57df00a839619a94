/** Anthropic's own API. */
import * as Schema from "effect/Schema"
import { authHeader, defineProvider, messagesProtocol, modelsIn } from "headgate/plugin"

// From Anthropic's migration guides, read in 2026-11. Thinking budgets end with Claude 4.6. Thinking can be turned off
// for Opus 4.7 to 5, Sonnet 5 and Haiku 5.5, but not for Fable, Mythos, Opus 5.5 and Sonnet 5.5. Later models are assumed
// to be like the last ones.
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
  // Not used for training; kept for 30 days (as of 2026-08).
  privacy: { mayTrain: false, retainsPrompts: true },
  config: Schema.Struct({}),
  load: () => ({
    protocols: { messages },
    error: messages.error,
    models: modelsIn(new URL("./models.json", import.meta.url)),
    // For models whose own prices are not known, as for most of those that are.
    cacheMultipliers: () => ({ read: 0.1, write: 1.25, write1h: 2 }),
  }),
})
