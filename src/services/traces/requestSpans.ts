/**
 * The spans of a request that is over: one of the request, and within it one of each call of a host, of each reservation and of the
 * commit of its row. They have nothing of prompts and answers, and no secret. Pure.
 */
import type { Endpoint } from "../../catalogue/endpoints.ts"
import type { Host } from "../../domain/hosts/Host.ts"
import { toUsd } from "../../domain/price/money.ts"
import type { ObservedAttempt } from "../request/Observation.ts"
import type { RequestEnd } from "../request/RequestEnds.ts"
import type { TraceContext } from "../request/TraceContext.ts"
import { names, operationName, providerName } from "./conventions.ts"
import type { AttributeValue, FinishedSpan } from "./FinishedSpan.ts"

/** How a host is called; `undefined`: the configuration does not have it any more. */
export type EndpointOf = (host: Host) => Endpoint | undefined

/** How many spans a request has at most. */
export const spanCount = ({ attempts, times }: RequestEnd): number =>
  1 + 2 * attempts.length + (times.booked === null ? 0 : 1)

/** The request's own span comes first. */
export const requestSpans = (
  end: RequestEnd,
  trace: TraceContext,
  endpointOf: EndpointOf,
): ReadonlyArray<FinishedSpan> => {
  const { attempts } = end
  const winner = attempts.find(isAnswering)
  const spans = [serverSpan(end, trace)]
  for (const [at, attempt] of attempts.entries()) {
    const spanId = attempt.spanId ?? trace.newSpanId()
    const within = new SpanMaker(end, trace, trace.spanId)
    if (attempt.reserving !== null)
      spans.push(within.inner("reserve", attempt.reserving.began, attempt.reserving.ended))
    spans.push(within.call(attempt, at + 1, spanId, attempt === winner, winner, endpointOf(attempt.host)))
  }
  const { booked } = end.times
  if (booked !== null && winner !== undefined) {
    spans.push(new SpanMaker(end, trace, trace.spanId).inner("commit", Math.min(winner.ended, booked), booked))
  }
  return spans
}

const isAnswering = ({ outcome }: ObservedAttempt): boolean =>
  outcome !== "lost" && outcome !== "failed" && outcome !== "abandoned"

/** Collects attributes, and leaves out those that are not known. */
class Known {
  readonly all: Array<readonly [string, AttributeValue]> = []

  add(name: string, value: AttributeValue | null | undefined): void {
    if (value !== null && value !== undefined && value !== "") this.all.push([name, value])
  }
}

/** Outcomes that are a failure of the service, as the conventions have it: what a caller did wrong is none. */
const isServersFault = ({ status, outcome }: RequestEnd): boolean =>
  status >= 500 || outcome === "host_broke_off" || outcome === "gateway_crashed"

const serverSpan = (end: RequestEnd, trace: TraceContext): FinishedSpan => {
  const { route, times, outcome, ...about } = end
  const space = route.indexOf(" ")
  const known = new Known()
  known.add(names.requestMethod, route.slice(0, space))
  known.add(names.route, route.slice(space + 1))
  known.add(names.urlPath, route.slice(space + 1))
  known.add(names.responseStatus, about.status)
  known.add(names.clientAddress, about.address)
  if (outcome !== "ok") known.add(names.errorType, outcome)
  known.add(names.outcome, outcome)
  known.add(names.requestId, about.requestId)
  known.add(names.generationId, about.generationId)
  known.add(names.form, about.form)
  known.add(names.key, about.key?.id)
  known.add(names.isStreamed, about.isStreamed)
  known.add(names.model, about.attempts.length > 0 || about.row !== null ? about.model : null)
  known.add(names.host, about.host)
  known.add(names.attempts, about.attempts.length)
  known.add(names.cost, toUsd(about.cost))
  known.add(names.traceName, trace.names?.traceName)
  known.add(names.spanName, trace.names?.spanName)
  return {
    traceId: trace.traceId,
    spanId: trace.spanId,
    parentId: trace.parentId,
    name: route,
    kind: trace.appSpan === undefined ? "server" : "internal",
    began: times.receivedAt,
    ended: times.receivedAt + times.ended,
    attributes: known.all,
    isError: isServersFault(end),
    linkTo: null,
  }
}

