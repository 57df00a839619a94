/**
 * Metering: reserves what a request can cost at most, computes what it did cost, and makes that durable before it is
 * reported. Reservations and spend of the keys in use are kept in memory, in integer picodollars; `Storage` keeps the ledger.
 * See docs/guarantees.md#g1, #g3 and #g5.
 */
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Layer from "effect/Layer"
import * as Schedule from "effect/Schedule"
import type * as Scope from "effect/Scope"
import { type ConfigInForce, ProviderRegistry } from "../../catalogue/ProviderRegistry.ts"
import type { PaymentRequired, Unavailable } from "../../domain/failures/Failure.ts"
import type { Host } from "../../domain/hosts/Host.ts"
import { isAsPriced, type Served, type ServedPrices, servedPrices } from "../../domain/hosts/served.ts"
import type { KeyId } from "../../domain/ids.ts"
import type { KeyRecord } from "../../domain/keys/key.ts"
import type { Spend } from "../../domain/keys/limitWindows.ts"
import { type Charge, chargeFor } from "../../domain/money/Charge.ts"
import type { BudgetSnapshot } from "../../domain/money/reservation.ts"
import type { Picodollars } from "../../domain/price/money.ts"
import { logEvent } from "../../process/log/logEvent.ts"
import { Throttle } from "../../process/log/Throttle.ts"
import { makeEffectRunner } from "../request/EffectRunner.ts"
import { monotonic, type RequestContext } from "../request/RequestContext.ts"
import { type Hindrance, type Outage, outageOf } from "../storage/Outage.ts"
import { type DataAtRest, Storage } from "../storage/Storage.ts"
import { hindranceOf, orUnavailable, reportTo } from "../storage/StorageUnavailable.ts"
import { survivingDefects } from "../storage/survivingDefects.ts"
import { Booking, type Bookkeeping } from "./Booking.ts"
import { makeJournal } from "./Journal.ts"
import { KeyAccounts } from "./KeyAccounts.ts"
import { type LedgerObserver, LedgerObservers } from "./LedgerObservers.ts"
import { makeLedgerWriter, type PendingRows, unwritable } from "./LedgerWriter.ts"
import { crashedRow, ledgerRow, reservedIn } from "./ledgerRow.ts"
import { noLimit, OpenReservations, type ReservationRequest } from "./OpenReservations.ts"
import { PriceVersions } from "./PriceVersions.ts"
import { makeProcessLease, type ProcessLease } from "./ProcessLease.ts"
import type { Reservation, Settlement } from "./Reservation.ts"
import { makeSlices, type Slices } from "./Slices.ts"

/** Who pays for a request. One kind in this version: the caller's key. */
export interface Account {
  readonly _tag: "Key"
  readonly key: KeyRecord
}

/** What a call asks before it is made. */
export interface Reservations {
  /** Reserves the most that this host could charge. Fails when the account has less left. */
  readonly reserve: (
    account: Account,
    context: RequestContext,
    ask: ReservationRequest,
    host: Host,
  ) => Effect.Effect<Reservation, PaymentRequired | Unavailable>
  /** Ends the reservation without a charge. */
  readonly release: (reservation: Reservation) => void
}

/** How reservations end. Of `release` and `settle` the first one counts. */
export interface Settlements extends Pick<Reservations, "release"> {
  /** Books the true cost in place of the reservation. Succeeds once the row is durable. */
  readonly settle: (reservation: Reservation, settlement: Settlement) => Effect.Effect<Charge, Unavailable>
}

/** What the meter has to do at this moment. */
export interface MeterFigures extends PendingRows {
  /** What running requests have reserved, in all. */
  readonly reserved: Picodollars
}

export class Meter extends Context.Tag("headgate/Meter")<
  Meter,
  Reservations &
    Settlements & {
      /** What the account can still pay. */
      readonly budget: (account: Account) => Effect.Effect<BudgetSnapshot, Unavailable>
      /** Whether the ledger accepts rows. If not, `reserve` fails. */
      readonly writable: () => boolean
      /** What a key has spent, and what its requests in flight have reserved. */
      readonly spent: (key: KeyId) => Effect.Effect<Spend & { readonly reserved: Picodollars }, Unavailable>
      /** Tells `observer` of every row of the ledger that this process writes from now on, until the scope is closed. Absent: nobody is told. */
      readonly observe?: (observer: LedgerObserver) => Effect.Effect<void, never, Scope.Scope>
      /** Names this process among those that use the database. Absent: there are no others, or none that are known. */
      readonly process?: () => string
      /** Absent: not known. */
      readonly figures?: () => MeterFigures
      /** What each of at most a few hundred keys has spent, by one question to the database. Absent: ask `spent` for each. */
      readonly spentByEach?: (keys: ReadonlyArray<KeyId>) => Effect.Effect<ReadonlyArray<Spend>, Unavailable>
    }
>() {
  static readonly layer: Layer.Layer<Meter, never, ProviderRegistry | Storage> = Layer.scoped(
    Meter,
    Effect.suspend(() => make),
  )
}

