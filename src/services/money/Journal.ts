/**
 * Requests in flight, kept in the database for the case that the process is killed. Once a second the journal writes what has
 * changed, in one transaction: an entry for each request that has been running for a while, with what its stream has
 * delivered (a checkpoint), and the removal of those that are over. So a request that ends within a second costs nothing.
 *
 * Each process has a lease, renewed while it has entries; on a database that several gateways share it is that of
 * `ProcessLease.ts`. Entries of a process whose lease has ended were left by a crash, and the next gateway clears them: what a stream had delivered by its last checkpoint is charged, with the
 * outcome `crashed`; everything else is dropped. See docs/guarantees.md#g2 and docs/decisions/0018-the-journal.md.
 */
import * as Cause from "effect/Cause"
import * as Effect from "effect/Effect"
import * as Schedule from "effect/Schedule"
import type * as Scope from "effect/Scope"
import { type Member, Roster } from "../../domain/structures/Roster.ts"
import type { JournalEntry, LedgerRow, Orphan, StorageUnavailable } from "../storage/ledger.ts"
import { Streak } from "../storage/Outage.ts"
import type { JournalRepository, LedgerRepository } from "../storage/Storage.ts"
import type { ProcessLease } from "./ProcessLease.ts"

/** What the journal reads of a request in flight. */
export interface Journaled {
  /** `held`: its host is not called yet. `dispatched`: it is. Else what its stream has delivered so far. */
  readonly progress: "held" | "dispatched" | { readonly outputBytes: number }
}

export interface Journal<Request> {
  /** The request is booked or released: its entry is removed by the next write. */
  readonly closed: (request: Request) => void
}

export interface JournalOptions<Request> {
  /** Requests in flight now. */
  readonly open: () => Iterable<Request>
  /** The row of a request if the process were killed now. */
  readonly crashed: (request: Request) => LedgerRow
  /** A row that a crash had left is in the ledger. */
  readonly onBooked: (row: LedgerRow) => void
  /** Where the database is shared. */
  readonly lease?: Pick<ProcessLease, "id"> | undefined
}

/** Milliseconds. A crash is cleared after the lease and one look, or at once by the next gateway on a file of its own. */
const leaseMs = 60_000
const renewEveryMs = 15_000
const ticksPerLook = 15
/** Orphans that are cleared at once. */
const orphansAtOnce = 500

interface Written extends Member {
  readonly id: string
  state: JournalEntry["state"]
  outputBytes: number
}

