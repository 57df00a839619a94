/** How each host is called: address, protocol, credentials and limits, from the configuration and its provider. */
import * as Either from "effect/Either"
import * as Redacted from "effect/Redacted"
import { HostFailed, Unsupported } from "../domain/Failure.ts"
import type { Host } from "../domain/Host.ts"
import type { CheckedProtocol, CheckedProvider } from "../plugin/checked.ts"
import { type Auth, bearer, type Credentials, noAuth } from "../plugin/Provider.ts"
import type { Network } from "../upstream/addresses.ts"
import { type LoadedProvider, protocolOf } from "./providers.ts"

/** How one host is called. */
export interface Endpoint extends Pick<CheckedProvider, "embeddings" | "rerank"> {
  readonly host: Host
  /** How requests for a chat are written and their answers are read. `embeddings`, `rerank`: the same for those. */
  readonly protocol: CheckedProtocol
  readonly provider: CheckedProvider
  /** Without a slash at its end. */
  readonly baseUrl: string
  /** Default headers, which a protocol may replace. Names in lower case. */
  readonly headers: Readonly<Record<string, string>>
  /** Headers that no protocol may replace: the credentials, and that the answer is not compressed. */
  readonly fixedHeaders: Readonly<Record<string, string>>
  /** Credentials for `sign`: those that the provider declares, and `api_key`. */
  readonly credentials: Credentials
  /** All credentials as text. The gateway removes them from errors and from the log. */
  readonly secrets: ReadonlyArray<string>
  /** Milliseconds to the first event of a stream; `undefined`: that of the limits. */
  readonly ttfbMs: number | undefined
  /** Calls of its provider at once; `Infinity`: no bound. */
  readonly maxConcurrent: number
  /** URL of an HTTP proxy. */
  readonly proxy: string | undefined
  /** Which addresses may be dialled. */
  readonly network: Network
}

/** Of a provider whose hosts do not chat. Never called: no host of a model that chats has an endpoint there. */
const noChat: CheckedProtocol = {
  framing: "sse",
  encode: () => Either.left(new Unsupported({ path: "model", reason: "its provider does not chat" })),
  decode: () => noAnswer,
  decoder: () => ({ event: () => noAnswer, end: () => noAnswer }),
}
const noAnswer = new HostFailed({ reason: "malformed" })

export const endpointOf = (host: Host, loaded: LoadedProvider): Endpoint => {
  const { settings, plugin, provider, baseUrl, network } = loaded
  const { embeddings, rerank } = provider
  const credentials: Credentials = {
    ...provider.credentials,
    ...(settings.apiKey === null ? {} : { api_key: settings.apiKey }),
  }
  const auth = plugin.auth ?? (provider.transport === undefined ? bearer : noAuth)
  const fixedHeaders = { "accept-encoding": "identity", ...authHeaders(auth, settings.apiKey) }
  return {
    host,
    protocol: protocolOf(host, loaded) ?? noChat,
    ...(embeddings === undefined ? {} : { embeddings }),
    ...(rerank === undefined ? {} : { rerank }),
    provider,
    baseUrl,
    headers: { "content-type": "application/json", accept: "application/json, text/event-stream", ...fixedHeaders },
    fixedHeaders,
    credentials,
    secrets: Object.values(credentials)
      .map(Redacted.value)
      .filter((secret) => secret !== ""),
    ttfbMs: settings.ttfbMs === 0 ? Number.POSITIVE_INFINITY : (settings.ttfbMs ?? undefined),
    maxConcurrent: settings.maxConcurrent ?? Number.POSITIVE_INFINITY,
    proxy: settings.proxy ?? undefined,
    network,
  }
}

export const authHeaders = (auth: Auth, key: Redacted.Redacted | null): Readonly<Record<string, string>> => {
  if (key === null || auth._tag === "None") return {}
  const secret = Redacted.value(key)
  return auth._tag === "Bearer" ? { authorization: `Bearer ${secret}` } : { [auth.name.toLowerCase()]: secret }
}
