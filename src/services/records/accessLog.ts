/**
 * The access log: one line for each request that ended, or only for each that was refused or failed. The end of a
 * request makes the line. The lines of one turn of the event loop are logged together, so that they take one fiber.
 * Anybody can send requests without a known key, so their lines are limited. See docs/access-log.md.
 */
import * as Effect from "effect/Effect"
import * as FiberRef from "effect/FiberRef"
import * as Layer from "effect/Layer"
import * as LogLevel from "effect/LogLevel"
import * as Schedule from "effect/Schedule"
import { logLine } from "../../process/log/logEvent.ts"
import { makeEffectRunner } from "../request/EffectRunner.ts"
import { type RequestEnd, RequestEnds } from "../request/RequestEnds.ts"
import { accessLine, type LogFields } from "./accessLine.ts"
import { type Recorded, RecordQuota } from "./RecordQuota.ts"

/** Of which requests the log has a line: of all, of those that were refused or failed, or of none. */
export type AccessLog = "all" | "errors" | "off"

/** Requests of load balancers and supervisors. There are many of them, and they say nothing of clients. */
const probes: ReadonlySet<string> = new Set(["GET /healthz", "GET /readyz"])

/** Nothing is done where the log takes no lines of the level. */
export const layerAccessLog = (which: AccessLog): Layer.Layer<never, never, RequestEnds> =>
  which === "off" ? Layer.empty : Layer.scopedDiscard(Effect.whenEffect(observing(which), isLogged))

const isLogged = Effect.map(FiberRef.get(FiberRef.currentMinimumLogLevel), LogLevel.lessThanEqual(LogLevel.Info))

const observing = (which: Exclude<AccessLog, "off">) =>
  Effect.gen(function* () {
    const { subscribe } = yield* RequestEnds
    const runner = makeEffectRunner(yield* Effect.runtime<never>())
    const clock = yield* Effect.clock
    const lines = new Lines(
      (write) => void runner.run(write, () => {}),
      () => clock.unsafeCurrentTimeMillis(),
    )
    // Added before the subscription, so that it runs after its end.
    yield* Effect.addFinalizer(() => lines.writeAll)
    yield* Effect.scheduleForked(lines.writeCounted, Schedule.spaced("1 minute"))
    const isAll = which === "all"
    yield* subscribe(
      (end) => {
        const isRefused = isBad(end)
        if ((isAll || isRefused) && !probes.has(end.route)) lines.add(end, isRefused && end.key === null)
      },
      isAll ? "always" : "of-failures",
    )
  })

const isBad = ({ outcome, status }: RequestEnd): boolean => outcome !== "ok" || status >= 400

/** Lines per minute about single requests without a known key, for each outcome. Further requests share one line. */
const mostOfUnknown = 10

class Lines {
  private waiting: Array<LogFields> = []
  private readonly unknown = new RecordQuota<RequestEnd>(mostOfUnknown, ({ outcome }) => outcome)
  private readonly run: (write: Effect.Effect<void>) => void
  private readonly now: () => number

  /** `now`: Unix milliseconds. */
  constructor(run: (write: Effect.Effect<void>) => void, now: () => number) {
    this.run = run
    this.now = now
  }

  /** `isOfUnknown`: the request was refused, and its key is not known. */
  add(end: RequestEnd, isOfUnknown: boolean): void {
    if (isOfUnknown && !this.unknown.admits(end, this.now())) return
    this.waiting.push(accessLine(end, 1))
    if (this.waiting.length === 1) setImmediate(() => this.run(this.write))
  }

  /** Logs what waits. */
  private readonly write: Effect.Effect<void> = Effect.suspend(() => {
    const { waiting } = this
    this.waiting = []
    return Effect.forEach(waiting, (fields) => logLine("info", "request", "request", fields), { discard: true })
  })

  /** Logs the counts of past minutes. */
  readonly writeCounted: Effect.Effect<void> = Effect.suspend(() => this.counted(this.unknown.take(this.now())))

  /** Logs everything that waits. */
  readonly writeAll: Effect.Effect<void> = Effect.suspend(() => this.counted(this.unknown.takeAll()))

  private counted(counted: ReadonlyArray<Recorded<RequestEnd>>): Effect.Effect<void> {
    for (const { end, requests } of counted) this.waiting.push(accessLine(end, requests))
    return this.write
  }
}