/** Clears what earlier processes left, then writes until the scope is closed. */
export const makeJournal = <Request extends Journaled>(
  { journal, ledger }: { readonly journal: JournalRepository; readonly ledger: LedgerRepository },
  { open, crashed, onBooked, lease }: JournalOptions<Request>,
): Effect.Effect<Journal<Request>, never, Scope.Scope> =>
  Effect.gen(function* () {
    const clock = yield* Effect.clock
    const now = () => clock.unsafeCurrentTimeMillis()
    let process = lease?.id() ?? crypto.randomUUID()
    let entries = 0
    /** By request. A closed entry stays until its request is collected as garbage, but is not in `written` any more. */
    const entryOf = new WeakMap<Request, Written>()
    const written = new Roster<Written>()
    /** Requests that were open at the last tick, without output. */
    const seen = new WeakSet<Request>()
    let closed: Array<string> = []
    let leasedAt = Number.NEGATIVE_INFINITY

    const collect = (): Array<JournalEntry> => {
      const changed: Array<JournalEntry> = []
      for (const request of open()) {
        const { progress } = request
        const outputBytes = typeof progress === "string" ? 0 : progress.outputBytes
        const state = outputBytes > 0 ? "streaming" : progress === "held" ? "held" : "dispatched"
        const before = entryOf.get(request)
        if (before === undefined) {
          if (outputBytes === 0 && !seen.has(request)) {
            seen.add(request)
            continue
          }
          const id = `${process}-${entries++}`
          const entry: Written = { id, state, outputBytes, rosterIndex: -1 }
          entryOf.set(request, entry)
          written.add(entry)
          changed.push({ id, state, row: crashed(request) })
        } else if (before.outputBytes !== outputBytes || before.state !== state) {
          before.state = state
          before.outputBytes = outputBytes
          changed.push({ id: before.id, state, row: crashed(request) })
        }
      }
      return changed
    }

    /** Everything is written again by the next tick. */
    const rewrite = () => {
      written.each((entry) => {
        entry.outputBytes = -1
      })
    }

    const write = Effect.suspend(() => {
      if (lease !== undefined && lease.id() !== process) {
        process = lease.id()
        rewrite()
      }
      const changed = collect()
      const at = now()
      const isRenewal = written.size > 0 && at - leasedAt >= renewEveryMs
      if (changed.length === 0 && closed.length === 0 && !isRenewal) return Effect.void
      const removed = closed
      closed = []
      return Effect.match(journal.write(process, at + leaseMs, changed, removed), {
        onSuccess: () => {
          leasedAt = at
        },
        onFailure: () => {
          closed.push(...removed)
          rewrite()
        },
      })
    })

    /** A row that the database will never take must not keep the others waiting, so a refused batch is booked row by row. */
    const book = (rows: ReadonlyArray<LedgerRow>): Effect.Effect<void, StorageUnavailable> =>
      Effect.matchEffect(ledger.append(rows), {
        onSuccess: () =>
          Effect.sync(() => {
            for (const row of rows) onBooked(row)
          }),
        onFailure: (failure) => {
          if (failure.refused !== true) return Effect.fail(failure)
          const [row, ...more] = rows
          if (more.length > 0) return Effect.forEach(rows, (one) => book([one]), { discard: true })
          return Effect.logError(
            "a stream of a killed process cannot be booked",
            { requestId: row?.requestId },
            failure,
          )
        },
      })

    /** Whether a request was booked before the crash, and only its entry is left. */
    const isBooked = ({ row }: Orphan): Effect.Effect<boolean, StorageUnavailable> =>
      row === undefined ? Effect.succeed(false) : Effect.map(ledger.find(row.requestId), (found) => found !== undefined)

    const clear = Effect.gen(function* () {
      for (;;) {
        const orphans = yield* journal.orphans(now(), orphansAtOnce)
        if (orphans.length === 0) return
        const settledAt = now()
        const left = yield* Effect.filter(orphans, (orphan) => Effect.map(isBooked(orphan), (is) => !is))
        const rows = left.flatMap(({ state, row }) =>
          state === "streaming" && row !== undefined ? [{ ...row, settledAt }] : [],
        )
        yield* book(rows)
        yield* journal.clear(orphans.map(({ id }) => id))
        if (left.length === 0) continue
        const about = { requests: left.length, charged: rows.map(({ requestId }) => requestId) }
        yield* Effect.logWarning("an earlier process was killed and left requests, which are cleared", about)
      }
    })
    const clearing = new Streak()
    const cleared = Effect.matchEffect(clear, {
      onSuccess: () => Effect.sync(() => clearing.ended()),
      onFailure: ({ message }: StorageUnavailable) =>
        clearing.failed(Effect.logWarning("requests that an earlier process left could not be cleared", message)),
    })

    yield* cleared
    // Added before the fiber starts, so that it runs after the fiber has ended.
    yield* Effect.addFinalizer(() => Effect.zipRight(write, Effect.ignore(journal.end(process))))
    let ticks = 0
    const tick = Effect.suspend(() => {
      ticks += 1
      return ticks % ticksPerLook === 0 ? Effect.zipRight(write, cleared) : write
    })
    const guarded = Effect.catchAllDefect(tick, (cause) => Effect.logError("a defect in the journal", Cause.die(cause)))
    yield* Effect.scheduleForked(guarded, Schedule.spaced("1 second"))

    return {
      closed: (request) => {
        const entry = entryOf.get(request)
        if (entry === undefined || !written.has(entry)) return
        written.delete(entry)
        closed.push(entry.id)
      },
    }
  })
