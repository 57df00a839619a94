/**
 * DeepInfra. Facts: the project's catalogue, 2026-08. Prompts for models of Google and
 * Anthropic go on to those vendors. Untested against recorded traffic.
 */
import { chatHost, modelsIn } from "headgate/plugin"

export default chatHost({
  id: "deepinfra",
  name: "DeepInfra",
  baseUrl: "https://api.deepinfra.com/v1/openai",
  keyVariable: ["DEEPINFRA_API_KEY", "DEEPINFRA_TOKEN"],
  privacy: { mayTrain: false, retainsPrompts: false },
  chat: { own: ["chat_template_kwargs"] },
  // It answers 422 to larger batches (deepinfra/deepinfra-node#62).
  embeddings: { mostInputs: 1024 },
  models: modelsIn(new URL("./models.json", import.meta.url)),
})
