/**
 * The lease of this process on a database that several gateways share. It lasts a minute, and is renewed every 15 seconds. What a
 * process keeps there (entries of the journal, slices of budgets) counts as long as its lease does; when that has ended,
 * the process counts as killed, and the others clear it. So a process that could not renew in time starts no paid request.
 */
import * as Effect from "effect/Effect"
import type * as Scope from "effect/Scope"
import { backoff } from "../../domain/structures/backoff.ts"
import { LoggedState } from "../../process/log/LoggedState.ts"
import { logEvent } from "../../process/log/logEvent.ts"
import { monotonic } from "../request/RequestContext.ts"
import type { Hindrance } from "../storage/Outage.ts"
import type { LeaseRepository } from "../storage/SharedRepositories.ts"
import type { StorageUnavailable } from "../storage/StorageUnavailable.ts"
import { survivingDefects } from "../storage/survivingDefects.ts"

export interface ProcessLease {
  /** Names this process in the database: another name after the lease was lost. */
  readonly id: () => string
  /** Whether nobody can have cleared what this process keeps. */
  readonly isHeld: () => boolean
  /** Why it is not held; `undefined`: it is. */
  readonly hindrance: () => Hindrance | undefined
}

/** Milliseconds. What a killed process left is cleared after the lease and one look: 75 seconds. */
const leaseMs = 60_000
const renewEveryMs = 15_000
/** A second at most: without its lease a process starts no paid request, so it has to notice soon that the database is back. */
const retrying = { firstMs: 500, mostMs: 1000 }
/** The lease counts as ended here before the database says so. */
const marginMs = 10_000

/** Holds the lease until the scope closes. `onLost`: a renewal came too late, and what was kept may have been cleared. */
export const makeProcessLease = (
  leases: LeaseRepository,
  onLost: () => void,
): Effect.Effect<ProcessLease, never, Scope.Scope> =>
  Effect.gen(function* () {
    const nowMs = monotonic(yield* Effect.clock)
    let id = crypto.randomUUID()
    let isTaken = false
    let heldUntil = Number.NEGATIVE_INFINITY
    /** Why the last renewal failed. */
    let cause = "the lease of this process has ended"
    const failing = new LoggedState()
    const lost = new LoggedState()
    const isHeld = () => nowMs() < heldUntil

    const take = Effect.suspend(() => Effect.as(leases.take(id, leaseMs), true))
    const renew = Effect.gen(function* () {
      // From before the database was asked, so that the lease lasts at least as long there.
      const from = nowMs()
      if (isTaken && !(yield* leases.renew(id, leaseMs))) {
        isTaken = false
        id = crypto.randomUUID()
        onLost()
        yield* lost.begin(logEvent("lease_lost", { because: "it was not renewed in time" }))
      }
      if (!isTaken) isTaken = yield* take
      heldUntil = from + leaseMs - marginMs
      yield* leases.clear
    })
    /** Whether it was renewed. */
    const tried = Effect.matchEffect(renew, {
      onSuccess: () => {
        const taken = lost.end((lastedS) => logEvent("lease_taken", { lastedS }))
        const inTime = failing.end((lastedS) => logEvent("lease_renewed", { lastedS }))
        return Effect.as(
          lost.hasBegun
            ? Effect.zipRight(
                failing.end(() => Effect.void),
                taken,
              )
            : inTime,
          true,
        )
      },
      onFailure: (failure: StorageUnavailable) => {
        cause = failure.reason
        const because = failure.message
        const ended = isHeld() || !isTaken ? Effect.void : lost.begin(logEvent("lease_lost", { because }))
        return Effect.as(Effect.zipRight(failing.begin(logEvent("lease_not_renewed", { because })), ended), false)
      },
    })

    // Added before the fiber starts, so that it runs after the fiber has ended.
    yield* Effect.addFinalizer(() => Effect.ignore(leases.end(id)))
    const first = yield* tried
    const triedAgain = Effect.map(
      survivingDefects("the lease of this process")(tried),
      (isRenewed) => isRenewed === true,
    )
    yield* Effect.forkScoped(Effect.scheduleFrom(triedAgain, first, backoff(retrying, renewEveryMs)))
    return { id: () => id, isHeld, hindrance: () => (isHeld() ? undefined : { kind: "away", cause }) }
  })
