/**
 * Sends spans to a collector, a batch at a time: at most every `delayMs`, or once there are enough for a batch. A collector that is away,
 * slow or wrong costs spans, which are counted, and nothing else.
 */
import * as Clock from "effect/Clock"
import * as Effect from "effect/Effect"
import * as Fiber from "effect/Fiber"
import * as Random from "effect/Random"
import type * as Scope from "effect/Scope"
import { backoffMs } from "../../domain/structures/backoff.ts"
import { LoggedState } from "../../process/log/LoggedState.ts"
import { logEvent } from "../../process/log/logEvent.ts"
import { version } from "../../process/version.ts"
import type { HostCaller } from "../../upstream/Upstream.ts"
import { otherWorkFirst } from "../request/otherWorkFirst.ts"
import type { RequestEnd } from "../request/RequestEnds.ts"
import { survivingDefects } from "../storage/survivingDefects.ts"
import { bodyOf, send } from "./collector.ts"
import type { Attributes } from "./FinishedSpan.ts"
import type { Collector, OtelSettings } from "./otelEnvironment.ts"
import { exportJson, spanJson } from "./otlpJson.ts"
import { type EndpointOf, requestSpans, spanCount } from "./requestSpans.ts"
import { SpanQueue } from "./SpanQueue.ts"

/** Spans since the start of the process. */
export interface SpanCounts {
  readonly exported: number
  /** Not exported: the queue was full, or the collector did not take them. */
  readonly dropped: number
}

const waits = { firstMs: 1000, mostMs: 30_000 }
const mostTries = 5
/** Milliseconds of a stop that the last spans may take. */
const flushMs = 2000
/** Milliseconds between lines of the log about lost spans. */
const logEveryMs = 60_000
/** After the spans of so many requests, other work of the event loop goes first. */
const writtenAtOnce = 16

export class Exporter {
  exported = 0
  private lost = 0
  /** Lost spans that the log has been told of, and when. */
  private logged = 0
  private loggedAt = Number.NEGATIVE_INFINITY
  private readonly failing = new LoggedState()
  private isClosing = false
  private readonly hasRequests = Effect.unsafeMakeLatch()
  private readonly hasBatch = Effect.unsafeMakeLatch()
  private readonly closing = Effect.unsafeMakeLatch()
  private readonly queue: SpanQueue
  private readonly settings: OtelSettings
  private readonly collector: Collector
  private readonly upstream: HostCaller
  private readonly endpointOf: EndpointOf
  private readonly resource: Attributes
  private readonly surviving = survivingDefects("the export of spans")

  constructor(settings: OtelSettings, collector: Collector, upstream: HostCaller, endpointOf: EndpointOf) {
    this.settings = settings
    this.collector = collector
    this.upstream = upstream
    this.endpointOf = endpointOf
    this.resource = resourceOf(settings.resource)
    this.queue = new SpanQueue(settings.queueSpans, settings.batchSpans, (isBatch) => {
      this.hasRequests.unsafeOpen()
      if (isBatch) this.hasBatch.unsafeOpen()
    })
  }

  /** The request is over, and sampled. */
  add(end: RequestEnd): void {
    this.queue.push(end)
  }

  get counts(): SpanCounts {
    return { exported: this.exported, dropped: this.lost + this.queue.dropped }
  }

  /** Exports until the scope is closed, and then what is left. */
  run(): Effect.Effect<void, never, Scope.Scope> {
    return Effect.acquireRelease(Effect.forkDaemon(Effect.interruptible(this.loop())), (fiber) =>
      this.close(fiber),
    ).pipe(Effect.asVoid)
  }

  private loop(): Effect.Effect<void> {
    return Effect.gen(this, function* () {
      while (!(this.isClosing && this.queue.isEmpty)) {
        yield* Effect.raceFirst(this.hasRequests.await, this.closing.await)
        yield* this.pause(this.settings.delayMs, this.hasBatch.await)
        this.hasRequests.unsafeClose()
        this.hasBatch.unsafeClose()
        while (!this.queue.isEmpty) yield* this.batch(this.queue.take())
        yield* this.logLost("the collector is slower than spans come")
      }
    })
  }