const make = Effect.gen(function* () {
  const registry = yield* ProviderRegistry
  const storage = yield* Storage
  const clock = yield* Effect.clock
  const now = () => clock.unsafeCurrentTimeMillis()
  const runner = makeEffectRunner(yield* Effect.runtime<never>())
  const outage = outageOf(storage)
  const reached = orUnavailable("metering", { outage })
  const accounts = new KeyAccounts((key) => {
    const at = now()
    return Effect.map(reached(storage.ledger.spend(key, at)), (spend) => ({ spend, now: at }))
  })
  const prices = new PriceVersions(storage.prices)
  const ledgerOf = { ...storage.ledger, append: prices.before(storage.ledger.append) }
  const journalOf = { ...storage.journal, write: prices.before(storage.journal.write) }
  const { shared } = storage
  const lease = shared && (yield* makeProcessLease(shared.leases, () => slices?.lost()))
  const slices: Slices | undefined = shared && lease && (yield* makeSlices(shared, lease, reportTo(outage)))
  const observers = new LedgerObservers()
  const reservations = new OpenReservations({ registry, now, shared: slices && lease && { slices, lease } })
  const journal = yield* makeJournal<Reservation>(
    { ledger: ledgerOf, journal: journalOf },
    {
      open: () => reservations.open,
      crashed: (reservation) => {
        const priceVersion = prices.idOf(reservation.host.pricing)
        return crashedRow(reservation, { installation: storage.installation, priceVersion, settledAt: now() })
      },
      onBooked: (row) => {
        accounts.booked(row.key, row.cost, row.admittedAt)
        observers.booked(row)
      },
      lease,
    },
  )
  // After the journal, so that it is closed first, and the journal knows what was booked.
  const ledger = yield* makeLedgerWriter(
    { ledger: ledgerOf },
    (hindrance) => outage.begin(hindrance),
    (rows, ms) => observers.committed(rows, ms),
  )
  observers.opened()
  const metering = new Metering({
    ...{ storage, outage, reached, accounts, prices, reservations, journal, ledger, lease, slices, observers, now },
    registry,
    throttle: new Throttle(monotonic(clock)),
    log: (line) => runner.run(line, () => {}),
  })
  yield* Effect.scheduleForked(survivingDefects("the watch for outages")(metering.watch), Schedule.spaced("1 second"))
  const correcting = survivingDefects("the watch for a clock that steps back")(metering.correct)
  yield* Effect.scheduleForked(correcting, Schedule.spaced("1 second"))
  return Meter.of({
    budget: (account) => metering.budget(account),
    reserve: (account, context, ask, host) => metering.reserve(account, context, ask, host),
    release: (reservation) => metering.release(reservation),
    settle: (reservation, settlement) => metering.settle(reservation, settlement),
    writable: () => metering.isWritable,
    spentByEach: (keys) => metering.spentByEach(keys),
    spent: (key) => metering.spent(key),
    observe: (observer) => observers.add(observer),
    ...(lease && { process: lease.id }),
    figures: () => metering.figures(),
  })
})

interface MeteringParts extends Bookkeeping {
  readonly storage: DataAtRest
  readonly outage: Outage
  readonly reached: ReturnType<typeof orUnavailable>
  readonly accounts: KeyAccounts<Unavailable>
  readonly prices: PriceVersions
  /** Both only where several processes use the database. */
  readonly lease: ProcessLease | undefined
  readonly slices: Slices | undefined
  readonly registry: ConfigInForce
  readonly throttle: Throttle
  readonly log: (line: Effect.Effect<void>) => void
  /** Unix milliseconds. */
  readonly now: () => number
}

class Metering {
  private readonly parts: MeteringParts

  constructor(parts: MeteringParts) {
    this.parts = parts
  }

  budget({ key }: Account): Effect.Effect<BudgetSnapshot, Unavailable> {
    if (key.limit === null) return unlimited
    const { slices, accounts, reservations, now } = this.parts
    if (slices !== undefined) return Effect.succeed(slices.atBest(key, key.limit, now()))
    const known = accounts.known(key.id)
    return known !== undefined ? Exit.succeed(reservations.budget(key, known)) : this.readBudget(key)
  }

  reserve(
    { key }: Account,
    context: RequestContext,
    ask: ReservationRequest,
    host: Host,
  ): Effect.Effect<Reservation, PaymentRequired | Unavailable> {
    if (!this.isWritable) return Exit.fail(unwritable())
    const { accounts, reservations } = this.parts
    const known = accounts.known(key.id)
    return known !== undefined
      ? reservations.take(key, known, context, ask, host)
      : this.readAndReserve(key, context, ask, host)
  }

  release(reservation: Reservation): void {
    const { reservations, journal } = this.parts
    if (reservations.close(reservation)) reservations.giveBack(reservation, 0n)
    journal.closed(reservation)
  }

  settle(reservation: Reservation, settlement: Settlement): Effect.Effect<Charge, Unavailable> {
    try {
      return this.book(reservation, settlement)
    } catch (defect) {
      // A result like any other, so that a stream that waits for it ends. The money stays reserved: what is due is not known.
      return Exit.die(defect)
    }
  }

  get isWritable(): boolean {
    return this.hindrance() === undefined && !this.parts.outage.refusesRequests
  }

