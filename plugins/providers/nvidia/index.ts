/**
 * NVIDIA NIM (build.nvidia.com). Facts: the project's catalogue, 2026-08; reasoning: unverified. What happens to prompts is not known, so the worst is
 * assumed. Untested against recorded traffic.
 */
import { chatHost, modelsIn } from "headgate/plugin"

export default chatHost({
  id: "nvidia",
  name: "NVIDIA NIM",
  baseUrl: "https://integrate.api.nvidia.com/v1",
  keyVariable: "NVIDIA_API_KEY",
  chat: {
    own: ["chat_template_kwargs"],
    // Templates of different models read different names.
    reasoning: ({ model, effort }) => {
      if (model.startsWith("openai/")) return { reasoning_effort: effort }
      const thinks = effort !== "none"
      return { chat_template_kwargs: { enable_thinking: thinks, thinking: thinks } }
    },
    efforts: (model) => (model.startsWith("openai/") ? ["low", "medium", "high"] : []),
  },
  embeddings: {},
  models: modelsIn(new URL("./models.json", import.meta.url)),
})
