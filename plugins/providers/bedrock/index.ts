/**
 * Amazon Bedrock: its Converse API, and InvokeModel for embeddings. Facts from AWS's documentation (endpoints and quotas,
 * data protection, API keys), read in 2026-11.
 */
import * as Schema from "effect/Schema"
import { defineProvider, Secret } from "headgate/plugin"

const optionalSecret = (description: string) =>
  Schema.optionalWith(Secret, { exact: true }).annotations({ description })

const Config = Schema.Struct({
  region: Schema.propertySignature(
    Schema.String.pipe(
      Schema.pattern(/^[a-z]{2}(-[a-z0-9]+)+$/, { message: () => "is not a region such as us-east-1" }),
    ),
  ).annotations({ description: "Where the models run, such as `us-east-1`. Prompts are sent there." }),
  access_key_id: optionalSecret(
    "Id of an access key of AWS, with which every request is signed. Without it, `api_key` is a Bedrock API key.",
  ),
  secret_access_key: optionalSecret("The secret of that access key; neither is set without the other."),
  session_token: optionalSecret("The session token, where the access key is temporary."),
}).pipe(
  Schema.filter(({ access_key_id: id, secret_access_key: secret, session_token: session }) => {
    if (id !== undefined && secret === undefined) return { path: ["secret_access_key"], message: "is missing" }
    if (id === undefined && (secret ?? session) !== undefined) return { path: ["access_key_id"], message: "is missing" }
    return undefined
  }),
)

export type BedrockConfig = typeof Config.Type

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