  spentByEach(keys: ReadonlyArray<KeyId>): Effect.Effect<ReadonlyArray<Spend>, Unavailable> {
    const { reached, storage, now } = this.parts
    return reached(storage.ledger.spendOf(keys, now()))
  }

  spent(key: KeyId): Effect.Effect<Spend & { readonly reserved: Picodollars }, Unavailable> {
    const { storage, accounts, reached, now } = this.parts
    if (storage.shared === undefined)
      return Effect.map(accounts.of(key), (account) => ({ ...account.spendAt(now()), reserved: account.reserved }))
    // Other processes spend too. While the database is away, what this one knows.
    const known = accounts.known(key)
    return storage.ledger.spend(key, now()).pipe(
      Effect.catchAll((failure) => (known === undefined ? Effect.fail(failure) : Effect.succeed(known.spendAt(now())))),
      reached,
      Effect.map((spend) => ({ ...spend, reserved: known?.reserved ?? 0n })),
    )
  }

  /** Tells that an outage has begun, or that one is over: the ledger takes rows, and the database can be read. */
  readonly watch: Effect.Effect<void> = Effect.suspend(() => {
    const { outage, storage } = this.parts
    const found = this.hindrance()
    if (found !== undefined) return outage.begin(found)
    if (outage.current === undefined) return Effect.void
    return Effect.matchEffect(Effect.zipRight(storage.keys.countManagement(), storage.ledger.takesRequests()), {
      onSuccess: (takes) => (takes === true ? outage.end : outage.begin(takes)),
      onFailure: (failure) => outage.begin(hindranceOf(failure)),
    })
  })

  /** Runs after a wrong clock has stepped back. If the database is away, the next round tries again. */
  readonly correct: Effect.Effect<void> = Effect.suspend(() => {
    const { accounts, storage, now } = this.parts
    const at = now()
    return Effect.ignore(accounts.correct(at, (keys) => storage.ledger.spendOf(keys, at)))
  })

  figures(): MeterFigures {
    const { reservations, ledger, now } = this.parts
    let reserved = 0n
    for (const { amount } of reservations.open) reserved += amount
    return { reserved, ...ledger.pending(now()) }
  }

  private hindrance(): Hindrance | undefined {
    return this.parts.ledger.hindrance() ?? this.parts.lease?.hindrance()
  }

  // For an account that is not in memory. Methods of their own: with these closures in `budget` and `reserve`, every call of those would
  // keep its variables in an object for them.
  private readBudget(key: KeyRecord): Effect.Effect<BudgetSnapshot, Unavailable> {
    const { accounts, reservations } = this.parts
    return Effect.map(accounts.of(key.id), (account) => reservations.budget(key, account))
  }

  private readAndReserve(
    key: KeyRecord,
    context: RequestContext,
    ask: ReservationRequest,
    host: Host,
  ): Effect.Effect<Reservation, PaymentRequired | Unavailable> {
    const { accounts, reservations } = this.parts
    return Effect.flatMap(accounts.of(key.id), (account) => reservations.take(key, account, context, ask, host))
  }

  /**
   * The prices of another tier, speed or region than the host stands for: a vendor may downgrade a request, and a
   * setting of a project or workspace there may change all of them (developers.openai.com, priority processing;
   * platform.claude.com, data residency; 2026-11).
   */
  private servedOtherwise(host: Host, served: Served): ServedPrices {
    const { registry, log, throttle } = this.parts
    const model = registry.current().models.find(({ id }) => id === host.model)
    const prices = servedPrices(host, served, model)
    for (const unpriced of prices.unpriced) {
      const about = { model: host.model, host: host.tag, served: unpriced.slice(0, 100) }
      const unlogged = throttle.pass(`${host.model} ${host.tag} ${about.served}`)
      if (unlogged !== undefined) log(logEvent("priced_otherwise", unlogged === 0 ? about : { ...about, unlogged }))
    }
    return prices
  }

  private book(reservation: Reservation, settlement: Settlement): Effect.Effect<Charge, Unavailable> {
    const { context, host, errorFinish } = reservation
    const { reservations, prices, now, storage } = this.parts
    const otherwise = isAsPriced(host, settlement) ? undefined : this.servedOtherwise(host, settlement)
    const { pricing } = otherwise ?? host
    const cost = chargeFor(pricing, settlement, reservation, context.admittedAt, errorFinish)
    const isUnpriced = otherwise !== undefined && otherwise.unpriced.length > 0 && pricing !== null
    const charge = isUnpriced ? { ...cost, isPricedOtherwise: true } : cost
    if (!reservations.close(reservation)) return Exit.succeed(charge)
    const facts = {
      installation: storage.installation,
      priceVersion: prices.idOf(pricing),
      settledAt: now(),
    }
    const settled = ledgerRow(reservation, settlement, charge, facts)
    const row =
      reservation.slice === undefined ? settled : { ...settled, reservedIn: reservedIn(reservation, reservation.slice) }
    return new Booking(this.parts, reservation, settlement, charge, row)
  }
}

const unlimited = Effect.succeed(noLimit)
