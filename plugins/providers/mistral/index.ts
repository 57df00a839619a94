/**
 * Mistral. Facts: its client library's requests, read in 2026-11, and recordings of 2025 and 2026; embeddings' members: unverified; privacy: the project's
 * catalogue, 2026-08.
 */
import { chatHost, modelsIn } from "headgate/plugin"
import { payloadFor } from "./payload.ts"

const isMagistral = (model: string): boolean => model.startsWith("magistral")

export default chatHost({
  id: "mistral",
  name: "Mistral",
  authors: ["mistralai"],
  baseUrl: "https://api.mistral.ai/v1",
  keyVariable: "MISTRAL_API_KEY",
  privacy: { mayTrain: false, retainsPrompts: true },
  chat: {
    instructions: "system",
    rewrite: payloadFor,
    names: { seed: "random_seed" },
    // It refuses what it does not know.
    takes: [
      ...["temperature", "top_p", "stop", "random_seed", "n", "presence_penalty", "frequency_penalty", "metadata"],
      ...["response_format", "tools", "tool_choice", "parallel_tool_calls", "prediction", "logprobs", "top_logprobs"],
      ...["prompt_mode", "reasoning_effort", "safe_prompt", "guardrails", "prompt_cache_key", "service_tier"],
    ],
    // The usage comes without being asked for.
    streamUsage: false,
    reasoning: ({ model, effort }) => {
      if (isMagistral(model)) return effort === "none" ? { prompt_mode: null } : { prompt_mode: "reasoning" }
      return { reasoning_effort: effort }
    },
    efforts: (model) => (isMagistral(model) ? [] : ["none", "high"]),
  },
  // From 257 inputs on it answers "Too many inputs in request, split into more batches" (found by the client library
  // rig 0.42).
  embeddings: { strict: true, drop: ["user"], names: { dimensions: "output_dimension" }, mostInputs: 256 },
  models: modelsIn(new URL("./models.json", import.meta.url)),
})
