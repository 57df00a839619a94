/** How each host is called: address, protocol, credentials and limits, from the configuration and its provider. */
import * as Either from "effect/Either"
import * as Redacted from "effect/Redacted"
import { HostFailed, Unsupported } from "../domain/failures/Failure.ts"
import type { Host } from "../domain/hosts/Host.ts"
import type { Network } from "../domain/hosts/networkReach.ts"
import type { JsonObject } from "../domain/json/json.ts"
import type { LimitReset } from "../domain/keys/limitWindows.ts"
import type { Picodollars } from "../domain/price/money.ts"
import { type AnyRequest, isUnaryName, type OperationName } from "../domain/request/operations.ts"
import { usualLongestToolName } from "../formats/request/toolNames.ts"
import type { CheckedProvider } from "../plugin/checks/checked.ts"
import type { CheckedProtocol, CheckedUnary } from "../plugin/checks/checkedProtocol.ts"
import { type Auth, bearer, type Credentials, noAuth } from "../plugin/Provider.ts"
import { normalBaseUrl } from "./baseUrl.ts"
import { type LoadedProvider, otherProtocolsOf, protocolOf, protocolWithTools } from "./Providers.ts"

/** How one host is called. */
export interface Endpoint {
  readonly host: Host
  /** How requests for a chat are written and their answers are read. */
  readonly protocol: CheckedProtocol
  /** The same for the operation that its model serves. Absent: that is a chat. */
  readonly unary?: CheckedUnary
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
  /** Milliseconds of one attempt at a whole answer; `undefined`: that of the limits. */
  readonly attemptMs: number | undefined
  /** Whether the host bills the whole answer even when its call is canceled. */
  readonly billsAfterAbort: boolean
  /** Whether its calls have a `traceparent`, while requests are traced. */
  readonly takesTraceparent: boolean
  /** Id of the plugin of its provider. */
  readonly plugin: string
  /**
   * Where its key comes from, in words without the key: a variable, `plain text`, or `none`. Of several keys each label
   * says it.
   */
  readonly keySource: string
  /** Calls of its provider at once; `Infinity`: no bound. */
  readonly maxConcurrent: number
  /** URL of an HTTP proxy. */
  readonly proxy: string | undefined
  /** Which addresses may be dialled. */
  readonly network: Network
  /**
   * By client form, how it is called for what only hosts of the form can carry (`Host.otherForms`). Absent: as for
   * anything else.
   */
  readonly byForm?: ReadonlyMap<string, Endpoint>
  /** How it is called for a request with tools, where its usual protocol refuses them (`Provider.toolsBy`). */
  readonly withTools?: Endpoint
  /** The keys of `api_keys`, each with the endpoint to call with it; `undefined`: the provider has one key at most. */
  readonly keys?: ReadonlyArray<EndpointKey>
  /**
   * Whether its model can be called with other accounts too, so that encrypted reasoning has to say whose it is
   * (`formats/request/encryptedReasoning.ts`). Default false.
   */
  readonly isOneOfSeveral?: boolean
}

/** What calls of a provider have in common, whichever of its hosts they are for. */
export type ProviderEndpoint = Pick<
  Endpoint,
  "provider" | "baseUrl" | "headers" | "fixedHeaders" | "credentials" | "secrets" | "proxy" | "network"
>

/** One of several keys of a provider, for one of its hosts. */
export interface EndpointKey {
  /** From 1, in the order of the configuration. */
  readonly place: number
  /** For logs and explanations: its place, and its environment variable where it has one. */
  readonly label: string
  readonly weight: number
  readonly limit: Picodollars | null
  readonly limitReset: LimitReset | null
  /** All keys of the provider for this host, this one too. */
  readonly siblings: ReadonlyArray<EndpointKey>
  readonly endpoint: Endpoint
  /** A name of the key for the database of an installation. It does not tell the key. */
  readonly idIn: (installation: string) => string
}

/** Of a provider whose hosts do not chat. Never called: no host of a model that chats has an endpoint there. */
const noChat: CheckedProtocol = {
  framing: "sse",
  longestToolName: usualLongestToolName,
  encode: () => Either.left(new Unsupported({ path: "model", reason: "its provider does not chat" })),
  decode: () => noAnswer,
  decoder: () => ({ event: () => noAnswer, end: () => noAnswer }),
}
const noAnswer = new HostFailed({ reason: "malformed" })

export const endpointOf = (host: Host, loaded: LoadedProvider, operation: OperationName): Endpoint => {
  const { apiKey, apiKeys } = loaded.settings
  if (apiKeys === null) return endpointWith(host, loaded, operation, apiKey)
  const all = apiKeys.map(({ key }) => Redacted.value(key.secret))
  const withAll = ({ byForm, withTools, ...endpoint }: Endpoint): Endpoint => ({
    ...endpoint,
    // A host may quote a key that it was sent in another call.
    secrets: [...new Set([...endpoint.secrets, ...all])],
    ...(byForm === undefined ? {} : { byForm: mapValues(byForm, withAll) }),
    ...(withTools === undefined ? {} : { withTools: withAll(withTools) }),
  })
  const keys: Array<EndpointKey> = []
  for (const [at, { key, weight, limit, limitReset }] of apiKeys.entries()) {
    keys.push({
      ...{ place: at + 1, weight, limit, limitReset, siblings: keys },
      label: key.variable === null ? `key ${at + 1}` : `key ${at + 1} (${key.variable})`,
      endpoint: withAll(endpointWith(host, loaded, operation, key.secret)),
      idIn: (installation) => keyName(installation, loaded.settings.slug, Redacted.value(key.secret)),
    })
  }
  return { ...withAll(endpointWith(host, loaded, operation, apiKey)), keys }
}

