/**
 * The access log: a line of the log for each request that is over, or for each that was refused or failed. The end of a request makes the
 * line; the lines of one turn of the event loop are logged together after it, so that they take one fiber. See docs/access-log.md.
 */
import * as Effect from "effect/Effect"
import * as FiberRef from "effect/FiberRef"
import * as Layer from "effect/Layer"
import * as LogLevel from "effect/LogLevel"
import { logLine } from "../../process/log/logEvent.ts"
import { makeEffectRunner } from "../request/EffectRunner.ts"
import { type RequestEnd, RequestEnds } from "../request/RequestEnds.ts"
import { accessLine, type LogFields } from "./accessLine.ts"

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
    const lines = new Lines((write) => void runner.run(write, () => {}))
    // Added before the subscription, so that it runs after its end.
    yield* Effect.addFinalizer(() => lines.write)
    const isAll = which === "all"
    yield* subscribe(
      (end) => {
        if ((isAll || isBad(end)) && !probes.has(end.route)) lines.add(end)
      },
      isAll ? "always" : "of-failures",
    )
  })

const isBad = ({ outcome, status }: RequestEnd): boolean => outcome !== "ok" || status >= 400

class Lines {
  private waiting: Array<LogFields> = []
  private readonly run: (write: Effect.Effect<void>) => void

  constructor(run: (write: Effect.Effect<void>) => void) {
    this.run = run
  }

  add(end: RequestEnd): void {
    this.waiting.push(accessLine(end))
    if (this.waiting.length === 1) setImmediate(() => this.run(this.write))
  }

  /** Logs what waits. */
  readonly write: Effect.Effect<void> = Effect.suspend(() => {
    const { waiting } = this
    this.waiting = []
    return Effect.forEach(waiting, (fields) => logLine("info", "request", "request", fields), { discard: true })
  })
}
