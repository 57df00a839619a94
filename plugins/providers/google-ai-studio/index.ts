/** The Gemini API of Google's AI Studio. */
import * as Schema from "effect/Schema"
import { authHeader, defineProvider } from "headgate/plugin"
import { generateContentProtocol } from "headgate/plugin/generate-content"

const generateContent = generateContentProtocol()

// From Google's pages on the Gemini API and its terms, read in 2026-11.
export default defineProvider({
  id: "google-ai-studio",
  name: "Google AI Studio",
  baseUrl: "https://generativelanguage.googleapis.com/v1beta",
  auth: authHeader("x-goog-api-key"),
  keyVariable: "GEMINI_API_KEY",
  // Of paid services: no training, prompts are kept for a time to find abuse. Prompts of the free tier are used for training.
  privacy: { mayTrain: false, retainsPrompts: true },
  config: Schema.Struct({}),
  load: () => ({
    protocols: { generate_content: generateContent },
    error: generateContent.error,
    // Reading from the cache costs a quarter up to Gemini 2.0 and a tenth later; writing to it what the prompt costs.
    cacheMultipliers: ({ model }) => ({ read: /gemini-(?:1|2\.0)/.test(model) ? 0.25 : 0.1 }),
  }),
})
