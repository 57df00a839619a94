/** Traces that are on: which requests belong to which, which are sampled, and where their spans go. */
import type { AnySpan, Tracer } from "effect/Tracer"
import { parseTraceMember, parseTraceparent } from "../../domain/request/traceparent.ts"
import type { RequestEnd } from "../request/RequestEnds.ts"
import { TraceContext } from "../request/TraceContext.ts"
import { handOver } from "./appTracer.ts"
import { type EndpointOf, requestSpans } from "./requestSpans.ts"
import { isSampled, type Sampler } from "./Sampler.ts"
import { SpanIds } from "./SpanIds.ts"

/** Who sent a request. */
export interface Sender {
  /** Whether its address is within the ranges of trusted proxies. */
  isFromWithin(): boolean
}

export class Tracing {
  readonly takesAppSpans: boolean
  private readonly ids = new SpanIds()
  private readonly sampler: Sampler
  private readonly trustsAll: boolean

  /** `trustsAll`: every caller is believed. `takesAppSpans`: spans go to the `Tracer` of an app, which decides what is sampled. */
  constructor(sampler: Sampler, trustsAll: boolean, takesAppSpans: boolean) {
    this.sampler = sampler
    this.trustsAll = trustsAll
    this.takesAppSpans = takesAppSpans
  }

  begin(headers: Headers, from: Sender, appSpan?: AnySpan): TraceContext {
    const { ids, sampler, trustsAll, takesAppSpans } = this
    const isTrusted = trustsAll || from.isFromWithin()
    const facts = { isTrusted, hasOwnIds: !takesAppSpans, appSpan }
    if (appSpan !== undefined) return new TraceContext(ids, appSpan, { ...facts, isSampled: appSpan.sampled })
    const parent = isTrusted ? parseTraceparent(headers.get("traceparent")) : undefined
    const trace = new TraceContext(ids, parent, { ...facts, isSampled: true })
    trace.isSampled = takesAppSpans ? parent?.isSampled !== false : isSampled(sampler, trace.traceId, parent?.isSampled)
    return trace
  }

  name(trace: TraceContext, member: unknown): void {
    const names = trace.isTrusted ? parseTraceMember(member) : undefined
    if (names === undefined) return
    trace.names = names
    if (names.traceId === null || trace.parentId !== null) return
    trace.traceId = names.traceId
    trace.parentId = names.parentSpanId
    if (!this.takesAppSpans) trace.isSampled = isSampled(this.sampler, trace.traceId, undefined)
  }
}

/** Hands the spans of requests to a tracer of the app, after the turn of the event loop in which they end. */
export class AppSpans {
  /** Spans that were handed over. */
  handed = 0
  private ends: Array<RequestEnd> = []
  private readonly tracer: Tracer
  private readonly endpointOf: EndpointOf
  private readonly failed: (defect: unknown) => void

  /** `failed`: told what the tracer throws. */
  constructor(tracer: Tracer, endpointOf: EndpointOf, failed: (defect: unknown) => void) {
    this.tracer = tracer
    this.endpointOf = endpointOf
    this.failed = failed
  }

  add(end: RequestEnd): void {
    this.ends.push(end)
    if (this.ends.length === 1) setImmediate(() => this.flush())
  }

  flush(): void {
    const { ends } = this
    this.ends = []
    for (const end of ends) {
      if (end.trace === null) continue
      try {
        const spans = requestSpans(end, end.trace, this.endpointOf)
        handOver(this.tracer, spans, end.trace)
        this.handed += spans.length
      } catch (defect) {
        this.failed(defect)
      }
    }
  }
}