  private close(fiber: Fiber.RuntimeFiber<void>): Effect.Effect<void> {
    return Effect.suspend(() => {
      this.isClosing = true
      this.closing.unsafeOpen()
      return Fiber.await(fiber).pipe(
        Effect.interruptible,
        Effect.timeoutOption(flushMs),
        Effect.zipRight(Fiber.interrupt(fiber)),
        Effect.zipRight(Effect.sync(() => this.queue.clear())),
        Effect.zipRight(
          Effect.suspend(() => {
            const spans = this.takeUnlogged()
            return spans === 0 ? Effect.void : logEvent("spans_lost", { spans, because: "the gateway stopped" })
          }),
        ),
      )
    })
  }

  /** Waits so long, or until `sooner`, or until the gateway stops. */
  private pause(milliseconds: number, sooner: Effect.Effect<void> = Effect.never): Effect.Effect<void> {
    return Effect.raceFirst(Effect.raceFirst(Effect.sleep(milliseconds), sooner), this.closing.await)
  }

  /** A defect costs the batch, and not the traces of all later requests. */
  private batch(ends: ReadonlyArray<RequestEnd>): Effect.Effect<void> {
    const exported = Effect.tapDefect(this.exportBatch(ends), () =>
      Effect.sync(() => {
        this.lost += ends.reduce((sum, end) => sum + spanCount(end), 0)
      }),
    )
    return Effect.asVoid(this.surviving(exported))
  }

  private exportBatch(ends: ReadonlyArray<RequestEnd>): Effect.Effect<void> {
    return Effect.gen(this, function* () {
      const spans = yield* this.spanTexts(ends)
      const body = yield* bodyOf(this.collector, exportJson(this.resource, version, spans))
      yield* Effect.onInterrupt(this.exportBody(body, spans.length), () =>
        Effect.sync(() => {
          this.lost += spans.length
        }),
      )
    })
  }

  private exportBody(body: string | Uint8Array, spans: number): Effect.Effect<void> {
    return Effect.gen(this, function* () {
      for (let tries = 1; ; tries++) {
        const sent = yield* send(this.upstream, this.collector, body)
        if (sent.isTaken) {
          const rejected = Math.min(sent.rejected, spans)
          this.lost += rejected
          this.exported += spans - rejected
          yield* rejected > 0
            ? this.logLost(`the collector rejected spans${sent.message === "" ? "" : `: ${sent.message}`}`)
            : this.recovered
          return
        }
        if (!sent.mayRetry || tries >= mostTries || this.isClosing) {
          this.lost += spans
          yield* this.logLost(sent.because)
          return
        }
        yield* this.pause(sent.waitMs ?? backoffMs(waits, tries - 1, yield* Random.next))
      }
    })
  }

  private spanTexts(ends: ReadonlyArray<RequestEnd>): Effect.Effect<ReadonlyArray<string>> {
    return Effect.gen(this, function* () {
      const texts: Array<string> = []
      for (const [at, end] of ends.entries()) {
        if (end.trace === null) continue
        for (const span of requestSpans(end, end.trace, this.endpointOf)) texts.push(spanJson(span))
        if (at % writtenAtOnce === writtenAtOnce - 1) yield* otherWorkFirst
      }
      return texts
    })
  }

  /** Logs that spans are lost, unless the log has that already, or had it within the last minute. */
  private logLost(because: string): Effect.Effect<void> {
    return Effect.flatMap(Clock.currentTimeMillis, (now) => {
      const isNew = this.counts.dropped > this.logged
      if (!isNew || this.failing.hasBegun || now - this.loggedAt < logEveryMs) return Effect.void
      this.loggedAt = now
      return this.failing.begin(logEvent("collector_failing", { because, spans: this.takeUnlogged() }))
    })
  }

  /** A whole batch was taken. */
  private get recovered(): Effect.Effect<void> {
    return Effect.suspend(() =>
      this.failing.hasBegun
        ? this.failing.end((lastedS) => logEvent("collector_back", { lastedS, spans: this.takeUnlogged() }))
        : Effect.void,
    )
  }

  private takeUnlogged(): number {
    const spans = this.counts.dropped - this.logged
    this.logged += spans
    return spans
  }
}

/** What the spans of this process have in common. Each worker is an instance of its own. */
const resourceOf = (own: ReadonlyMap<string, string>): Attributes => [
  ...new Map([
    ["service.version", version],
    ["service.instance.id", crypto.randomUUID()],
    ["telemetry.sdk.name", "headgate"],
    ["telemetry.sdk.language", "nodejs"],
    ["telemetry.sdk.version", version],
    ...own,
  ]),
]
