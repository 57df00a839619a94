/**
 * Together. Facts: the project's catalogue, 2026-08; reasoning: unverified; `<think>` in the text: recordings of 2026;
 * privacy: the project's catalogue, 2026-08.
 */
import { chatHost, modelsIn } from "headgate/plugin"

export default chatHost({
  id: "together",
  name: "Together",
  baseUrl: "https://api.together.xyz/v1",
  keyVariable: "TOGETHER_API_KEY",
  privacy: { mayTrain: false, retainsPrompts: false },
  chat: {
    own: ["reasoning", "safety_model", "chat_template_kwargs", "repetition_penalty"],
    thinkTags: true,
    reasoning: ({ model, effort }) =>
      model.startsWith("openai/") ? { reasoning_effort: effort } : { reasoning: { enabled: effort !== "none" } },
    efforts: (model) => (model.startsWith("openai/") ? ["low", "medium", "high"] : []),
  },
  embeddings: {},
  rerank: {},
  models: modelsIn(new URL("./models.json", import.meta.url)),
})
