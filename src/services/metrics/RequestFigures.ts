/**
 * Counts requests at their end. It runs within the end of each request, so it makes no object and builds no text where a series
 * is known already: lookups by label, and additions.
 */

import type { Host } from "../../domain/hosts/Host.ts"
import { type FormName, formRoutes, routeName } from "../../domain/request/forms.ts"
import { answeringOf, type ObservedAttempt } from "../request/Observation.ts"
import { overheadMs } from "../request/overhead.ts"
import type { RequestEnd } from "../request/RequestEnds.ts"
import { attemptOutcome } from "./attemptOutcome.ts"
import type { Scrape } from "./Family.ts"
import { requestFamilies as families } from "./families.ts"
import { other, type Pair, type Pairs } from "./Pairs.ts"
import { type Counter, counters, type Histogram, histograms } from "./Store.ts"

/** Series of one form, found once. */
class FormSeries {
  readonly form: FormName
  readonly whole: Histogram
  readonly streamed: Histogram
  overhead: Histogram | undefined

  constructor(form: FormName, whole: Histogram, streamed: Histogram) {
    this.form = form
    this.whole = whole
    this.streamed = streamed
  }
}

/** Series of one host, found once. */
class HostSeries {
  readonly pair: Pair
  /** By outcome. */
  readonly attempts = new Map<string, Counter>()
  firstToken: Histogram | undefined
  answer: Histogram | undefined
  perToken: Histogram | undefined

  constructor(pair: Pair) {
    this.pair = pair
  }
}

/** Of requests to models, by method and path. */
const formOf: ReadonlyMap<string, FormName> = new Map(
  [...formRoutes].flatMap(([form, routes]) =>
    routes.map(({ method, path }) => [routeName(method, path), form] as const),
  ),
)

export class RequestFigures {
  private readonly pairs: Pairs
  /** The id of the model that a caller's name stands for; `undefined`: it is not known. */
  private readonly modelOf: (name: string) => string | undefined
  private readonly requests = counters(families.requests)
  private readonly controlRequests = counters(families.controlRequests)
  private readonly attempts = counters(families.attempts)
  private readonly fallbacks = counters(families.fallbacks)
  private readonly hedges = counters(families.hedges)
  private readonly duration = histograms(families.duration)
  private readonly firstToken = histograms(families.firstToken)
  private readonly answer = histograms(families.answer)
  private readonly perToken = histograms(families.perToken)
  private readonly overhead = histograms(families.overhead)
  /** By route. */
  private readonly forms = new Map<string, FormSeries>()
  private readonly hosts = new WeakMap<Host, HostSeries>()

  constructor(pairs: Pairs, modelOf: (name: string) => string | undefined) {
    this.pairs = pairs
    this.modelOf = modelOf
  }

  /** An observer of `RequestEnds`. */
  readonly observe = (end: RequestEnd): void => {
    const { route, attempts, times, outcome } = end
    const form = this.forms.get(route) ?? this.formSeries(route)
    if (form === undefined) {
      this.controlRequests.of(outcome).value += 1
      return
    }
    this.counter(form, end).value += 1
    const duration = end.isStreamed ? form.streamed : form.whole
    duration.observe(times.ended / 1000)
    for (const attempt of attempts) this.attempt(attempt)
    const answering = answeringOf(attempts)
    if (answering !== undefined) this.answered(end, answering, form)
    if (attempts.length > 1) this.furtherAttempts(attempts)
  }

  collect(scrape: Scrape): void {
    const { requests, controlRequests, attempts, fallbacks, hedges } = this
    for (const map of [requests, controlRequests, attempts, fallbacks, hedges]) map.collect(scrape)
    const { duration, firstToken, answer, perToken, overhead } = this
    for (const map of [duration, firstToken, answer, perToken, overhead]) map.collect(scrape)
  }

  /** `undefined`: it is no route of models. */
  private formSeries(route: string): FormSeries | undefined {
    const form = formOf.get(route)
    if (form === undefined) return undefined
    const series = new FormSeries(form, this.duration.of(form, "false"), this.duration.of(form, "true"))
    this.forms.set(route, series)
    return series
  }

  private counter(form: FormSeries, { model, attempts, row, outcome }: RequestEnd): Counter {
    const isConfigured = model !== null && (row !== null || attempts.length > 0)
    // Else it is what the caller wrote.
    return this.requests.of(form.form, isConfigured ? this.pairs.model(model) : this.namedModel(model), outcome)
  }

  /** "": the request was refused before its model was known. */
  private namedModel(name: string | null): string {
    if (name === null) return ""
    const configured = this.modelOf(name)
    return configured === undefined ? other : this.pairs.model(configured)
  }

  private hostSeries(host: Host): HostSeries {
    const known = this.hosts.get(host)
    if (known !== undefined) return known
    const series = new HostSeries(this.pairs.of(host.model, host.tag))
    this.hosts.set(host, series)
    return series
  }

  private attempt(attempt: ObservedAttempt): void {
    const { attempts, pair } = this.hostSeries(attempt.host)
    const outcome = attemptOutcome(attempt)
    const known = attempts.get(outcome)
    const series = known ?? this.attempts.of(pair.model, pair.host, outcome)
    if (known === undefined) attempts.set(outcome, series)
    series.value += 1
  }

  private answered(end: RequestEnd, answering: ObservedAttempt, form: FormSeries): void {
    const { row } = end
    const { began, firstEvent, ended, outcome } = answering
    const host = this.hostSeries(answering.host)
    if (outcome === "finished") {
      host.answer ??= this.answer.of(host.pair.model, host.pair.host)
      host.answer.observe((ended - began) / 1000)
    }
    if (firstEvent !== null) {
      host.firstToken ??= this.firstToken.of(host.pair.model, host.pair.host)
      host.firstToken.observe((firstEvent - began) / 1000)
      if (row !== null && !row.estimated && outcome === "finished" && row.completionTokens > 1) {
        host.perToken ??= this.perToken.of(host.pair.model, host.pair.host)
        host.perToken.observe((ended - firstEvent) / (row.completionTokens - 1) / 1000)
      }
    }
    const overhead = overheadMs(end, answering)
    if (overhead === null) return
    form.overhead ??= this.overhead.of(form.form)
    form.overhead.observe(overhead / 1000)
  }

  /** Of several calls: which of them came after a failure, and which beside another one. */
  private furtherAttempts(attempts: ReadonlyArray<ObservedAttempt>): void {
    const [first, ...others] = attempts.toSorted((one, next) => one.began - next.began)
    let busyUntil = first?.ended ?? 0
    for (const { began, ended, host: called } of others) {
      const { model, host } = this.pairs.of(called.model, called.tag)
      const counted = began < busyUntil ? this.hedges : this.fallbacks
      counted.of(model, host).value += 1
      busyUntil = Math.max(busyUntil, ended)
    }
  }
}
