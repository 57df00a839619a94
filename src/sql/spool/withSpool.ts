/**
 * A database on another machine, with a spool on this one: what the database does not take in time is written into a file here,
 * so that it is durable all the same, and into the database, in order, when that is back. What is there already is skipped.
 * That goes for rows of the ledger, and for the prices that they were computed with. What a killed process has left in its file is
 * taken over by the next one. See docs/decisions/0025-the-local-spool.md.
 */
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import type * as Scope from "effect/Scope"
import type { PriceVersion } from "../../domain/price/PriceVersion.ts"
import { backoff } from "../../domain/structures/backoff.ts"
import { logEvent } from "../../process/log/logEvent.ts"
import { type EffectRunner, makeEffectRunner, wait } from "../../services/request/EffectRunner.ts"
import type { NewRow } from "../../services/storage/ledger.ts"
import type { Hindrance } from "../../services/storage/Outage.ts"
import type { SharedRepositories } from "../../services/storage/SharedRepositories.ts"
import type { Appended, DataAtRest } from "../../services/storage/Storage.ts"
import { StorageUnavailable } from "../../services/storage/StorageUnavailable.ts"
import { reasonOf, unavailable } from "../failure.ts"
import { decodeRow, encodeRow } from "../repositories/journalRepository.ts"
import { Spool } from "./Spool.ts"
import type { SpoolEntry, SpoolOptions, StoredEntry } from "./SpoolFile.ts"

type Parts = Pick<DataAtRest, "ledger" | "prices" | "journal" | "shared">

/** Entries that are written into the database at once. */
const replayedAtOnce = 256

const replaying = { firstMs: 250, mostMs: 2000 }

const priceEntry = (version: PriceVersion): SpoolEntry => ({
  id: `price-${version.id}`,
  kind: "price",
  content: JSON.stringify(version),
})

/** With the slice of a budget that its money is reserved in, which its cost has to leave. */
const rowEntry = (row: NewRow): SpoolEntry => ({
  id: row.requestId,
  kind: "row",
  content: JSON.stringify({
    row: encodeRow(row),
    heldIn: row.reservedIn && { ...row.reservedIn, amount: `${row.reservedIn.amount}` },
  }),
})

/** What `rowEntry` wrote; `undefined`: another version of the program did. */
const rowIn = (content: string): NewRow | undefined => {
  const { row: text, heldIn } = JSON.parse(content)
  const row = decodeRow(text)
  if (row === undefined || heldIn === undefined) return row
  return { ...row, reservedIn: { ...heldIn, amount: BigInt(heldIn.amount) } }
}

/** What entries stand for; throws where another version of the program wrote one that cannot be read. */
const contentsOf = (entries: ReadonlyArray<StoredEntry>) => {
  const versions: Array<PriceVersion> = []
  const rows: Array<NewRow> = []
  for (const { kind, content } of entries) {
    // `priceEntry` wrote it. A wrong value would be refused by its column.
    if (kind === "price") versions.push(JSON.parse(content) as PriceVersion)
    else {
      const row = rowIn(content)
      if (row === undefined) throw new Error("a member is missing")
      rows.push(row)
    }
  }
  return { versions, rows }
}

/** Writes entries into the database. One that it will never take is logged, and does not keep the others waiting. */
const makeBook = ({ ledger, prices }: Pick<Parts, "ledger" | "prices">) => {
  const write = (entries: ReadonlyArray<StoredEntry>): Effect.Effect<unknown, StorageUnavailable> =>
    Effect.try({
      try: () => contentsOf(entries),
      catch: (error) => new StorageUnavailable({ reason: `it cannot be read: ${reasonOf(error)}`, refused: true }),
    }).pipe(Effect.flatMap(({ versions, rows }) => Effect.zipRight(prices.put(versions), ledger.append(rows))))
  const book = (entries: ReadonlyArray<StoredEntry>): Effect.Effect<unknown, StorageUnavailable> =>
    Effect.catchIf(
      write(entries),
      ({ refused }) => refused === true,
      (failure) =>
        entries.length > 1
          ? Effect.forEach(entries, (entry) => book([entry]), { discard: true })
          : logEvent("spool_entry_refused", { ...entries[0] }, failure),
    )
  return book
}

/** Writes everything that is spooled into the database. Fails where the database does: then the rest stays. */
const makeReplay = (spool: Spool, parts: Parts): Effect.Effect<void, StorageUnavailable> => {
  const book = makeBook(parts)
  const replay = Effect.gen(function* () {
    if (spool.isEmpty) return
    for (const file of spool.files) {
      while (!file.isEmpty) {
        const entries = yield* Effect.try({ try: () => file.first(replayedAtOnce), catch: unavailable })
        yield* book(entries)
        file.remove(entries)
      }
      spool.finished(file)
    }
    yield* spool.replayed
  })
  return Effect.unsafeMakeSemaphore(1).withPermits(1)(replay)
}

