/** Sending a request to a host, over the network or by the provider's own transport. */
import * as Clock from "effect/Clock"
import * as Effect from "effect/Effect"
import type { Endpoint, ProviderEndpoint } from "../../catalogue/endpoints.ts"
import { HostFailed } from "../../domain/failures/Failure.ts"
import type { Encoded } from "../../formats/Protocol.ts"
import type { SideAnswer, SideRequest } from "../../plugin/Provider.ts"
import type { Exchange, Sink, UpstreamCall } from "../../upstream/Exchange.ts"
import { callFunction, type HostCaller, Upstream } from "../../upstream/Upstream.ts"
import { gotToSign, sentToSign } from "./signedSecrets.ts"
import { wholeCall } from "./wholeCall.ts"

export interface UpstreamClient {
  /** The encoded request, signed by the provider where it signs. */
  readonly signed: (endpoint: ProviderEndpoint, encoded: Encoded) => Effect.Effect<Encoded, HostFailed>
  /** Sends it: over the network, or to the provider's own transport. `isOnce`, `traceparent`: those of `UpstreamCall`. */
  readonly send: (
    endpoint: Endpoint,
    encoded: Encoded,
    sink: Sink,
    isOnce: boolean,
    traceparent?: string | undefined,
  ) => Exchange
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

  send(endpoint: Endpoint, encoded: Encoded, sink: Sink, isOnce: boolean, traceparent?: string): Exchange {
    const { transport } = endpoint.provider
    const asked = callTo(endpoint, encoded, isOnce)
    const call = traceparent === undefined ? asked : { ...asked, traceparent }
    try {
      return transport === undefined ? this.upstream.exchange(call, sink) : callFunction(transport, call, sink)
    } catch (cause) {
      // A defect of ours. The attempt has to end all the same, since it has a reservation and a place at the host.
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
