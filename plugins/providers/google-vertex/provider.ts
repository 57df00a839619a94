import * as Effect from "effect/Effect"
import * as Redacted from "effect/Redacted"
import { HostFailed, modelsIn, type Provider } from "headgate/plugin"
import { vertexEmbeddingsProtocol } from "headgate/plugin/generate-content"
import { type ServiceAccount, serviceAccount } from "./account.ts"
import { vertexError, vertexProtocol } from "./publishers.ts"
import { tokenSource } from "./token.ts"

export interface VertexSettings {
  readonly project?: string
  readonly location: string
  readonly credentials?: Redacted.Redacted
}

export const provider = async ({ project, location, credentials }: VertexSettings): Promise<Provider> => {
  const account = credentials === undefined ? undefined : await serviceAccount(Redacted.value(credentials))
  const named = project ?? account?.project
  if (named === undefined) throw new Error("project: it is not named, and the credentials do not name one")
  return {
    protocols: { generate_content: vertexProtocol },
    embeddings: vertexEmbeddingsProtocol(),
    error: vertexError,
    models: modelsIn(new URL("./models.json", import.meta.url)),
    baseUrl: `https://${hostName(location)}/v1beta1/projects/${named}/locations/${location}`,
    ...(account === undefined ? {} : { credentials: { private_key: Redacted.make(account.privateKey) } }),
    sign: signer(account),
    cacheMultipliers: ({ model }) => cacheRule(model),
  }
}

/** Gemini: a quarter for reading up to 2.0 and a tenth later, nothing more for writing. Claude: as Anthropic has it. */
const cacheRule = (model: string) => {
  if (model.startsWith("claude-")) return { read: 0.1, write: 1.25, write1h: 2 }
  return model.includes("gemini") ? { read: /gemini-(?:1|2\.0)/.test(model) ? 0.25 : 0.1 } : undefined
}

/** `global` and the two continents have host names of another form than regions. */
const hostName = (location: string): string => {
  if (location === "global") return "aiplatform.googleapis.com"
  return /^(?:us|eu)$/.test(location)
    ? `aiplatform.${location}.rep.googleapis.com`
    : `${location}-aiplatform.googleapis.com`
}

/** The gateway adds a token that is configured as `api_key` by itself. */
const signer = (account: ServiceAccount | undefined): NonNullable<Provider["sign"]> => {
  const tokenOf = account === undefined ? undefined : tokenSource(account)
  return (encoded, context) => {
    if (context.credentials["api_key"] !== undefined) return Effect.succeed(encoded)
    if (tokenOf === undefined) {
      return new HostFailed({ reason: "account", cause: "neither credentials nor an api_key are configured" })
    }
    return Effect.map(tokenOf(context), (token) => ({
      ...encoded,
      headers: { ...encoded.headers, authorization: `Bearer ${token}` },
    }))
  }
}
