/**
 * An HTTP/1.1 client for calls to hosts. In place of the runtime's `fetch`, because it dials the very address that was
 * checked, keeps enough idle connections, passes back-pressure on to the host, bounds decompression and makes no promise
 * and no stream per chunk. See docs/decisions/0008-http-client.md.
 */
import { HostFailed } from "../../domain/failures/Failure.ts"
import { type Exchange, type OriginFigures, type Sink, type StartExchange, tellFailed } from "../Exchange.ts"
import { ActiveExchange } from "./ActiveExchange.ts"
import { Pool } from "./Pool.ts"
import { Registry } from "./Registry.ts"
import { type Lookup, makeResolve } from "./Resolve.ts"
import { requestOf } from "./request.ts"
import { SendBatch } from "./SendBatch.ts"
import { Targets } from "./Targets.ts"
import { makeTlsOptions } from "./tls.ts"

export interface HttpClientOptions {
  /** Certificates in PEM to trust beside the usual ones. */
  readonly ca?: string | undefined
  /** Resolves names; the system's resolver by default. */
  readonly lookup?: Lookup | undefined
}

export interface HttpClient {
  readonly exchange: StartExchange
  readonly figures: () => ReadonlyArray<OriginFigures>
  /** Closes every connection. Running and later exchanges fail. */
  readonly close: () => void
}

export const makeHttpClient = (options: HttpClientOptions = {}): HttpClient => {
  const registry = new Registry()
  const targets = new Targets()
  const batch = new SendBatch()
  const context = {
    resolve: makeResolve(options.lookup),
    tls: makeTlsOptions(options.ca),
    pool: new Pool(),
    registry,
  }
  let closed = false
  return {
    exchange: (call, sink) => {
      try {
        if (closed) throw new Error("the client is closed")
        if (call.proxy !== undefined) throw new Error("this client calls hosts directly, not through a proxy")
        const target = targets.of(call.url, call.network)
        const exchange = new ActiveExchange(
          sink,
          context,
          target.origin,
          requestOf(call, target.heads),
          call.isOnce === true,
        )
        batch.add(exchange)
        return exchange
      } catch (cause) {
        return failedExchange(sink, cause)
      }
    },
    figures: () => targets.figures,
    close: () => {
      closed = true
      const cause = new Error("the client is closed")
      batch.shutdown(cause)
      registry.shutdown(cause)
    },
  }
}

/** An exchange that failed before it began. Its sink is called after `exchange` has returned. */
const failedExchange = (sink: Sink, cause: unknown): Exchange => {
  let over = false
  const end = () => {
    over = true
  }
  queueMicrotask(() => {
    if (!over) tellFailed(sink, new HostFailed({ reason: "unsendable", cause }))
  })
  return { cancel: end, drain: end, pause: () => {}, resume: () => {} }
}
