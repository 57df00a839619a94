/**
 * SGLang's server. Facts: not read again, unverified. A key is needed only where the server was
 * started with one. Untested against recorded traffic.
 */
import { chatHost, serverListing } from "headgate/plugin"

const listModels = serverListing({
  plugin: "sglang",
  isOwn: (entry) => entry["owned_by"] === "sglang",
  contextLength: (entry) => entry["max_model_len"],
})

export default chatHost({
  id: "sglang",
  name: "SGLang",
  baseUrl: "http://127.0.0.1:30000/v1",
  network: "private",
  keyVariable: "SGLANG_API_KEY",
  discoveredBy: [],
  local: { baseUrl: "http://127.0.0.1:30000/v1" },
  listModels,
  privacy: { mayTrain: false, retainsPrompts: false },
  chat: {
    passes: "any",
    history: "reasoning_content",
    // Templates of different models read different names.
    reasoning: ({ effort }) => {
      const thinks = effort !== "none"
      return { chat_template_kwargs: { enable_thinking: thinks, thinking: thinks } }
    },
  },
  embeddings: { passes: "any" },
  rerank: { passes: "any" },
})
