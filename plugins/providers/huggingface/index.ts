/**
 * Hugging Face's router for partners' servers. Facts: huggingface.co/docs/inference-providers, read in 2026-11; privacy is that of the
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
