/**
 * Writes entries into the ledger. They are committed in groups, and none is lost while the process lives. An entry that
 * the database could not take goes to the backlog, which is retried every second. No paid request should start until
 * the backlog is empty.
 */
import * as Cause from "effect/Cause"
import type * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Either from "effect/Either"
import * as Exit from "effect/Exit"
import * as Option from "effect/Option"
import * as Schedule from "effect/Schedule"
import type * as Scope from "effect/Scope"
import { Unavailable } from "../../domain/failures/Failure.ts"
import type { Picodollars } from "../../domain/price/Money.ts"
import { monotonic } from "../request/RequestContext.ts"
import { makeStepRunner, wait } from "../request/Steps.ts"
import { hindranceOf, type LedgerRow, type StorageUnavailable } from "../storage/ledger.ts"
import type { Hindrance } from "../storage/outage.ts"
import type { Appended, LedgerRepository, Storage } from "../storage/Storage.ts"
import { GroupCommit, type Written } from "./GroupCommit.ts"

/** The failure where the ledger cannot take a row. */
export const unwritable = () => new Unavailable({ why: "metering", retryAfterSeconds: 5 })

/** A request that has ended, with its cost, and the callbacks of its booking. */
export interface Settled {
  readonly row: LedgerRow
  /**
   * What the caller pays when the entry is written only by a retry: nothing, if the caller got an error in place of the
   * answer.
   */
  readonly lateCost: Picodollars
  /** Called once, with the result of the first try. */
  readonly onWritten: (written: Written) => void
  /**
   * Called once, before `onWritten` or later: it is known whether the entry is in the ledger. With the row as it was booked, or
   * `undefined` when it never will be.
   */
  readonly onResolved: (booked: LedgerRow | undefined) => void
}

export interface LedgerWriter {
  readonly add: (entry: Settled) => void
  /** Whether there are entries that the database could not take. */
  readonly hasBacklog: () => boolean
  /**
   * Why no new request may start; `undefined`: it may. There are entries that the database could not take, or a row was spooled,
   * or `LedgerRepository.takesRequests` says so: that is asked a second after each commit, and twice a minute without any.
   */
  readonly hindrance: () => Hindrance | undefined
}

/** An entry that the database could not take. */
interface BacklogEntry {
  /** With the cost that is due when it is written now. */
  readonly row: LedgerRow
  readonly entry: Settled
}

/** Seconds between two looks at a database into which nothing is written. */
const lookEvery = 30

const away: Hindrance = { kind: "away", cause: "rows are spooled" }

/**
 * Writes into `storage` until the scope is closed. Then it waits for the commits under way, tries the backlog once
 * more, and logs what is lost. `onHindrance` is told at once why no request may start.
 */
