/** How Bedrock is called with the configuration of one provider. */
import type * as Redacted from "effect/Redacted"
import { type Credentials, modelsIn, type Provider, responsesProtocol } from "headgate/plugin"
import { converse } from "./converse.ts"
import { embeddings } from "./embeddings.ts"
import { bedrockHttpError } from "./failure.ts"
import { limits } from "./limits.ts"
import { messages } from "./messages.ts"
import { isCalledFrom } from "./regions.ts"
import { signer } from "./sign.ts"

/** OpenAI's API at an address of AWS. */
const responsesAt = (baseUrl: string) =>
  responsesProtocol({ format: "amazon-bedrock-responses-v1", leastTokens: 16, baseUrl })

/** As it is configured: with keys of AWS, or with a Bedrock API key. */
interface BedrockConfig {
  readonly region: string
  readonly access_key_id?: Redacted.Redacted
  readonly secret_access_key?: Redacted.Redacted
  readonly session_token?: Redacted.Redacted
}

export const provider = (config: BedrockConfig): Provider => {
  const { region, access_key_id: id, secret_access_key: secret, session_token: session } = config
  const credentials: Credentials = {
    ...(id === undefined ? {} : { access_key_id: id }),
    ...(secret === undefined ? {} : { secret_access_key: secret }),
    ...(session === undefined ? {} : { session_token: session }),
  }
  const domain = region.startsWith("cn-") ? "amazonaws.com.cn" : "amazonaws.com"
  return {
    baseUrl: `https://bedrock-runtime.${region}.${domain}`,
    protocols: {
      converse,
      messages,
      // Another endpoint, and the same API beside Converse: "Responses API" of AWS's user guide, 2026-11.
      responses: responsesAt(`https://bedrock-mantle.${region}.api.aws/openai/v1`),
      runtime_responses: responsesAt(`https://bedrock-runtime.${region}.${domain}/openai/v1`),
    },
    limits,
    embeddings,
    error: bedrockHttpError,
    credentials,
    // Models are listed by another host of the region, of the same service to a signature.
    keyCheck: {
      baseUrl: `https://bedrock.${region}.${domain}`,
      request: { method: "GET", path: "/foundation-models", body: "" },
    },
    models: modelsIn(new URL("./models.json", import.meta.url)),
    canCall: ({ model }) => isCalledFrom(region, model),
    ...(id === undefined ? {} : { sign: signer(region) }),
    // Anthropic's rule, which Bedrock's prices of Claude follow. Nothing is assumed of other models.
    cacheMultipliers: ({ model }) =>
      model.includes("anthropic.") ? { read: 0.1, write: 1.25, write1h: 2 } : undefined,
  }
}
