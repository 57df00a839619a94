/** Hands finished spans to the `Tracer` of the app that the gateway is part of. The tracer gives the ids. */
import * as Context from "effect/Context"
import * as Exit from "effect/Exit"
import * as Option from "effect/Option"
import * as Tracer from "effect/Tracer"
import type { TraceContext } from "../request/TraceContext.ts"
import type { FinishedSpan } from "./FinishedSpan.ts"

/** `spans`: of one request, its own first. */
export const handOver = (tracer: Tracer.Tracer, spans: ReadonlyArray<FinishedSpan>, trace: TraceContext): void => {
  const made = new Map<string, Tracer.Span>()
  for (const span of spans) {
    const parent = span.parentId === null ? undefined : made.get(span.parentId)
    made.set(span.spanId, begun(tracer, span, parent ?? parentOf(trace)))
  }
  for (const { spanId, linkTo, isError, ended, began, name } of spans) {
    const span = made.get(spanId)
    const linked = linkTo === null ? undefined : made.get(linkTo)
    if (linked !== undefined) span?.addLinks([{ _tag: "SpanLink", span: linked, attributes: {} }])
    span?.end(nanos(Math.max(began, ended)), isError ? Exit.fail(`${name} failed`) : Exit.void)
  }
}

/** What the request is served within: a span of the app, or one that its caller named. */
const parentOf = ({ appSpan, parentId, traceId }: TraceContext): Tracer.AnySpan | undefined => {
  if (appSpan !== undefined) return appSpan
  return parentId === null ? undefined : Tracer.externalSpan({ traceId, spanId: parentId, sampled: true })
}

const begun = (tracer: Tracer.Tracer, span: FinishedSpan, parent: Tracer.AnySpan | undefined): Tracer.Span => {
  const { name, kind, began, attributes } = span
  const made = tracer.span(name, Option.fromNullable(parent), Context.empty(), [], nanos(began), kind)
  for (const [key, value] of attributes) made.attribute(key, value)
  return made
}

const nanos = (ms: number): bigint => BigInt(Math.floor(ms)) * 1_000_000n + BigInt(Math.round((ms % 1) * 1e6))
