/**
 * Hugging Face's router for partners' servers. Facts: the project's catalogue, 2026-08, and recordings of 2025; privacy is that of the
 * router: the partner behind it has its own.
 */
import { chatHost, modelsIn } from "headgate/plugin"

export default chatHost({
  id: "huggingface",
  name: "Hugging Face",
  baseUrl: "https://router.huggingface.co/v1",
  keyVariable: "HF_TOKEN",
  privacy: { mayTrain: false, retainsPrompts: false },
  models: modelsIn(new URL("./models.json", import.meta.url)),
})
