/**
 * The life of a request of the data plane, from its first byte to its one end: admission, the caller's key, the limits of the key, what
 * headers and query ask for, the body, and what the route makes of it. Its methods are the steps (`StepByStep`), in this order.
 */
import * as Cause from "effect/Cause"
import * as Effect from "effect/Effect"
import * as Option from "effect/Option"
import type { AnySpan } from "effect/Tracer"
import { CallerGone, type Failure, Unavailable } from "../../domain/failures/Failure.ts"
import type { JsonObject } from "../../domain/json/json.ts"
import type { KeyRecord } from "../../domain/keys/key.ts"
import type { BudgetSnapshot } from "../../domain/money/reservation.ts"
import type { RoutePath } from "../../domain/request/forms.ts"
import { chatErrorBody } from "../../formats/errorBody.ts"
import type { Rendered } from "../../formats/Rendered.ts"
import { Target } from "../../formats/Target.ts"
import { logEvent } from "../../process/log/logEvent.ts"
import type { OpenOutput } from "../../services/dispatch/StreamOutput.ts"
import { isFinished } from "../../services/request/EffectRunner.ts"
import type { Observation } from "../../services/request/Observation.ts"
import type { Ending, Lifetime } from "../../services/request/RequestContext.ts"
import type { EndFailure, ServedRequest } from "../../services/request/ServedRequest.ts"
import { StepByStep } from "../../services/request/StepByStep.ts"
import { untilEnded } from "../../services/request/untilEnded.ts"
import { authenticate, authenticateWithin, managementKey } from "../authenticate.ts"
import type { PeerSource } from "../CallerAddresses.ts"
import { defect, render } from "../errorBody.ts"
import {
  attributionText,
  callerRequestId,
  generationIdHeader,
  notSniffed,
  refererHeader,
  requestIdHeaders,
  serverTimingHeader,
  titleHeaders,
} from "../headers.ts"
import { readRequest } from "../readRequest.ts"
import type { Body } from "./Body.ts"
import type { DataServices } from "./DataServices.ts"
import { serverTiming } from "./serverTiming.ts"

/** One method of one path. */
export interface DataRoute {
  /** Method and path (`routeName`). */
  readonly name: string
  readonly path: RoutePath
  /** Whether a key may stand where Google's clients send it. Default false. */
  readonly takesGoogleKeys?: boolean
  /** The name of its form; `null`: the request says it. */
  readonly form: string | null
  /** The body of an error, in the form of the route. */
  readonly error: (rendered: Rendered, requestId: string) => JsonObject
  /** The life of a request for it. Nothing happens before it is run. */
  readonly receive: (services: DataServices, incoming: Incoming) => DataRequest<unknown>
}

/** A request as the server has it. */
export interface Incoming {
  readonly http: Request
  /** Where the text of a streamed answer goes. */
  readonly output: OpenOutput
  /** Polled (`InFlight`), since listening to the request's own signal is expensive. `undefined`: the signal is all there is. */
  readonly isCallerGone: (() => boolean) | undefined
  readonly peers: PeerSource | undefined
  /** The span of an embedding app that serves it. */
  readonly appSpan?: AnySpan | undefined
}

/** `Content`: what its body is decoded to. Every failure becomes an answer. */
export abstract class DataRequest<Content> extends StepByStep<Response, Failure, never> {
  readonly route: DataRoute
  readonly served: ServedRequest
  protected readonly services: DataServices
  protected readonly incoming: Incoming
  /** Whether its answer is a stream that has begun, which ends the request when it is over. */
  protected isStreamed = false
  // Each is set by the step that finds it out, and read by later ones only.
  protected lifetime!: Lifetime
  protected key!: KeyRecord
  private body!: Body<Content>

  constructor(services: DataServices, route: DataRoute, incoming: Incoming) {
    super()
    this.services = services
    this.route = route
    this.incoming = incoming
    this.served = services.ends.begin(route.name, route.form, this)
    const { observed } = this.served
    if (observed !== undefined) {
      const { headers } = incoming.http
      observed.app = attributionOf(headers)
      observed.callerRequestId = callerRequestId(headers)
      observed.trace = services.traces.begin(headers, this, incoming.appSpan) ?? null
    }
  }