export const makeLedgerWriter = (
  storage: Pick<Context.Tag.Service<Storage>, "ledger">,
  onHindrance: (hindrance: Hindrance) => Effect.Effect<void> = () => Effect.void,
): Effect.Effect<LedgerWriter, never, Scope.Scope> =>
  Effect.gen(function* () {
    const runner = makeStepRunner(yield* Effect.runtime<never>())
    const log = (line: Effect.Effect<void>) => runner.effect(line, () => {})
    const backlog: Array<BacklogEntry> = []
    /** Commits under way, and what to call when the last of them has ended. */
    let commits = 0
    let onIdle = () => {}
    let refusal: Hindrance | undefined
    /** Why the first entry of the backlog could not be written. */
    let failed: Hindrance | undefined
    /** Whether something was written since the database was last asked. */
    let hasWritten = false
    const refuse = (hindrance: Hindrance) => {
      refusal = hindrance
      log(onHindrance(hindrance))
    }

    // A defect is a result too: rows without a result would block all rows after them.
    const resultOf = (rows: ReadonlyArray<LedgerRow>, exit: Exit.Exit<Appended, StorageUnavailable>): Written => {
      if (Exit.isSuccess(exit)) {
        if (exit.value === "spooled") {
          refusal = away
          runner.effect(storage.ledger.takesRequests(), (takes) =>
            refuse(Exit.isSuccess(takes) && takes.value !== true ? takes.value : away),
          )
        }
        return "durable"
      }
      const failure = Option.getOrUndefined(Cause.failureOption(exit.cause))
      const requests = rows.map(({ requestId }) => requestId)
      const line = ["settled requests could not be written to the ledger", { requests }, exit.cause]
      if (failure === undefined || failure.refused === true) {
        log(Effect.logError(...line))
        if (failure !== undefined) return "refused"
      } else log(Effect.logDebug(...line))
      failed = failure === undefined ? { kind: "away", cause: "a defect of the storage" } : hindranceOf(failure)
      log(onHindrance(failed))
      return "unavailable"
    }

    const appended: LedgerRepository["append"] = (rows) => {
      try {
        return storage.ledger.append(rows)
      } catch (defect) {
        return Effect.die(defect)
      }
    }
    const append = (rows: ReadonlyArray<LedgerRow>): Effect.Effect<Written> =>
      Effect.map(Effect.exit(appended(rows)), (exit) => resultOf(rows, exit))

    const report = (entry: Settled, written: Written): void => {
      const { row, lateCost } = entry
      if (written === "unavailable") backlog.push({ row: lateRow(row, lateCost), entry })
      else entry.onResolved(written === "durable" ? row : undefined)
      if (written === "refused") log(logLost(row))
      entry.onWritten(written)
    }
    const group = new GroupCommit<Settled>(
      (entries, onResult) => {
        commits += 1
        hasWritten = true
        const rows = entries.map(({ row }) => row)
        runner.effect(appended(rows), (exit) => {
          onResult(resultOf(rows, exit))
          commits -= 1
          if (isIdle()) onIdle()
        })
      },
      report,
      monotonic(yield* Effect.clock),
    )

    const isIdle = () => commits === 0 && group.isIdle
    const idle = wait<void>((resume) => {
      onIdle = () => resume(Exit.void)
      if (isIdle()) onIdle()
    })

    /** An earlier try may have written the row although its confirmation was lost: with the cost that was due then. */
    const asBooked = (row: LedgerRow): Effect.Effect<LedgerRow, StorageUnavailable> =>
      Effect.map(storage.ledger.find(row.requestId), (found) => found ?? row)

    /** In the order of arrival. The first entry that the database cannot take ends the round. */
    const retry = Effect.gen(function* () {
      while (backlog[0] !== undefined) {
        const { row, entry } = backlog[0]
        const written = yield* append([row])
        if (written === "unavailable") return
        if (written === "refused") {
          backlog.shift()
          entry.onResolved(undefined)
          yield* logLost(row)
          continue
        }
        const booked = yield* Effect.either(asBooked(row))
        if (Either.isLeft(booked)) return
        backlog.shift()
        entry.onResolved(booked.right)
      }
    })
    // Added before the fiber starts, so that it runs after the fiber has ended: of two rounds at once, the slower would
    // take an entry off the backlog that it has not written.
    yield* Effect.addFinalizer(() =>
      idle.pipe(
        Effect.zipRight(retry),
        Effect.zipRight(Effect.suspend(() => Effect.forEach(backlog, ({ row }) => logLost(row)))),
      ),
    )
    let ticks = 0
    const refreshTakesRequests = Effect.suspend(() => {
      ticks += 1
      if (refusal === undefined && !hasWritten && ticks % lookEvery !== 0) return Effect.void
      hasWritten = false
      return Effect.match(storage.ledger.takesRequests(), {
        onSuccess: (now) => {
          if (now === true) refusal = undefined
          else refuse(now)
        },
        // The backlog says so.
        onFailure: () => {},
      })
    })
    yield* Effect.scheduleForked(Effect.zipRight(retry, refreshTakesRequests), Schedule.spaced("1 second"))

    return {
      hasBacklog: () => backlog.length > 0,
      hindrance: () => (backlog.length > 0 ? failed : refusal),
      add: (entry) => group.add(entry),
    }
  })

const lateRow = (row: LedgerRow, cost: Picodollars): LedgerRow =>
  cost === row.cost ? row : { ...row, cost, waived: "unreported" }

/** Logs a row that could not be booked, with enough to book it by hand. */
const logLost = ({ requestId, key, model, host, cost, upstreamCost, admittedAt }: LedgerRow) =>
  Effect.logError("a settled request is not in the ledger", {
    requestId,
    key,
    model,
    host,
    picodollars: cost.toString(),
    upstreamPicodollars: upstreamCost.toString(),
    admittedAt,
  })
