/**
 * Sending a request to a host, and reading answers with other statuses than 200. Shared by whole and streamed answers.
 */
import * as Clock from "effect/Clock"
import * as Effect from "effect/Effect"
import type { Endpoint, ProviderEndpoint } from "../../catalogue/endpoints.ts"
import { HostFailed } from "../../domain/failures/Failure.ts"
import { hiding } from "../../domain/json/redaction.ts"
import { PluginFault } from "../../plugin/checks/PluginFault.ts"
import type { SideAnswer, SideRequest } from "../../plugin/Provider.ts"
import type { Exchange, ResponseHead, Sink, UpstreamCall } from "../../upstream/Exchange.ts"
import { callFunction, type HostCaller, Upstream } from "../../upstream/Upstream.ts"
import { isTooDeep } from "../../wire/jsonDepth.ts"
import type { Encoded } from "../../wire/Protocol.ts"
import { gotToSign, secretsIn, sentToSign } from "./signedSecrets.ts"
import { wholeCall } from "./wholeCall.ts"

/** Bytes of an error body that are read. The rest is ignored. */
export const longestErrorBody = 65_536

export interface UpstreamClient {
  /** The encoded request, signed by the provider where it signs. */
  readonly signed: (endpoint: ProviderEndpoint, encoded: Encoded) => Effect.Effect<Encoded, HostFailed>
  /** Sends it: over the network, or to the provider's own transport. `isOnce`: `UpstreamCall.isOnce`. */
  readonly send: (endpoint: Endpoint, encoded: Encoded, sink: Sink, isOnce: boolean) => Exchange
}

export const makeUpstreamClient: Effect.Effect<UpstreamClient, never, Upstream> = Effect.map(
  Upstream,
  (upstream) => new HostClient(upstream),
)

class HostClient implements UpstreamClient {
  private readonly upstream: HostCaller

  constructor(upstream: HostCaller) {
    this.upstream = upstream
  }

  signed(endpoint: ProviderEndpoint, encoded: Encoded): Effect.Effect<Encoded, HostFailed> {
    const { sign } = endpoint.provider
    if (sign === undefined) return Effect.succeed(encoded)
    return Effect.flatMap(Clock.currentTimeMillis, (now) =>
      sign(encoded, {
        url: endpoint.baseUrl + encoded.path,
        credentials: endpoint.credentials,
        http: (request) => learningSecrets(endpoint, request, sideCall(this.upstream, endpoint, request)),
        now,
      }),
    )
  }

  send(endpoint: Endpoint, encoded: Encoded, sink: Sink, isOnce: boolean): Exchange {
    const { transport } = endpoint.provider
    const call = callTo(endpoint, encoded, isOnce)
    try {
      return transport === undefined ? this.upstream.exchange(call, sink) : callFunction(transport, call, sink)
    } catch (cause) {
      // A defect of ours. The attempt has to end all the same, since it holds money and a place at the host.
      sink.failed(new HostFailed({ reason: "defect", cause }))
      return noExchange
    }
  }
}

const noExchange: Exchange = { cancel: () => {}, drain: () => {}, pause: () => {}, resume: () => {} }

/** The complete call. The gateway sets address and credentials, which a protocol's headers cannot replace. */
export const callTo = (
  endpoint: ProviderEndpoint,
  { method = "POST", path, headers, body }: Encoded,
  isOnce = false,
): UpstreamCall => ({
  url: endpoint.baseUrl + path,
  method,
  headers: headers === undefined ? endpoint.headers : { ...endpoint.headers, ...headers, ...endpoint.fixedHeaders },
  body: method === "GET" ? null : body,
  network: endpoint.network,
  proxy: endpoint.proxy,
  isOnce,
})

const longestSideAnswer = 1_048_576

/** A call that a plugin makes in order to sign another, such as for an access token. */
const sideCall = (
  upstream: HostCaller,
  { network, proxy }: ProviderEndpoint,
  { url, method = "GET", headers = {}, body }: SideRequest,
): Effect.Effect<SideAnswer, HostFailed> =>
  wholeCall(upstream, { url, method, headers, body: body ?? null, network, proxy }, longestSideAnswer)

/** What such a call sends and gets of credentials is known from then on, since any answer may repeat it. */
const learningSecrets = (
  { provider: { secrets } }: ProviderEndpoint,
  request: SideRequest,
  call: Effect.Effect<SideAnswer, HostFailed>,
): Effect.Effect<SideAnswer, HostFailed> =>
  Effect.suspend(() => {
    secrets.learn(sentToSign(request))
    return Effect.tap(call, (answer) => secrets.learn(gotToSign(answer)))
  })

/** The JSON in a text, or the text where it is no JSON or is nested too deeply. */
export const parsedBody = (text: string): unknown => (isTooDeep(text) ? text : jsonOr(text))

/** The same of a whole answer, whose nesting is bounded by a limit of ours. */
export const answerBody = (text: string): unknown => (isTooDeep(text) ? tooDeep : jsonOr(text))

const tooDeep = new HostFailed({ reason: "limit", cause: "the answer is nested too deep" })

const jsonOr = (text: string): unknown => {
  try {
    return JSON.parse(text)
  } catch {
    return text
  }
}

/** The failure for an answer with another status than 200. */
export const refusedBy = (endpoint: ProviderEndpoint, head: ResponseHead, body: string): HostFailed =>
  endpoint.provider.error(head.status, head.headers, parsedBody(body))

/**
 * Removes our secrets from a failure, since a host may quote what it was sent, and an error of a plugin the address that it
 * called. `added`: what `sign` added to the request.
 */
export const withoutSecrets = (
  failure: HostFailed,
  endpoint: ProviderEndpoint,
  added: ReadonlyArray<string> = [],
): HostFailed => {
  const { detail, code, cause } = failure
  if (detail === undefined && code === undefined && cause === undefined) return failure
  const secrets = [...secretsOf(endpoint), ...secretsIn(added)]
  if (secrets.length === 0) return failure
  const hide = hiding(secrets)
  return failure.with({
    detail: detail === undefined ? undefined : hide(detail),
    code: code === undefined ? undefined : hide(code),
    cause: shownCause(cause, hide),
  })
}

/** What must not be shown of a provider, as far as it is known before a request is signed. */
export const secretsOf = ({ secrets, provider }: ProviderEndpoint): ReadonlyArray<string> => [
  ...secrets,
  ...provider.secrets.all(),
]

/** A cause as it may be logged. A `PluginFault` stays, since its own fields are logged. */
const shownCause = (cause: unknown, hide: (text: string) => string): unknown => {
  if (cause instanceof PluginFault) return redacted(cause, hide)
  if (!(cause instanceof Error)) return typeof cause === "string" ? hide(cause) : cause
  const shown = new Error(hide(cause.message))
  shown.name = cause.name
  shown.stack = hide(cause.stack ?? "")
  return shown
}

const redacted = ({ plugin, member, hook, problem, cause }: PluginFault, hide: (text: string) => string): PluginFault =>
  new PluginFault({ plugin, member, hook, problem: hide(problem), cause })
