/**
 * xAI. Facts: pages about its API, read in 2026-11; the form of errors: a recording of 2026; privacy: the
 * project's catalogue, 2026-08.
 */
import { chatHost, modelsIn } from "headgate/plugin"

// Models that refuse `reasoning_effort`. Later ones are assumed to take it.
const givenEffort = /^grok-(?:2|3(?!-mini)|4(?!\.[3-9])|code)/

export default chatHost({
  id: "xai",
  name: "xAI",
  authors: ["x-ai"],
  baseUrl: "https://api.x.ai/v1",
  keyVariable: "XAI_API_KEY",
  privacy: { mayTrain: false, retainsPrompts: true },
  chat: {
    maxTokens: "max_completion_tokens",
    history: "reasoning_content",
    reasoning: ({ model, effort }) => (givenEffort.test(model) ? undefined : { reasoning_effort: effort }),
    efforts: (model) => (model.startsWith("grok-3-mini") ? ["low", "high"] : ["none", "low", "medium", "high"]),
  },
  cache: { read: 0.25 },
  models: modelsIn(new URL("./models.json", import.meta.url)),
})
