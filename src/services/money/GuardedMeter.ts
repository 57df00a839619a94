/**
 * The meter as requests use it. An app may replace it, in whole or in part, and its code may throw, or return an effect that never ends.
 * A request that was ended does not wait for such an effect, and neither does a stop of the gateway. What the gateway's own meter returns
 * is finished, or ends by itself.
 */
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import { HostFailed, type PaymentRequired, Unavailable } from "../../domain/failures/Failure.ts"
import type { Host } from "../../domain/hosts/Host.ts"
import type { Charge } from "../../domain/money/Charge.ts"
import { logEvent } from "../../process/log/logEvent.ts"
import { type EffectRunner, isFinished, makeEffectRunner, Startable, wait } from "../request/EffectRunner.ts"
import type { Ending, RequestContext } from "../request/RequestContext.ts"
import { type TickTimers, type Timer, Timers } from "../request/Timers.ts"
import { type Account, Meter, type Reservations, type Settlements } from "./Meter.ts"
import type { ReservationRequest } from "./OpenReservations.ts"
import type { Reservation, Settlement } from "./Reservation.ts"

/** The request was ended before its money was reserved: `lifetime.ending` has the reason. */
const unreserved = new HostFailed({ reason: "ended" })

/**
 * A booking goes on for so long after its request was ended, milliseconds. At a stop it has to leave time for the answer: a drain waits for
 * two seconds.
 */
const graceMs = ({ _tag: tag }: Ending): number => (tag === "Unavailable" ? 1000 : 10_000)

/** Whether it ends for certain: it has ended already, or it is a wait of the gateway itself. */
const isSure = (effect: Effect.Effect<unknown, unknown>): boolean => isFinished(effect) || effect instanceof Startable

export class GuardedMeter implements Settlements {
  private readonly meter: Reservations & Settlements
  private readonly timers: TickTimers
  private readonly runner: EffectRunner

  constructor(meter: Reservations & Settlements, timers: TickTimers, runner: EffectRunner) {
    this.meter = meter
    this.timers = timers
    this.runner = runner
  }

  /** Fails with the reason `ended` when the request is ended first. What is reserved later is given back. */
  reserve(
    account: Account,
    context: RequestContext,
    ask: ReservationRequest,
    host: Host,
  ): Effect.Effect<Reservation, PaymentRequired | Unavailable | HostFailed> {
    const reserving = this.meter.reserve(account, context, ask, host)
    return isSure(reserving) ? reserving : this.reservedInTime(reserving, context)
  }

  private reservedInTime(
    reserving: Effect.Effect<Reservation, PaymentRequired | Unavailable>,
    { lifetime }: RequestContext,
  ): Effect.Effect<Reservation, PaymentRequired | Unavailable | HostFailed> {
    return wait((resume) => {
      let isGivenUp = false
      const giveUp = () => {
        isGivenUp = true
        resume(Exit.fail(unreserved))
      }
      lifetime.onEnd(giveUp)
      this.runner.run(reserving, (exit) => {
        lifetime.forget(giveUp)
        if (!isGivenUp) resume(exit)
        else if (Exit.isSuccess(exit)) this.release(exit.value)
      })
    })
  }

  release(reservation: Reservation): void {
    try {
      this.meter.release(reservation)
    } catch (defect) {
      this.log(logEvent("background_defect", { what: "Meter.release" }, defect))
    }
  }

  /** The booking itself is never interrupted. */
  settle(reservation: Reservation, settlement: Settlement): Effect.Effect<Charge, Unavailable> {
    try {
      const settling = this.meter.settle(reservation, settlement)
      return isSure(settling) ? settling : this.settledInTime(settling, reservation)
    } catch (defect) {
      return Exit.die(defect)
    }
  }

  private settledInTime(
    settling: Effect.Effect<Charge, Unavailable>,
    { context: { lifetime, requestId } }: Reservation,
  ): Effect.Effect<Charge, Unavailable> {
    return wait((resume) => {
      let timer: Timer | undefined
      const giveUp = () => {
        this.log(logEvent("answer_unbooked", { requestId }))
        resume(Exit.fail(unbooked))
      }
      const requestEnded = () => {
        if (lifetime.ending !== undefined) timer = this.timers.set(graceMs(lifetime.ending), giveUp)
      }
      lifetime.onEnd(requestEnded)
      this.runner.run(settling, (exit) => {
        lifetime.forget(requestEnded)
        timer?.clear()
        resume(exit)
      })
    })
  }

  private log(line: Effect.Effect<void>): void {
    this.runner.run(line, () => {})
  }
}

const unbooked = new Unavailable({
  why: "metering",
  because: "the answer was not booked in time",
  retryAfterSeconds: 5,
})

export const makeGuardedMeter: Effect.Effect<GuardedMeter, never, Meter | Timers> = Effect.gen(function* () {
  return new GuardedMeter(yield* Meter, yield* Timers, makeEffectRunner(yield* Effect.runtime<never>()))
})
