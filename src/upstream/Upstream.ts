/** The one way to the outside: nothing else in the gateway dials. */
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import { HostFailed } from "../domain/Failure.ts"
import type { Exchange, Sink, StartExchange, UpstreamCall } from "./exchange.ts"
import { type HttpClientOptions, makeHttpClient } from "./http1/client.ts"

export class Upstream extends Context.Tag("headgate/Upstream")<
  Upstream,
  {
    /** Sends a request and hands its answer, whatever the status, to the sink as it comes. Redirects are answers. */
    readonly exchange: StartExchange
  }
>() {
  /** Over the network, by a client of our own; through the runtime's `fetch` where an HTTP proxy leads to the host. */
  static readonly layerWith = (options: HttpClientOptions) =>
    Layer.scoped(
      Upstream,
      Effect.map(
        Effect.acquireRelease(
          Effect.sync(() => makeHttpClient(options)),
          (client) => Effect.sync(client.close),
        ),
        (client) => ({
          exchange: (call, sink) => (isProxied(call) ? fetchExchange(call, sink) : client.exchange(call, sink)),
        }),
      ),
    )

  static readonly layer = Upstream.layerWith({})

  /** Over the network, by the runtime's `fetch` alone. */
  static readonly layerFetch = Layer.sync(Upstream, () => ({ exchange: fetchExchange }))

  /** Whatever `answer` says, without a network: tests, and hosts that live in this process. */
  static readonly layerFrom = (answer: (request: Request) => Response | Promise<Response>) =>
    Layer.succeed(Upstream, { exchange: (call, sink) => callFunction(answer, call, sink) })
}

const proxyVariables = ["HTTPS_PROXY", "https_proxy", "HTTP_PROXY", "http_proxy"]

/** The provider's own proxy, or one that the environment names, which is not for private hosts. `fetch` reads the latter itself. */
const isProxied = ({ proxy, network }: UpstreamCall): boolean =>
  proxy !== undefined || (network === "public" && proxyVariables.some((name) => Boolean(process.env[name])))

const fetchExchange: StartExchange = ({ url, method, headers, body, proxy }, sink) =>
  webExchange(
    (signal) =>
      fetch(url, {
        method,
        headers: { ...headers },
        body: method === "GET" ? null : body,
        redirect: "manual",
        signal,
        ...(proxy === undefined ? {} : { proxy }),
      }),
    sink,
  )

/** Calls a function in the place of a host. */
export const callFunction = (
  answer: (request: Request) => Response | Promise<Response>,
  { url, method, headers, body }: UpstreamCall,
  sink: Sink,
): Exchange =>
  webExchange(
    async (signal) =>
      answer(new Request(url, { method, headers: { ...headers }, body: method === "GET" ? null : body, signal })),
    sink,
  )

/** What is used of a web stream's reader. */
interface BodyReader {
  readonly read: () => Promise<{ readonly done: boolean; readonly value?: Uint8Array | undefined }>
  readonly cancel: () => Promise<void>
}

/** An exchange whose answer is a web `Response`: read only while it is not paused. */
const webExchange = (respond: (signal: AbortSignal) => Promise<Response>, sink: Sink): Exchange => {
  const aborter = new AbortController()
  let reader: BodyReader | undefined
  let isOver = false
  let isPaused = false
  let goOn = (): void => {}

  const run = async (): Promise<void> => {
    const response = await respond(aborter.signal)
    reader = response.body?.getReader()
    if (isOver) return discard()
    sink.head(response)
    while (!isOver) {
      if (isPaused) {
        await new Promise<void>((resolve) => {
          goOn = resolve
        })
        continue
      }
      const next = await reader?.read()
      if (isOver) return
      if (next?.value === undefined) {
        isOver = true
        sink.end()
      } else sink.data(next.value)
    }
  }
  const discard = (): void => {
    isOver = true
    goOn()
    reader?.cancel().catch(() => {})
  }

  run().catch((cause) => {
    if (isOver) return
    isOver = true
    sink.failed(cause instanceof HostFailed ? cause : new HostFailed({ reason: "unreachable", cause }))
  })
  return {
    cancel: () => {
      if (isOver) return
      discard()
      aborter.abort()
    },
    drain: discard,
    pause: () => {
      isPaused = true
    },
    resume: () => {
      isPaused = false
      goOn()
    },
  }
}
