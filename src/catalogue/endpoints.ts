/** How each host is called: address, protocol, credentials and limits, out of the configuration and its provider. */
import * as Redacted from "effect/Redacted"
import type { Host } from "../domain/Host.ts"
import type { CheckedProvider } from "../plugin/checked.ts"
import { type Auth, bearer, type Credentials, noAuth } from "../plugin/Provider.ts"
import type { LoadedProvider } from "./providers.ts"

/** How one host is called. */
export interface Endpoint {
  readonly host: Host
  /** How the host is asked and how its answers are read. */
  readonly protocol: CheckedProvider["protocols"][string]
  readonly provider: CheckedProvider
  /** Without a slash at its end. */
  readonly baseUrl: string
  /** Of a request whose protocol has no headers of its own. Names in lower case. */
  readonly headers: Readonly<Record<string, string>>
  /** Those of `headers` that no protocol may replace: the credentials, and that the answer comes uncompressed. */
  readonly fixedHeaders: Readonly<Record<string, string>>
  /** What `sign` is given: what the provider declares, and `api_key`. */
  readonly credentials: Credentials
  /** Every one of them as text. None may appear in an answer, an error or the log, whatever the host says. */
  readonly secrets: ReadonlyArray<string>
  /** Milliseconds to the first event of a stream; `undefined`: that of the limits. */
  readonly ttfbMs: number | undefined
  /** URL of an HTTP proxy. */
  readonly proxy: string | undefined
  /** Which addresses may be dialled. */
  readonly network: "public" | "private"
}

export const endpointOf = (host: Host, { settings, plugin, provider, protocol, baseUrl }: LoadedProvider): Endpoint => {
  const credentials: Credentials = {
    ...provider.credentials,
    ...(settings.apiKey === null ? {} : { api_key: settings.apiKey }),
  }
  const auth = plugin.auth ?? (provider.transport === undefined ? bearer : noAuth)
  const fixedHeaders = { "accept-encoding": "identity", ...authHeaders(auth, settings.apiKey) }
  return {
    host,
    protocol,
    provider,
    baseUrl,
    headers: { "content-type": "application/json", accept: "application/json, text/event-stream", ...fixedHeaders },
    fixedHeaders,
    credentials,
    secrets: Object.values(credentials)
      .map(Redacted.value)
      .filter((secret) => secret !== ""),
    ttfbMs: settings.ttfbMs === 0 ? Number.POSITIVE_INFINITY : (settings.ttfbMs ?? undefined),
    proxy: settings.proxy ?? undefined,
    network: settings.network,
  }
}

const authHeaders = (auth: Auth, key: Redacted.Redacted | null): Readonly<Record<string, string>> => {
  if (key === null || auth._tag === "None") return {}
  const secret = Redacted.value(key)
  return auth._tag === "Bearer" ? { authorization: `Bearer ${secret}` } : { [auth.name.toLowerCase()]: secret }
}
