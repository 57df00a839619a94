/**
 * Fireworks. Facts: docs.fireworks.ai (chat completions, reasoning, error codes), read in 2026-11; privacy: the
 * project's catalogue, 2026-08. Untested against recorded traffic.
 */
import { chatHost, modelsIn } from "headgate/plugin"

export default chatHost({
  id: "fireworks",
  name: "Fireworks",
  baseUrl: "https://api.fireworks.ai/inference/v1",
  keyVariable: "FIREWORKS_API_KEY",
  privacy: { mayTrain: false, retainsPrompts: false },
  chat: {
    own: [
      "reasoning_history",
      "context_length_exceeded_behavior",
      "typical_p",
      "mirostat_target",
      "mirostat_lr",
      "perf_metrics_in_response",
      "prompt_truncate_len",
    ],
    history: "reasoning_content",
    // It refuses members that it does not know: "Extra inputs are not permitted".
    cacheControl: false,
    drop: ["structured_outputs", "top_a", "image_config"],
    dropInMessages: ["annotations", "images", "refusal"],
  },
  embeddings: {},
  rerank: {},
  // The account is suspended, such as for a spending limit.
  reasons: { "412": "account" },
  models: modelsIn(new URL("./models.json", import.meta.url)),
})
