/**
 * Cloudflare Workers AI. Facts: developers.cloudflare.com/workers-ai (OpenAI-compatible endpoints, errors), read in 2026-11. How long
 * prompts are kept is not known. Untested against recorded traffic.
 */
import { chatHost, modelsIn } from "headgate/plugin"

export default chatHost({
  id: "cloudflare",
  name: "Cloudflare Workers AI",
  baseUrl: "https://api.cloudflare.com/client/v4/accounts/{account_id}/ai/v1",
  fields: { account_id: "CLOUDFLARE_ACCOUNT_ID" },
  keyVariable: ["CLOUDFLARE_API_TOKEN", "CLOUDFLARE_API_KEY"],
  privacy: { mayTrain: false, retainsPrompts: true },
  // Limit reported in cloudflare/cloudflare-docs#11316.
  embeddings: { mostInputs: 100 },
  reasons: {
    ...{ "5007": "not-found", "3040": "overloaded", "5018": "forbidden", "3041": "forbidden" },
    // The key is wrong, the account is blocked, or the neurons of the day are used up.
    ...{ "10000": "account", "3023": "account", "3036": "account" },
  },
  models: modelsIn(new URL("./models.json", import.meta.url)),
})