  /** The caller's IP address; `null`: it is not known, or the caller has left. */
  address(): string | null {
    return this.services.addresses.of(this.incoming.http.headers, this.peer)
  }

  /** Whether its caller is within the ranges of trusted proxies. */
  isFromWithin(): boolean {
    return this.services.addresses.proxies.hasWithin(() => this.address())
  }

  /** The address of the other end of its connection. */
  private get peer(): string | null {
    const { http, peers } = this.incoming
    return peers?.requestIP(http)?.address ?? null
  }

  get target(): Target {
    return new Target(this.route.path, this.incoming.http.url)
  }

  /** Management keys cannot call models. */
  protected get isForAnyKey(): boolean {
    return false
  }

  /** Whether it counts against the limits of its key. */
  protected get isCounted(): boolean {
    return true
  }

  /** Admits it, unless the gateway stops or has too many. From now on the request is ended when its caller leaves. */
  protected override begin(): void {
    const { inFlight, runner } = this.services
    const { http, isCallerGone } = this.incoming
    const lifetime = inFlight.admit()
    if (lifetime instanceof Unavailable) {
      this.fail(lifetime)
      return
    }
    this.lifetime = lifetime
    this.served.lifetime = lifetime
    lifetime.request = this.served
    if (isCallerGone === undefined) listen(http, lifetime)
    else lifetime.isCallerGone = isCallerGone
    this.ask(authenticateWithin(runner, lifetime, this.caller()), this.identified)
  }

  /** Whose it is: a key says so. */
  protected caller(): Effect.Effect<KeyRecord, Failure> {
    const { headers, url } = this.incoming.http
    return authenticate(this.services.keys, headers, this.route.takesGoogleKeys === true ? url : undefined)
  }

  /** Its caller is known. From now on the request is ended when the key is revoked. */
  private identified(key: KeyRecord): void {
    this.key = key
    this.served.key = key
    const refusal =
      key.allowedAddresses === null ? undefined : this.services.addresses.refusal(key, () => this.knownAddress())
    if (refusal !== undefined) this.fail(refusal)
    else if (key.kind !== "ordinary" && !this.isForAnyKey) this.fail(managementKey)
    else if (this.isCounted) this.count(key)
    else this.withinLimits()
  }

  /** The same. Who observes may have asked before the caller left. */
  private knownAddress(): string | null {
    return this.served.observed?.address ?? this.address()
  }

  private count(key: KeyRecord): void {
    const { inFlight, limits } = this.services
    // Before the rate limit, since a refused request does not count against that.
    const refusal = inFlight.own(this.lifetime, key.id)
    if (refusal !== undefined) this.fail(refusal)
    else this.ask(limits.admit(key), this.withinLimits)
  }

  /** The limits of its key are kept. What headers and query ask for is looked at here, before anything of the body is read (`receive`). */
  protected abstract withinLimits(): void

  protected receive(body: Body<Content>): void {
    this.body = body
    const { registry, timers, inFlight } = this.services
    const { bodyBytes: limitBytes } = registry.current().limits
    const reading = { limitBytes, timers, places: inFlight, type: body.type }
    const { timed } = this
    if (timed !== undefined) timed.bodyAsked = timed.elapsed()
    this.after(readRequest(this.incoming.http, reading, this.lifetime), timed === undefined ? this.received : this.read)
  }

  private read(bytes: Uint8Array): void {
    const { timed } = this
    if (timed !== undefined) timed.bodyRead = timed.elapsed()
    this.received(bytes)
  }

  /** Where `Server-Timing` is wanted. */
  private get timed(): Observation | undefined {
    return this.services.serverTiming ? this.served.observed : undefined
  }

  /** All bytes of the body have come. */
  protected received(bytes: Uint8Array): void {
    this.decode(bytes)
  }

  protected decode(bytes: Uint8Array): void {
    const { lifetime } = this
    const { headers } = this.incoming.http
    const { target } = this
    const config = this.services.registry.current()
    this.after(this.body.read({ bytes, headers, target, lifetime, config }), this.decoded)
  }

  private decoded(content: Content): void {
    const { ending } = this.lifetime
    const { observed } = this.served
    if (observed !== undefined && ending === undefined) observed.admitted = observed.elapsed()
    if (ending === undefined) this.admitted(content)
    else this.fail(ending)
  }