/** How a host is called for this request. */
export const endpointFor = (
  endpoint: Endpoint,
  { routing: { needs }, payload }: Pick<AnyRequest, "routing" | "payload">,
): Endpoint => {
  const byForm = needs.onlyForm === undefined || needs.form === undefined ? undefined : endpoint.byForm?.get(needs.form)
  if (byForm !== undefined || endpoint.withTools === undefined) return byForm ?? endpoint
  const { tools }: JsonObject = payload
  return Array.isArray(tools) && tools.length > 0 ? endpoint.withTools : endpoint
}

const mapValues = <Key, Value>(map: ReadonlyMap<Key, Value>, change: (value: Value) => Value): Map<Key, Value> =>
  new Map(Array.from(map, ([key, value]) => [key, change(value)]))

/** Of the secret and not of its place, so that keys may change places. */
const keyName = (installation: string, slug: string, secret: string): string => {
  const hash = new Bun.CryptoHasher("sha256", installation).update(`${slug} ${secret}`).digest("hex")
  return `${slug}/${hash.slice(0, 16)}`
}

const endpointWith = (
  host: Host,
  loaded: LoadedProvider,
  operation: OperationName,
  apiKey: Redacted.Redacted | null,
): Endpoint => {
  const by = (protocol: CheckedProtocol) => endpointBy(protocol, host, loaded, operation, apiKey)
  const endpoint = by(protocolOf(host, loaded) ?? noChat)
  const withTools = protocolWithTools(host, loaded)
  if (host.otherForms === undefined && withTools === undefined) return endpoint
  return {
    ...endpoint,
    ...(host.otherForms === undefined
      ? {}
      : { byForm: new Map(Array.from(otherProtocolsOf(host, loaded), ([form, other]) => [form, by(other)])) }),
    ...(withTools === undefined ? {} : { withTools: by(withTools) }),
  }
}

const endpointBy = (
  protocol: CheckedProtocol,
  host: Host,
  loaded: LoadedProvider,
  operation: OperationName,
  apiKey: Redacted.Redacted | null,
): Endpoint => {
  const { settings, provider } = loaded
  const unary = isUnaryName(operation) ? provider[operation] : undefined
  return {
    ...providerEndpoint(loaded, apiKey, isUnaryName(operation) ? undefined : protocol.baseUrl),
    host,
    protocol,
    ...(unary === undefined ? {} : { unary }),
    ttfbMs: settings.ttfbMs === 0 ? Number.POSITIVE_INFINITY : (settings.ttfbMs ?? undefined),
    attemptMs: settings.attemptMs === 0 ? Number.POSITIVE_INFINITY : (settings.attemptMs ?? undefined),
    billsAfterAbort: settings.billsAfterAbort ?? host.billsAfterAbort ?? false,
    takesTraceparent: settings.traceparent ?? loaded.network === "private",
    plugin: loaded.plugin.id,
    keySource: keySourceOf(settings),
    maxConcurrent: settings.maxConcurrent ?? Number.POSITIVE_INFINITY,
  }
}

/** The key stands in the configuration itself. */
const plainText = "plain text"

const keySourceOf = ({ apiKey, apiKeySource, apiKeys }: LoadedProvider["settings"]): string => {
  if (apiKeys !== null) return apiKeys.map(({ key }) => key.variable ?? plainText).join(", ")
  return apiKey === null ? "none" : (apiKeySource ?? plainText)
}

/** `own`: an address in the place of the provider's, unless the configuration has one. */
export const providerEndpoint = (
  { settings, plugin, provider, network, ...loaded }: LoadedProvider,
  apiKey: Redacted.Redacted | null,
  own?: string,
): ProviderEndpoint => {
  const credentials: Credentials = {
    ...provider.credentials,
    ...(apiKey === null ? {} : { api_key: apiKey }),
  }
  const auth = plugin.auth ?? (provider.transport === undefined ? bearer : noAuth)
  const fixedHeaders = { "accept-encoding": "identity", ...authHeaders(auth, apiKey) }
  return {
    provider,
    baseUrl: own === undefined || settings.baseUrl !== null ? loaded.baseUrl : normalBaseUrl(own),
    headers: { "content-type": "application/json", accept: "application/json, text/event-stream", ...fixedHeaders },
    fixedHeaders,
    credentials,
    secrets: Object.values(credentials)
      .map(Redacted.value)
      .filter((secret) => secret !== ""),
    proxy: settings.proxy ?? undefined,
    network,
  }
}

export const authHeaders = (auth: Auth, key: Redacted.Redacted | null): Readonly<Record<string, string>> => {
  if (key === null || auth._tag === "None") return {}
  const secret = Redacted.value(key)
  return auth._tag === "Bearer" ? { authorization: `Bearer ${secret}` } : { [auth.name.toLowerCase()]: secret }
}
