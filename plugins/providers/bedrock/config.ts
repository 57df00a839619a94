/** The configuration of a provider of Bedrock. */
import * as Schema from "effect/Schema"
import { Secret } from "headgate/plugin"

export const Config = Schema.Struct({
  /** Where the models run, such as `us-east-1`. Prompts are sent there, so there is no default. */
  region: Schema.String.pipe(
    Schema.pattern(/^[a-z]{2}(-[a-z0-9]+)+$/, { message: () => "is not a region such as us-east-1" }),
  ),
  /** With its secret: every request is signed. Without it, `api_key` is a Bedrock API key. */
  access_key_id: Schema.optionalWith(Secret, { exact: true }),
  secret_access_key: Schema.optionalWith(Secret, { exact: true }),
  /** Of temporary keys. */
  session_token: Schema.optionalWith(Secret, { exact: true }),
}).pipe(
  Schema.filter(({ access_key_id: id, secret_access_key: secret, session_token: session }) => {
    if (id !== undefined && secret === undefined) return { path: ["secret_access_key"], message: "is missing" }
    if (id === undefined && (secret ?? session) !== undefined) return { path: ["access_key_id"], message: "is missing" }
    return undefined
  }),
)

export type BedrockConfig = typeof Config.Type