/** Makes the spans within that of a request. */
class SpanMaker {
  private readonly end: RequestEnd
  private readonly trace: TraceContext
  private readonly parentId: string

  constructor(end: RequestEnd, trace: TraceContext, parentId: string) {
    this.end = end
    this.trace = trace
    this.parentId = parentId
  }

  /** `began`, `ended`: milliseconds after the first byte. */
  inner(name: string, began: number, ended: number): FinishedSpan {
    const spanId = this.trace.newSpanId()
    return this.span({ spanId, name, kind: "internal", began, ended, attributes: [], isError: false, linkTo: null })
  }

  /** `place`: from 1, in the order in which calls ended. `isWinner`: its answer is the caller's. */
  call(
    attempt: ObservedAttempt,
    place: number,
    spanId: string,
    isWinner: boolean,
    winner: ObservedAttempt | undefined,
    endpoint: Endpoint | undefined,
  ): FinishedSpan {
    const { host, outcome, failure, began, ended } = attempt
    const known = new Known()
    const operation = operationName(this.end.form)
    known.add(names.operation, operation)
    known.add(names.provider, providerName(endpoint?.plugin ?? host.provider))
    known.add(names.requestModel, host.upstreamModel)
    known.add(names.responseModel, attempt.modelSaid)
    addAddress(known, endpoint)
    known.add(names.attempt, place)
    known.add(names.host, host.tag)
    known.add(names.model, host.model)
    known.add(names.outcome, outcome)
    known.add(names.reserved, toUsd(attempt.reserved))
    if (failure !== undefined) {
      known.add(names.errorType, failure.reason)
      known.add(names.responseStatus, failure.status)
    }
    if (attempt.firstEvent !== null) known.add(names.timeToFirstChunk, (attempt.firstEvent - began) / 1000)
    if (isWinner) this.addRow(known)
    known.add(names.generationName, this.trace.names?.generationName)
    return this.span({
      ...{ spanId, name: `${operation} ${host.upstreamModel}`, kind: "client", began, ended, attributes: known.all },
      isError: failure !== undefined,
      linkTo: outcome === "lost" ? (winner?.spanId ?? null) : null,
    })
  }

  private addRow(known: Known): void {
    const { row } = this.end
    if (row === null) return
    known.add(names.inputTokens, row.promptTokens)
    known.add(names.outputTokens, row.completionTokens)
    if (row.cachedTokens > 0) known.add(names.cacheReadTokens, row.cachedTokens)
    if (row.cacheWriteTokens > 0) known.add(names.cacheWriteTokens, row.cacheWriteTokens)
    if (row.reasoningTokens > 0) known.add(names.reasoningTokens, row.reasoningTokens)
    if (row.finishReason !== "") known.add(names.finishReasons, [row.finishReason])
    known.add(names.cost, toUsd(row.cost))
    known.add(names.upstreamCost, toUsd(row.upstreamCost))
  }

  private span(span: Omit<FinishedSpan, "traceId" | "parentId">): FinishedSpan {
    const { trace, end, parentId } = this
    const { receivedAt } = end.times
    return {
      ...span,
      traceId: trace.traceId,
      parentId,
      began: receivedAt + span.began,
      ended: receivedAt + span.ended,
    }
  }
}

/** The host's address as it is configured: a proxy on the way is not told. */
const addAddress = (known: Known, endpoint: Endpoint | undefined): void => {
  if (endpoint === undefined) return
  const found = address.exec(endpoint.baseUrl)
  if (found === null) return
  const [, scheme, bracketed, plain, port] = found
  known.add(names.serverAddress, bracketed ?? plain)
  known.add(names.serverPort, port === undefined ? (scheme === "http" ? 80 : 443) : Number(port))
}

/** A base URL was checked when the configuration was read. A provider with a transport of its own may have none. */
const address = /^(https?):\/\/(?:\[([^\]]+)\]|([^/:?#]+))(?::(\d+))?/
