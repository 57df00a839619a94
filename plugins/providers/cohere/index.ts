/**
 * Cohere's own API, version 2: chat, embeddings and rerank. Facts from Cohere's documentation (API reference, pricing, usage
 * policy), read in 2026-11.
 */
import * as Schema from "effect/Schema"
import { defineProvider } from "headgate/plugin"

export default defineProvider({
  id: "cohere",
  name: "Cohere",
  baseUrl: "https://api.cohere.com/v2",
  keyVariable: ["CO_API_KEY", "COHERE_API_KEY"],
  // An account may opt out of training; whether it did is not known here.
  privacy: { mayTrain: true, retainsPrompts: true },
  config: Schema.Struct({}),
  load: async () => (await import("./provider.ts")).provider,
})
