/**
 * Nebius Token Factory. Facts: the project's catalogue, 2026-08. Untested against recorded
 * traffic.
 */
import { chatHost, modelsIn } from "headgate/plugin"

export default chatHost({
  id: "nebius",
  name: "Nebius Token Factory",
  baseUrl: "https://api.tokenfactory.nebius.com/v1",
  keyVariable: "NEBIUS_API_KEY",
  privacy: { mayTrain: false, retainsPrompts: false },
  chat: { own: ["chat_template_kwargs"] },
  embeddings: {},
  models: modelsIn(new URL("./models.json", import.meta.url)),
})
