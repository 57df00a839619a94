/**
 * Traces of requests: spans for a collector of OpenTelemetry, or for the `Tracer` of the app that the gateway is part of. They are made
 * once a request is over, and only where it is sampled. Without a collector and a `Tracer` they are off, and their code is not loaded.
 * See docs/traces.md and docs/decisions/0073-spans-at-the-end.md.
 */
import * as Context from "effect/Context"
import * as DefaultServices from "effect/DefaultServices"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Tracer from "effect/Tracer"
import { ProviderRegistry } from "../../catalogue/ProviderRegistry.ts"
import { logEvent } from "../../process/log/logEvent.ts"
import { Upstream } from "../../upstream/Upstream.ts"
import { makeEffectRunner } from "../request/EffectRunner.ts"
import { RequestEnds, type RequestObserver } from "../request/RequestEnds.ts"
import type { TraceContext } from "../request/TraceContext.ts"
import type { SpanCounts } from "./Exporter.ts"
import type { Environment } from "./otelEnvironment.ts"
import type { Sender, Tracing } from "./Tracing.ts"

export interface RequestTraces {
  /**
   * The trace of a request that begins; `undefined`: traces are off. `appSpan`: the app's span that serves it.
   */
  readonly begin: (headers: Headers, from: Sender, appSpan?: Tracer.AnySpan) => TraceContext | undefined
  /** Takes over what the member `trace` of a request's body says of it, if its sender is trusted. */
  readonly name: (trace: TraceContext, member: unknown) => void
  /** Whether spans are made. */
  readonly isOn: boolean
  /** Whether `begin` wants an `appSpan`. */
  readonly takesAppSpans: boolean
  readonly counts: () => SpanCounts
}

const off: RequestTraces = {
  isOn: false,
  begin: () => undefined,
  name: () => {},
  takesAppSpans: false,
  counts: () => ({ exported: 0, dropped: 0 }),
}

/** Where the variables of OpenTelemetry are read: by default the environment of the process. */
export class OtelEnvironment extends Context.Reference<OtelEnvironment>()("headgate/OtelEnvironment", {
  defaultValue: (): Environment => process.env,
}) {}

export class Traces extends Context.Tag("headgate/Traces")<Traces, RequestTraces>() {
  /** `trustsAll`: every caller may say to which trace its request belongs. An app's `Tracer` gets the spans in place of a collector. */
  static readonly layer = (trustsAll: boolean): Layer.Layer<Traces, never, ProviderRegistry | RequestEnds | Upstream> =>
    Layer.scoped(
      Traces,
      Effect.gen(function* () {
        const tracer = yield* Effect.tracer
        if (isAppsOwn(tracer)) return yield* toApp(tracer, trustsAll)
        const environment = yield* OtelEnvironment
        return asksForExport(environment) ? yield* toCollector(environment, trustsAll) : off
      }),
    )

  static readonly layerOff: Layer.Layer<Traces> = Layer.succeed(Traces, off)
}

/** Effect has a tracer where an app has none, which keeps nothing. */
const isAppsOwn = (tracer: Tracer.Tracer): boolean =>
  tracer !== Context.get(DefaultServices.liveServices, Tracer.Tracer)

/** Whether a variable asks for an export. If none does, the others are not read. */
const asksForExport = (environment: Environment): boolean =>
  ["OTEL_EXPORTER_OTLP_ENDPOINT", "OTEL_EXPORTER_OTLP_TRACES_ENDPOINT", "OTEL_TRACES_EXPORTER"].some(
    (name) => (environment[name] ?? "") !== "",
  )

const toApp = (tracer: Tracer.Tracer, trustsAll: boolean) =>
  Effect.gen(function* () {
    const { AppSpans, Tracing } = yield* Effect.promise(() => import("./Tracing.ts"))
    const { defaultSampler } = yield* Effect.promise(() => import("./Sampler.ts"))
    const { endpoint } = yield* ProviderRegistry
    const runner = makeEffectRunner(yield* Effect.runtime<never>())
    const spans = new AppSpans(tracer, endpoint, (defect) =>
      runner.run(logEvent("app_tracer_failed", {}, defect), () => {}),
    )
    yield* Effect.addFinalizer(() => Effect.sync(() => spans.flush()))
    yield* observeSampled((end) => spans.add(end))
    return tracesOf(new Tracing(defaultSampler, trustsAll, true), () => ({ exported: spans.handed, dropped: 0 }))
  })

const toCollector = (environment: Environment, trustsAll: boolean) =>
  Effect.gen(function* () {
    const { readOtelEnvironment } = yield* Effect.promise(() => import("./otelEnvironment.ts"))
    const settings = readOtelEnvironment(environment)
    for (const text of settings.warnings) yield* logEvent("configuration_warning", { text })
    const { collector } = settings
    if (collector === undefined) return off
    const { Tracing } = yield* Effect.promise(() => import("./Tracing.ts"))
    const { Exporter } = yield* Effect.promise(() => import("./Exporter.ts"))
    const exporter = new Exporter(settings, collector, yield* Upstream, (yield* ProviderRegistry).endpoint)
    yield* exporter.run()
    yield* observeSampled((end) => exporter.add(end))
    return tracesOf(new Tracing(settings.sampler, trustsAll, false), () => exporter.counts)
  })

/** `observer` is told of the sampled requests. */
const observeSampled = (observer: RequestObserver) =>
  Effect.flatMap(RequestEnds, ({ subscribe }) =>
    subscribe((end) => {
      if (end.trace?.isSampled === true) observer(end)
    }),
  )

const tracesOf = (tracing: Tracing, counts: () => SpanCounts): RequestTraces => ({
  isOn: true,
  begin: (headers, from, appSpan) => tracing.begin(headers, from, appSpan),
  name: (trace, member) => tracing.name(trace, member),
  takesAppSpans: tracing.takesAppSpans,
  counts,
})