/** Makes writes that go to the spool when they fail or take longer than `patienceMs`, or when something is there already. */
const makeSpooling =
  (spool: Spool, runner: EffectRunner, patienceMs: number, onFailure: (reason: string) => void) =>
  <A>(
    write: (values: ReadonlyArray<A>) => Effect.Effect<Appended, StorageUnavailable>,
    entryOf: (value: A) => SpoolEntry,
  ): typeof write =>
  (values) =>
    wait((resume) => {
      let isSpooled = false
      const put = () => {
        isSpooled ||= spool.put(values.map(entryOf))
        if (isSpooled) resume(spooled)
        return isSpooled
      }
      if (!spool.isEmpty && put()) return
      const late = setTimeout(() => {
        onFailure(`it has not answered for ${patienceMs} ms`)
        put()
      }, patienceMs)
      runner.run(write(values), (exit) => {
        clearTimeout(late)
        const failure = unavailableIn(exit)
        if (failure !== undefined) onFailure(failure.reason)
        if (failure === undefined || !put()) resume(exit)
      })
    })

const spooled = Exit.succeed("spooled" as const)

/** A failure after which the write may be tried again. */
const unavailableIn = (exit: Exit.Exit<unknown, StorageUnavailable>): StorageUnavailable | undefined =>
  Exit.isFailure(exit) && exit.cause._tag === "Fail" && exit.cause.error.refused !== true ? exit.cause.error : undefined

/** Reads of the database that wait until what is spooled is in it. */
type AfterReplay = <A>(read: Effect.Effect<A, StorageUnavailable>) => Effect.Effect<A, StorageUnavailable>

/** What `withSpool` puts in place of `parts`. `replay`: of `makeReplay`. */
const spooledParts = (
  { ledger, prices, journal, shared }: Parts,
  spool: Spool,
  replay: Effect.Effect<void, StorageUnavailable>,
  runner: EffectRunner,
  patienceMs: number,
) => {
  let away: Hindrance = { kind: "away", cause: "rows of an earlier process are spooled" }
  const spooling = makeSpooling(spool, runner, patienceMs, (cause) => {
    away = { kind: "away", cause }
  })
  const afterReplay: AfterReplay = (read) =>
    Effect.suspend(() => (spool.isEmpty ? read : Effect.zipRight(replay, read)))
  const append = spooling(ledger.append, rowEntry)
  const put = spooling(prices.put, priceEntry)
  return {
    spooled: () => spool.size,
    ledger: {
      ...ledger,
      append,
      takesRequests: () => Effect.suspend(() => (spool.isEmpty ? ledger.takesRequests() : Effect.succeed(away))),
      spend: (key, now) => afterReplay(ledger.spend(key, now)),
      spendOf: (keys, now) => afterReplay(ledger.spendOf(keys, now)),
      providerSpend: (key, now) => afterReplay(ledger.providerSpend(key, now)),
      providerSpends: (now) => afterReplay(ledger.providerSpends(now)),
    } satisfies Parts["ledger"],
    prices: { ...prices, put: (versions) => Effect.asVoid(put(versions)) } satisfies Parts["prices"],
    journal: {
      ...journal,
      orphans: (now, limit) =>
        Effect.suspend(() => {
          spool.adopt()
          return afterReplay(journal.orphans(now, limit))
        }),
    } satisfies Parts["journal"],
    ...(shared && { shared: sharedAfterReplay(shared, afterReplay, patienceMs) }),
  }
}

const sharedAfterReplay = (
  shared: SharedRepositories,
  afterReplay: AfterReplay,
  patienceMs: number,
): SharedRepositories => {
  const late = { duration: patienceMs, onTimeout: () => unavailable("what is spooled was not written in time") }
  const replayed = Effect.timeoutFail(Effect.interruptible(afterReplay(Effect.void)), late)
  return {
    ...shared,
    leases: {
      ...shared.leases,
      // It gives back slices, which others could spend before the spooled costs have left them.
      end: (process) => Effect.zipRight(replayed, shared.leases.end(process)),
    },
    slices: { ...shared.slices, kept: (process, budget) => afterReplay(shared.slices.kept(process, budget)) },
  }
}

/**
 * `parts` with a spool, until the scope closes. `patienceMs`: how long a write may take. While something is spooled, no new
 * requests start, and three things are read only after it is replayed: what a key has spent, and what the database has as a slice of
 * its budget, or it could spend the same money again; and the journal's orphans, or a stream whose whole cost is spooled would be
 * charged by its last checkpoint.
 */
export const withSpool = <P extends Parts>(
  parts: P,
  { patienceMs, ...options }: SpoolOptions & { readonly patienceMs: number },
): Effect.Effect<P, never, Scope.Scope> =>
  Effect.gen(function* () {
    const runner = makeEffectRunner(yield* Effect.runtime<never>())
    const spool = new Spool(options, (line) => void runner.run(line, () => {}))
    const replay = makeReplay(spool, parts)
    spool.open()
    spool.adopt()
    yield* Effect.addFinalizer(() =>
      Effect.ensuring(
        Effect.ignore(Effect.timeout(Effect.interruptible(replay), patienceMs)),
        Effect.sync(() => spool.close()),
      ),
    )
    yield* Effect.forkScoped(Effect.scheduleFrom(Effect.isSuccess(replay), true, backoff(replaying)))
    return { ...parts, ...spooledParts(parts, spool, replay, runner, patienceMs) }
  })
