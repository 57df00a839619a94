/**
 * Novita AI. Facts: the project's catalogue, 2026-08; reasoning and error codes: not read again, unverified; privacy: the project's catalogue, 2026-08.
 * Untested against recorded traffic.
 */
import { chatHost, modelsIn } from "headgate/plugin"

export default chatHost({
  id: "novita",
  name: "Novita AI",
  baseUrl: "https://api.novita.ai/openai/v1",
  keyVariable: "NOVITA_API_KEY",
  privacy: { mayTrain: false, retainsPrompts: false },
  chat: {
    own: ["enable_thinking", "separate_reasoning"],
    history: "reasoning_content",
    reasoning: ({ effort }) => ({ enable_thinking: effort !== "none" }),
  },
  embeddings: {},
  // Codes of `reason` in its own form of errors, which come with 403, 400 and 404.
  reasons: { NOT_ENOUGH_BALANCE: "account", INVALID_API_KEY: "account", MODEL_NOT_FOUND: "not-found" },
  models: modelsIn(new URL("./models.json", import.meta.url)),
})
