/**
 * vLLM's own server. Facts: recordings of 2025 and 2026; how reasoning is turned off: unverified. A key is needed only where the
 * server was started with one.
 */
import { chatHost, serverListing } from "headgate/plugin"

const listModels = serverListing({
  plugin: "vllm",
  isOwn: (entry) => entry["owned_by"] === "vllm",
  contextLength: (entry) => entry["max_model_len"],
})

export default chatHost({
  id: "vllm",
  name: "vLLM",
  baseUrl: "http://127.0.0.1:8000/v1",
  network: "private",
  keyVariable: "VLLM_API_KEY",
  discoveredBy: [],
  local: { baseUrl: "http://127.0.0.1:8000/v1" },
  listModels,
  privacy: { mayTrain: false, retainsPrompts: false },
  chat: {
    passes: "any",
    reasoning: ({ effort }) =>
      effort === "none" ? { chat_template_kwargs: { enable_thinking: false } } : { reasoning_effort: effort },
    efforts: () => ["none", "low", "medium", "high"],
  },
  // Base64 since 2024-07 (vllm-project/vllm#5935).
  embeddings: { passes: "any", base64: true },
  rerank: { passes: "any" },
})
