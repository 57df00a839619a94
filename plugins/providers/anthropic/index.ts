/** Anthropic's own API. Facts: Anthropic's migration guides, read in 2026-11, and recordings. */
import * as Schema from "effect/Schema"
import { authHeader, defineProvider, messagesProtocol, modelsIn, thinkingOfClaude } from "headgate/plugin"

const messages = messagesProtocol({ thinking: thinkingOfClaude, cloud: "anthropic" })

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
    keyCheck: {
      request: { method: "GET", path: "/models", headers: { "anthropic-version": "2023-06-01" }, body: "" },
    },
    models: modelsIn(new URL("./models.json", import.meta.url)),
    // For models whose own prices are not known, as for most of those that are.
    cacheMultipliers: () => ({ read: 0.1, write: 1.25, write1h: 2 }),
    // Of every token, also of its cache (platform.claude.com, pricing: data residency, 2026-11).
    regionMultipliers: { us: 1.1 },
  }),
})
