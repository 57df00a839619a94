/** How Bedrock is called with the configuration of one provider. */
import { type Credentials, modelsIn, type Provider } from "headgate/plugin"
import { converse } from "./converse.ts"
import { embeddings } from "./embeddings.ts"
import { bedrockHttpError } from "./failure.ts"
import type { BedrockConfig } from "./index.ts"
import { messages } from "./messages.ts"
import { signer } from "./sign.ts"

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
    protocols: { converse, messages },
    embeddings,
    error: bedrockHttpError,
    credentials,
    models: modelsIn(new URL("./models.json", import.meta.url)),
    ...(id === undefined ? {} : { sign: signer(region) }),
    // "Prompt caching" of Bedrock's pricing page for Claude and Nova, read in 2026-11.
    cacheMultipliers: ({ model }) => cacheRule(model),
  }
}

const cacheRule = (model: string) => {
  if (model.includes("anthropic.")) return { read: 0.1, write: 1.25, write1h: 2 }
  return model.includes("amazon.nova") ? { read: 0.25, write: 1, write1h: 1 } : undefined
}
