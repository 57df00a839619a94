/**
 * A vendor that speaks the chat completion protocol, as a plugin that is nothing but facts. Copy the folder to
 * `plugins/providers/<id>/` beside your configuration, or name its parent in `plugins.folders`.
 */
import { chatHost } from "headgate/plugin"

export default chatHost({
  id: "acme",
  name: "Acme",
  baseUrl: "https://api.acme.example/{region}/v1",
  fields: { region: "ACME_REGION" },
  keyVariable: "ACME_API_KEY",
  privacy: { mayTrain: false, retainsPrompts: false },
  chat: {
    maxTokens: "max_completion_tokens",
    drop: ["logit_bias"],
    reasoning: ({ effort }) => ({ thinking: { type: effort === "none" ? "disabled" : "enabled" } }),
  },
  embeddings: {},
  reasons: { out_of_credit: "account" },
  cache: { read: 0.1 },
  models: async () => [
    {
      id: "acme/small",
      context_length: 32_000,
      hosts: [{ pricing: { prompt: "0.0000001", completion: "0.0000004" }, max_completion_tokens: 4096 }],
    },
  ],
})
