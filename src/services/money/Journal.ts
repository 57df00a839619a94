/**
 * Requests in flight, kept in the database for the case that the process is killed. Once a second the journal writes what has
 * changed, in one transaction: an entry for each request that has been running for a while, with what its stream has
 * delivered (a checkpoint), and the removal of those that are over. So a request that ends within a second costs nothing.
 *
 * Each process has a lease, renewed while it has entries; on a database that several gateways share it is that of
 * `ProcessLease.ts`. Entries of a process whose lease has ended were left by a crash, and the next gateway clears them
 * (`clearOrphans.ts`). See docs/guarantees.md#g2 and docs/decisions/0018-the-journal.md.
 */
import * as Effect from "effect/Effect"
import * as Schedule from "effect/Schedule"
import type * as Scope from "effect/Scope"
import { type Member, Roster } from "../../domain/structures/Roster.ts"
import { logEvent } from "../../process/log/logEvent.ts"
import type { LedgerRow } from "../storage/ledger.ts"
import { Streak } from "../storage/Outage.ts"
import type { JournalEntry, JournalRepository, LedgerRepository } from "../storage/Storage.ts"
import type { StorageUnavailable } from "../storage/StorageUnavailable.ts"
import { survivingDefects } from "../storage/survivingDefects.ts"
import { clearOrphans } from "./clearOrphans.ts"
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
  /** The row that is booked for a request if the process is killed now. */
  readonly crashed: (request: Request) => LedgerRow
  /** A row that a crash had left is in the ledger. */
  readonly onBooked: (row: LedgerRow) => void
  /** Where the database is shared. */
  readonly lease?: Pick<ProcessLease, "id"> | undefined
}

/** Milliseconds. What a crash left is cleared when the lease has ended and somebody looks, or at once by the next gateway on the same file. */
const leaseMs = 60_000
const renewEveryMs = 15_000
const ticksPerLook = 15

interface Written extends Member {
  readonly id: string
  state: JournalEntry["state"]
  outputBytes: number
}

/** Clears what earlier processes left, then writes until the scope is closed. */
export const makeJournal = <Request extends Journaled>(
  { journal, ledger }: { readonly journal: JournalRepository; readonly ledger: LedgerRepository },
  options: JournalOptions<Request>,
): Effect.Effect<Journal<Request>, never, Scope.Scope> =>
  Effect.gen(function* () {
    const clock = yield* Effect.clock
    const now = () => clock.unsafeCurrentTimeMillis()
    const writer = new JournalWriter(journal, options, now)
    const clearing = new Streak()
    const cleared = Effect.matchEffect(clearOrphans({ journal, ledger, now, onBooked: options.onBooked }), {
      onSuccess: () => Effect.sync(() => clearing.ended()),
      onFailure: ({ message }: StorageUnavailable) =>
        clearing.failed(logEvent("journal_not_cleared", { because: message })),
    })
    yield* cleared
    // Added before the fiber starts, so that it runs after the fiber has ended.
    yield* Effect.addFinalizer(() => writer.end())
    const writing = survivingDefects("the journal")(writer.write)
    const looking = survivingDefects("the journal of earlier processes")(cleared)
    let ticks = 0
    const tick = Effect.suspend(() => {
      ticks += 1
      return ticks % ticksPerLook === 0 ? Effect.zipRight(writing, looking) : writing
    })
    yield* Effect.scheduleForked(tick, Schedule.spaced("1 second"))
    return writer
  })

/** The entries of this process. */
class JournalWriter<Request extends Journaled> implements Journal<Request> {
  private readonly repository: JournalRepository
  private readonly options: JournalOptions<Request>
  /** Unix milliseconds. */
  private readonly now: () => number
  /** Names this process in the database. */
  private process: string
  private entries = 0
  /** By request. A closed entry stays until its request is collected as garbage, but is not in `written` any more. */
  private readonly entryOf = new WeakMap<Request, Written>()
  private readonly written = new Roster<Written>()
  /** Requests that were open at the last tick, without output. */
  private readonly seen = new WeakSet<Request>()
  /** Ids of entries that are removed by the next write. */
  private removed: Array<string> = []
  private leasedAt = Number.NEGATIVE_INFINITY

  constructor(repository: JournalRepository, options: JournalOptions<Request>, now: () => number) {
    this.repository = repository
    this.options = options
    this.now = now
    this.process = options.lease?.id() ?? crypto.randomUUID()
  }

  closed(request: Request): void {
    const entry = this.entryOf.get(request)
    if (entry === undefined || !this.written.has(entry)) return
    this.written.delete(entry)
    this.removed.push(entry.id)
  }

  /** Writes what has changed since the last time. What could not be written is written by the next one. */
  readonly write: Effect.Effect<void> = Effect.suspend(() => {
    this.followLease()
    const { removed } = this
    this.removed = []
    const writeAgain = Effect.sync(() => {
      this.removed.push(...removed)
      this.rewrite()
    })
    // Suspended, so that what throws is written again too.
    return Effect.suspend(() => this.writeWithout(removed)).pipe(
      Effect.onError(() => writeAgain),
      Effect.ignore,
    )
  })

  private writeWithout(removed: ReadonlyArray<string>): Effect.Effect<void, StorageUnavailable> {
    const changed = this.collect()
    const at = this.now()
    const isRenewal = this.written.size > 0 && at - this.leasedAt >= renewEveryMs
    if (changed.length === 0 && removed.length === 0 && !isRenewal) return Effect.void
    return Effect.map(this.repository.write(this.process, at + leaseMs, changed, removed), () => {
      this.leasedAt = at
    })
  }

  /** The last write, and the end of this process's lease, which ends whatever the write meets. */
  end(): Effect.Effect<void> {
    const last = survivingDefects("the last write of the journal")(this.write)
    return Effect.zipRight(last, Effect.ignore(this.repository.end(this.process)))
  }

  /** After a lost lease this process has another name, under which it writes everything again. */
  private followLease(): void {
    const { lease } = this.options
    if (lease === undefined || lease.id() === this.process) return
    this.process = lease.id()
    this.rewrite()
  }

  /** Everything is written again by the next write. */
  private rewrite(): void {
    this.written.each((entry) => {
      entry.outputBytes = -1
    })
  }

  /** Entries that are new or have changed. */
  private collect(): ReadonlyArray<JournalEntry> {
    const changed: Array<JournalEntry> = []
    for (const request of this.options.open()) {
      const entry = this.changedEntry(request)
      if (entry !== undefined) changed.push({ id: entry.id, state: entry.state, row: this.options.crashed(request) })
    }
    return changed
  }

  private changedEntry(request: Request): Written | undefined {
    const { progress } = request
    const outputBytes = typeof progress === "string" ? 0 : progress.outputBytes
    const state = outputBytes > 0 ? "streaming" : progress === "held" ? "held" : "dispatched"
    const entry = this.entryOf.get(request)
    if (entry === undefined) return this.newEntry(request, state, outputBytes)
    if (entry.outputBytes === outputBytes && entry.state === state) return undefined
    entry.state = state
    entry.outputBytes = outputBytes
    return entry
  }

  /** `undefined`: it has no output, and was not open at the last tick. */
  private newEntry(request: Request, state: Written["state"], outputBytes: number): Written | undefined {
    if (outputBytes === 0 && !this.seen.has(request)) {
      this.seen.add(request)
      return undefined
    }
    const entry: Written = { id: `${this.process}-${this.entries++}`, state, outputBytes, rosterIndex: -1 }
    this.entryOf.set(request, entry)
    this.written.add(entry)
    return entry
  }
}
