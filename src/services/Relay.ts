/**
 * Carries a streamed answer to its caller: opens it, decides when the head goes out, and books its end. What happens in
 * between is `StreamBody`'s, without an Effect. Architecture 3 and 7, G11.
 */
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import type * as Fiber from "effect/Fiber"
import * as FiberSet from "effect/FiberSet"
import * as Layer from "effect/Layer"
import * as Option from "effect/Option"
import type { AnswerOutcome } from "../domain/Charge.ts"
import type { ChatRequest } from "../domain/Chat.ts"
import type { HostFailed } from "../domain/Failure.ts"
import type { Host } from "../domain/Host.ts"
import type { Plan } from "../domain/Plan.ts"
import { parseUsage } from "../domain/Usage.ts"
import { Alarms } from "./Alarms.ts"
import type { Call } from "./Call.ts"
import { Dispatcher, type DispatchFailure, logFailure, type Opened } from "./Dispatcher.ts"
import { HostStats } from "./HostStats.ts"
import { InFlight } from "./InFlight.ts"
import { Meter } from "./Meter.ts"
import { StreamBody, type StreamLimits, type WriterFor } from "./StreamBody.ts"

export interface RelayOptions extends StreamLimits {
  /** The head goes out after this long even without an event: then failures are told in the stream. Milliseconds. */
  readonly commitAfterMs: number
}

export interface StreamHead {
  readonly body: ReadableStream<Uint8Array>
  /** The host that answers; `undefined` when the head goes out before any did. */
  readonly host: Host | undefined
}

export class Relay extends Context.Tag("headgate/Relay")<
  Relay,
  {
    /** Succeeds with the first event, or after `commitAfterMs` without one. Once it has succeeded, the call leaves the house with the end of the body. */
    readonly stream: (
      call: Call,
      request: ChatRequest,
      plan: Plan,
      writer: WriterFor,
    ) => Effect.Effect<StreamHead, DispatchFailure>
  }
>() {
  static readonly layer = (options: RelayOptions) =>
    Layer.scoped(
      Relay,
      Effect.gen(function* () {
        const dispatcher = yield* Dispatcher
        const meter = yield* Meter
        const stats = yield* HostStats
        const alarms = yield* Alarms
        const inFlight = yield* InFlight
        const run = yield* FiberSet.makeRuntimePromise<never>()
        const fork = yield* FiberSet.makeRuntime<never>()

        /** Books how a stream ended, and what it says of its host. Fails when the ledger cannot be written. */
        const settle = Effect.fnUntraced(function* (
          call: Call,
          { stream, host, hold, latencyMs }: Opened,
          outcome: AnswerOutcome,
          failure?: HostFailed,
        ) {
          const durationMs = call.elapsedMs()
          const charge = yield* meter.settle(hold, {
            outcome,
            usage: parseUsage(stream.usage),
            outputBytes: stream.outputBytes,
            finishReason: stream.finish().choices[0]?.finish_reason ?? "",
            latencyMs,
          })
          const { completionTokens } = charge.usage
          if (outcome === "finished") stats.succeeded(host, { latencyMs, durationMs, completionTokens })
          if (failure === undefined) return charge
          stats.failed(host, failure)
          yield* logFailure(call, host, failure)
          return charge
        })

        return {
          stream: Effect.fnUntraced(function* (call, request, plan, writer) {
            const left = () => inFlight.leave(call)
            const opening = fork(dispatcher.open(call, request, plan, writer))
            const opened = yield* atMost(opening, options.commitAfterMs, alarms)
            const source = Option.isNone(opened) ? exitOf(opening) : Exit.succeed(opened.value)
            const body = new StreamBody({
              call,
              limits: options,
              alarms,
              writer,
              source,
              settle: (...ended) => run(settle(call, ...ended)).finally(left),
              left,
            })
            return { body: body.readable(), host: Option.getOrUndefined(opened)?.host }
          }),
        }
      }),
    )
}

type Opening = Fiber.RuntimeFiber<Opened, DispatchFailure>

/** What `opening` comes to, or none once the time is over. Two callbacks, since a race of fibers costs more than the rest of a request. */
const atMost = (
  opening: Opening,
  milliseconds: number,
  alarms: Context.Tag.Service<Alarms>,
): Effect.Effect<Option.Option<Opened>, DispatchFailure> =>
  Effect.async((resume) => {
    const alarm = alarms.set(milliseconds, () => resume(Effect.succeedNone))
    opening.addObserver((exit) => {
      alarm.clear()
      resume(Effect.asSome(exit))
    })
  })

const exitOf = (opening: Opening): Promise<Exit.Exit<Opened, DispatchFailure>> =>
  new Promise((resolve) => opening.addObserver(resolve))
