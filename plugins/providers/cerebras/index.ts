/**
 * Cerebras. Facts: pages about its OpenAI compatibility, read in 2026-11; reasoning: unverified; no `[DONE]`: a recording of
 * 2025; privacy: the project's catalogue, 2026-08.
 */
import { chatHost, modelsIn } from "headgate/plugin"

export default chatHost({
  id: "cerebras",
  name: "Cerebras",
  baseUrl: "https://api.cerebras.ai/v1",
  keyVariable: "CEREBRAS_API_KEY",
  privacy: { mayTrain: false, retainsPrompts: false },
  chat: {
    maxTokens: "max_completion_tokens",
    strict: true,
    drop: ["frequency_penalty", "presence_penalty", "logit_bias"],
    dropInMessages: ["annotations", "refusal", "reasoning_content", "reasoning_details"],
    reasoning: ({ model, effort }) => {
      if (model.startsWith("gpt-oss")) return { reasoning_effort: effort }
      return model.startsWith("zai-") ? { disable_reasoning: effort === "none" } : undefined
    },
    efforts: (model) => (model.startsWith("gpt-oss") ? ["low", "medium", "high"] : []),
  },
  models: modelsIn(new URL("./models.json", import.meta.url)),
})
