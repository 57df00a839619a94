/** The Gemini API of Google's AI Studio. */
import * as Schema from "effect/Schema"
import { authHeader, defineProvider } from "headgate/plugin"

// From Google's pages on the Gemini API, its keys, prices and terms, read in 2026-11.
export default defineProvider({
  id: "google-ai-studio",
  name: "Google AI Studio",
  authors: ["google"],
  baseUrl: "https://generativelanguage.googleapis.com/v1beta",
  auth: authHeader("x-goog-api-key"),
  keyVariable: ["GEMINI_API_KEY", "GOOGLE_API_KEY", "GOOGLE_GENERATIVE_AI_API_KEY"],
  // Of paid services: no training, prompts are kept for a time to find abuse. Prompts of the free tier are trained on.
  privacy: { mayTrain: false, retainsPrompts: true },
  config: Schema.Struct({}),
  load: async () => (await import("./provider.ts")).provider,
})
