/**
 * Amazon Bedrock: its Converse API, and InvokeModel for embeddings. Facts from AWS's documentation (endpoints and quotas,
 * data protection, API keys), read in 2026-11.
 */
import { defineProvider } from "headgate/plugin"
import { Config } from "./config.ts"

export default defineProvider({
  id: "bedrock",
  name: "Amazon Bedrock",
  authors: ["amazon"],
  keyVariable: "AWS_BEARER_TOKEN_BEDROCK",
  variables: {
    region: ["AWS_REGION", "AWS_DEFAULT_REGION"],
    access_key_id: "AWS_ACCESS_KEY_ID",
    secret_access_key: "AWS_SECRET_ACCESS_KEY",
    session_token: "AWS_SESSION_TOKEN",
  },
  discoveredBy: [
    ["AWS_BEARER_TOKEN_BEDROCK", "AWS_REGION"],
    ["AWS_BEARER_TOKEN_BEDROCK", "AWS_DEFAULT_REGION"],
    ["AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY", "AWS_REGION"],
    ["AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY", "AWS_DEFAULT_REGION"],
  ],
  // Not used for training, and not stored.
  privacy: { mayTrain: false, retainsPrompts: false },
  config: Config,
  load: async (config) => (await import("./provider.ts")).provider(config),
})
