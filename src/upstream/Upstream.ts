/** Calls to hosts. Nothing else in the gateway opens a connection. */
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import { HostFailed } from "../domain/failures/Failure.ts"
import {
  type Exchange,
  type OriginFigures,
  type Sink,
  type StartExchange,
  sinkThrew,
  tellFailed,
  type UpstreamCall,
} from "./Exchange.ts"
import { environmentProxy, withoutNoProxy } from "./environmentProxy.ts"
import { type HttpClientOptions, makeHttpClient } from "./http1/client.ts"

export interface HostCaller {
  /** Sends a request and hands its answer, whatever the status, to the sink as it comes. Redirects are answers. */
  readonly exchange: StartExchange
  /** Absent: there are no connections of ours. */
  readonly figures?: () => ReadonlyArray<OriginFigures>
}

export class Upstream extends Context.Tag("headgate/Upstream")<Upstream, HostCaller>() {
  /** Over the network: by our own HTTP/1.1 client, or by the runtime's `fetch` through an HTTP proxy. */
  static readonly layerWith = (options: HttpClientOptions) =>
    Layer.scoped(
      Upstream,
      Effect.map(
        Effect.acquireRelease(
          Effect.sync(() => makeHttpClient(options)),
          (client) => Effect.sync(client.close),
        ),
        (client) => {
          const proxyOf = environmentProxy(process.env)
          return {
            figures: client.figures,
            exchange: (call, sink) => {
              // The environment's proxy and its NO_PROXY are not for private hosts, nor for those with a proxy of their own.
              const proxy = call.proxy ?? (call.network === "public" ? proxyOf(call.url) : undefined)
              return proxy === undefined ? client.exchange(call, sink) : throughProxy(proxy, call, sink)
            },
          }
        },
      ),
    )

  static readonly layer = Upstream.layerWith({})

  /** Without a network: `answer` stands for every host. For tests, and for hosts in this process. */
  static readonly layerFrom = (answer: (request: Request) => Response | Promise<Response>) =>
    Layer.succeed(Upstream, { exchange: (call, sink) => callFunction(answer, call, sink) })
}

const throughProxy = (proxy: string, call: UpstreamCall, sink: Sink): Exchange => {
  const { url, method, body } = call
  return webExchange(
    (signal) =>
      withoutNoProxy(() =>
        fetch(url, {
          method,
          headers: allHeaders(call),
          body: method === "GET" ? null : body,
          redirect: "manual",
          signal,
          proxy,
        }),
      ),
    sink,
  )
}

const allHeaders = ({ headers, traceparent }: UpstreamCall): Record<string, string> =>
  traceparent === undefined ? { ...headers } : { ...headers, traceparent }

/** Calls a function in the place of a host. */
export const callFunction = (
  answer: (request: Request) => Response | Promise<Response>,
  call: UpstreamCall,
  sink: Sink,
): Exchange => {
  const { url, method, body } = call
  return webExchange(
    async (signal) =>
      answer(new Request(url, { method, headers: allHeaders(call), body: method === "GET" ? null : body, signal })),
    sink,
  )
}

/** What is used of a web stream's reader. */
interface BodyReader {
  readonly read: () => Promise<{ readonly done: boolean; readonly value?: Uint8Array | ArrayBuffer | undefined }>
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
    try {
      sink.head(response)
    } catch (cause) {
      return fail(sinkThrew(cause))
    }
    while (!isOver) {
      if (isPaused) {
        await new Promise<void>((resolve) => {
          goOn = resolve
        })
        continue
      }
      const next = await reader?.read()
      if (isOver) return
      try {
        if (next?.value !== undefined) sink.data(bufferOf(next.value), 0, next.value.byteLength)
        else {
          sink.end()
          isOver = true
        }
      } catch (cause) {
        fail(sinkThrew(cause))
      }
    }
  }
  const discard = (): void => {
    isOver = true
    goOn()
    reader?.cancel().catch(() => {})
  }

  const fail = (failure: HostFailed): void => {
    if (isOver) return
    discard()
    aborter.abort()
    tellFailed(sink, failure)
  }

  const broken = (cause: unknown): HostFailed =>
    new HostFailed({ reason: "unreachable", isAfterSending: reader !== undefined, cause })
  run().catch((cause) => fail(cause instanceof HostFailed ? cause : broken(cause)))
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

/** The same bytes. A stream that is not of the runtime may give an `ArrayBuffer`. */
const bufferOf = (piece: Uint8Array | ArrayBuffer): Buffer =>
  piece instanceof Uint8Array ? Buffer.from(piece.buffer, piece.byteOffset, piece.byteLength) : Buffer.from(piece)