  /** What the route makes of it, up to `succeed`. */
  protected abstract admitted(content: Content): void

  /** What the key can still pay. An app's own meter may never say it, so it ends with the request. */
  protected budgetOf(key: KeyRecord): Effect.Effect<BudgetSnapshot, Unavailable | Ending> {
    const { meter, runner } = this.services
    return untilEnded(runner, this.lifetime, meter.budget({ _tag: "Key", key }), (ending) => ending)
  }

  /** The request is answered. */
  protected override succeed(response: Response): void {
    if (this.isStreamed) super.succeed(response)
    else this.conclude(response, undefined)
  }

  protected override failed(cause: Cause.Cause<Failure>): void {
    const failure = Option.getOrUndefined(Cause.failureOption(cause))
    if (failure === undefined) this.logDefect(cause)
    let response: Response
    try {
      response = this.refusal(failure)
    } catch (thrown) {
      this.logDefect(Cause.die(thrown))
      this.conclude(this.plainRefusal(), "defect")
      return
    }
    this.conclude(response, failure ?? "defect")
  }

  /** The error body of its form. `undefined`: a defect, of which a caller is told nothing more. */
  private refusal(failure: Failure | undefined): Response {
    const { requestId, context, lifetime } = this.served
    // What is left of an incomplete body must not be taken for the next request.
    const closing = lifetime?.isReading === true ? { connection: "close" } : {}
    const rendered = failure === undefined ? defect : render(failure)
    const body = this.route.error(rendered, requestId)
    const shown = failure === undefined ? undefined : this.metadata()
    const ids = { ...requestIdHeaders(requestId), ...(context && { [generationIdHeader]: context.generationId }) }
    return this.answerJson(shown === undefined ? body : { ...body, openrouter_metadata: shown }, {
      status: rendered.status,
      headers: { "content-type": "application/json", ...notSniffed, ...rendered.headers, ...closing, ...ids },
    })
  }

  /** Where a refusal could not be written: without anything that a form or a failure says. */
  private plainRefusal(): Response {
    const headers = requestIdHeaders(this.served.requestId)
    return this.answerJson(chatErrorBody(defect), { status: defect.status, headers })
  }

  protected logDefect(cause: Cause.Cause<unknown>): void {
    const { requestId } = this.served
    this.services.runner.run(logEvent("answer_defect", { requestId }, cause), () => {})
  }

  /** Ends the request, and hands the response over once that is durable. */
  private conclude(response: Response, failure: EndFailure | undefined): void {
    const ended = this.services.ends.end(this.served, response.status, failure)
    if (isFinished(ended)) this.handOver(response)
    else this.after(Effect.as(ended, response), this.handOver)
  }

  private handOver(response: Response): void {
    if (this.timed !== undefined) response.headers.set(serverTimingHeader, serverTiming(this.timed))
    super.succeed(response)
  }

  protected override look(): void {
    this.lifetime.look()
  }

  /** The routing metadata, for an error; `undefined`: nobody asks for it, or there is no plan. */
  metadata(): JsonObject | undefined {
    return undefined
  }

  /** An answer that is not a stream. */
  answer(body: string | Uint8Array<ArrayBuffer>, init?: ResponseInit): Response {
    this.served.observed?.wrote(body)
    return new Response(body, init)
  }

  /** The same of JSON. */
  answerJson(value: object, init: ResponseInit & { readonly headers: Record<string, string> }): Response {
    const headers = { "content-type": "application/json;charset=utf-8", ...init.headers }
    return this.answer(JSON.stringify(value), { ...init, headers })
  }
}

const [titleHeader, secondTitleHeader, thirdTitleHeader] = titleHeaders

export const attributionOf = (headers: Headers) => ({
  appTitle: attributionText(
    headers.get(titleHeader) ?? headers.get(secondTitleHeader) ?? headers.get(thirdTitleHeader),
  ),
  appUrl: attributionText(headers.get(refererHeader)),
})

/** Ends the request when its caller leaves, or at once if it has left already. */
const listen = ({ signal }: Request, lifetime: Lifetime): void => {
  const gone = () => lifetime.end(new CallerGone())
  signal.addEventListener("abort", gone, { once: true })
  // A signal that was aborted before does not fire the event again.
  if (signal.aborted) gone()
}
