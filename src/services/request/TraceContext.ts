/** Where a request stands in a distributed trace. Made at its beginning, and only while traces are on. */
import type { AnySpan } from "effect/Tracer"
import { formatTraceparent, type TraceMember } from "../../domain/request/traceparent.ts"

/** Makes ids that cannot be guessed, as hexadecimal digits in lower case. */
export interface MakeIds {
  /** 32 digits. */
  readonly trace: () => string
  /** 16 digits. */
  readonly span: () => string
}

/** The span within which a request is served. */
export interface ParentSpan {
  readonly traceId: string
  /** `null`: its trace was named without a span. */
  readonly spanId: string | null
}

export class TraceContext {
  traceId: string
  /** Of the caller's span; `null`: the trace begins here. */
  parentId: string | null
  /** Whether its spans are wanted. */
  isSampled: boolean
  /** Where the gateway is part of an app with a `Tracer` of its own: the app's span that serves the request. */
  readonly appSpan: AnySpan | undefined
  /** Whether its ids go out to hosts. With a `Tracer` of the app the ids of our spans are not ours to give. */
  readonly hasOwnIds: boolean
  /** Whether its caller may say which trace it belongs to. */
  readonly isTrusted: boolean
  /** Names that its caller gave, in the body. */
  names: TraceMember | undefined
  private ownSpanId: string | undefined
  private readonly ids: MakeIds

  constructor(
    ids: MakeIds,
    parent: ParentSpan | undefined,
    facts: Pick<TraceContext, "isSampled" | "hasOwnIds" | "isTrusted"> & { readonly appSpan?: AnySpan | undefined },
  ) {
    this.ids = ids
    this.traceId = parent?.traceId ?? ids.trace()
    this.parentId = parent?.spanId ?? null
    this.isSampled = facts.isSampled
    this.hasOwnIds = facts.hasOwnIds
    this.isTrusted = facts.isTrusted
    this.appSpan = facts.appSpan
  }

  /** Of the request's own span. */
  get spanId(): string {
    this.ownSpanId ??= this.ids.span()
    return this.ownSpanId
  }

  newSpanId(): string {
    return this.ids.span()
  }

  /** The `traceparent` of a call within it, whose span has this id. `undefined`: nobody would know that span. */
  headerFor(spanId: () => string): string | undefined {
    const { traceId, isSampled, hasOwnIds, appSpan } = this
    if (hasOwnIds) return formatTraceparent({ traceId, spanId: spanId(), isSampled })
    if (appSpan === undefined) return undefined
    return formatTraceparent({ traceId: appSpan.traceId, spanId: appSpan.spanId, isSampled: appSpan.sampled })
  }
}
