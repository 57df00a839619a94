/** The row of one attempt on its way into the ledger. See docs/guarantees.md#g3. */
import * as Exit from "effect/Exit"
import type { Unavailable } from "../../domain/failures/Failure.ts"
import type { Charge } from "../../domain/money/Charge.ts"
import type { Picodollars } from "../../domain/price/money.ts"
import { Wait } from "../request/EffectRunner.ts"
import type { LedgerRow } from "../storage/ledger.ts"
import type { Written } from "./GroupCommit.ts"
import type { Journal } from "./Journal.ts"
import type { LedgerObserver } from "./LedgerObservers.ts"
import { type LedgerWriter, type Settled, unwritable } from "./LedgerWriter.ts"
import type { OpenReservations } from "./OpenReservations.ts"
import type { Reservation, Settlement } from "./Reservation.ts"

/** What a booking changes. */
export interface Bookkeeping {
  readonly ledger: LedgerWriter
  readonly reservations: OpenReservations
  readonly journal: Journal<Reservation>
  readonly observers: LedgerObserver
}

/** Books the row of a closed reservation. Succeeds with its charge once the row is durable. It can be run once. */
export class Booking extends Wait<Charge, Unavailable> implements Settled {
  readonly row: LedgerRow
  private readonly services: Bookkeeping
  private readonly reservation: Reservation
  private readonly settlement: Settlement
  private readonly charge: Charge
  /** What `Slice.settles` returned; `undefined`: the reservation is not of a slice. */
  private readonly since: number | undefined
  private resume: ((exit: Exit.Exit<Charge, Unavailable>) => void) | undefined

  constructor(services: Bookkeeping, reservation: Reservation, settlement: Settlement, charge: Charge, row: LedgerRow) {
    super()
    this.services = services
    this.reservation = reservation
    this.settlement = settlement
    this.charge = charge
    this.row = row
    this.since = reservation.slice?.settles(reservation.amount)
  }

  /** A caller who gets an error in place of the answer must not pay for it later. */
  get lateCost(): Picodollars {
    return this.settlement.isAwaited ? 0n : this.row.cost
  }

  override register(resume: (exit: Exit.Exit<Charge, Unavailable>) => void): void {
    this.resume = resume
    if (this.settlement.outcome !== "lost") this.reservation.context.hasRow = true
    this.services.ledger.add(this)
  }

  onWritten(written: Written): void {
    const { isAwaited, outcome } = this.settlement
    const isBooked = written === "durable" || !isAwaited
    if (outcome !== "lost") {
      const { context } = this.reservation
      if (isBooked) context.booked = this.row
      if (written === "durable") context.observed?.wasBooked()
      context.hasRow = written !== "refused"
    }
    this.resume?.(written === "durable" ? Exit.succeed(this.charge) : Exit.fail(unwritable()))
  }

  // A row in the backlog keeps its money reserved, so that the key cannot spend the money again. A refused row does not.
  onResolved(booked: LedgerRow | undefined): void {
    const { reservations, journal, observers } = this.services
    const { account, providerKey } = this.reservation
    if (booked !== undefined) {
      account.spend(booked.cost, booked.admittedAt)
      providerKey?.booked(booked.upstreamCost, booked.admittedAt)
    }
    reservations.giveBack(this.reservation, booked?.cost ?? 0n, this.since)
    journal.closed(this.reservation)
    if (booked !== undefined) observers.booked(booked)
  }
}
