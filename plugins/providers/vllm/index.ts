/**
 * vLLM's own server. Facts: recordings of 2025 and 2026; how reasoning is turned off: unverified. A key is needed only where the
 * server was started with one.
 */
import { chatHost } from "headgate/plugin"

export default chatHost({
  id: "vllm",
  name: "vLLM",
  baseUrl: "http://127.0.0.1:8000/v1",
  network: "private",
  keyVariable: "VLLM_API_KEY",
  discoveredBy: [],
  privacy: { mayTrain: false, retainsPrompts: false },
  chat: {
    reasoning: ({ effort }) =>
      effort === "none" ? { chat_template_kwargs: { enable_thinking: false } } : { reasoning_effort: effort },
    efforts: () => ["none", "low", "medium", "high"],
  },
  embeddings: {},
  rerank: {},
})
