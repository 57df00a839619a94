/**
 * The lease of this process on a database that several gateways share. It is renewed every 15 seconds for a minute. What a
 * process keeps there (entries of the journal, slices of budgets) counts as long as its lease does; when that has ended,
 * the process counts as killed, and the others clear it. So a process that could not renew in time starts no paid request.
 */
import * as Effect from "effect/Effect"
import type * as Scope from "effect/Scope"
import { backoff } from "../../domain/structures/backoff.ts"
import { monotonic } from "../request/RequestContext.ts"
import type { StorageUnavailable } from "../storage/ledger.ts"
import { type Hindrance, Streak } from "../storage/Outage.ts"
import type { LeaseRepository } from "../storage/SharedRepositories.ts"

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

    const take = Effect.suspend(() => Effect.as(leases.take(id, leaseMs), true))
    const renew = Effect.gen(function* () {
      // From before the database was asked, so that the lease lasts at least as long there.
      const from = nowMs()
      if (isTaken && !(yield* leases.renew(id, leaseMs))) {
        isTaken = false
        id = crypto.randomUUID()
        onLost()
        yield* Effect.logWarning("the lease of this process had ended, and another one is taken")
      }
      if (!isTaken) isTaken = yield* take
      heldUntil = from + leaseMs - marginMs
      yield* leases.clear
    })
    const streak = new Streak()
    /** Whether it was renewed. */
    const tried = Effect.matchEffect(renew, {
      onSuccess: () => {
        streak.ended()
        return Effect.succeed(true)
      },
      onFailure: (failure: StorageUnavailable) => {
        cause = failure.reason
        const line = Effect.logWarning("the lease of this process could not be renewed", failure.message)
        return Effect.as(streak.failed(line), false)
      },
    })

    // Added before the fiber starts, so that it runs after the fiber has ended.
    yield* Effect.addFinalizer(() => Effect.ignore(leases.end(id)))
    const first = yield* tried
    yield* Effect.forkScoped(Effect.scheduleFrom(tried, first, backoff(retrying, renewEveryMs)))
    const isHeld = () => nowMs() < heldUntil
    return { id: () => id, isHeld, hindrance: () => (isHeld() ? undefined : { kind: "away", cause }) }
  })
