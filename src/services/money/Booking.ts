/** The row of one attempt on its way into the ledger. See docs/guarantees.md#g3. */
import * as Exit from "effect/Exit"
import type { Unavailable } from "../../domain/failures/Failure.ts"
import type { Charge } from "../../domain/money/Charge.ts"
import type { Picodollars } from "../../domain/price/money.ts"
import { Wait } from "../request/EffectRunner.ts"
import type { LedgerRow } from "../storage/ledger.ts"
import type { Written } from "./GroupCommit.ts"
import type { Hold, Settlement } from "./Hold.ts"
import type { Holds } from "./Holds.ts"
import type { Journal } from "./Journal.ts"
import type { LedgerObserver } from "./LedgerObservers.ts"
import { type LedgerWriter, type Settled, unwritable } from "./LedgerWriter.ts"

/** What a booking changes. */
export interface Bookkeeping {
  readonly ledger: LedgerWriter
  readonly holds: Holds
  readonly journal: Journal<Hold>
  readonly observers: LedgerObserver
}

/** Books the row of a closed hold. Succeeds with its charge once the row is durable. It can be run once. */
export class Booking extends Wait<Charge, Unavailable> implements Settled {
  readonly row: LedgerRow
  private readonly services: Bookkeeping
  private readonly hold: Hold
  private readonly settlement: Settlement
  private readonly charge: Charge
  /** What `Slice.settles` returned; `undefined`: the hold is not of a slice. */
  private readonly since: number | undefined
  private resume: ((exit: Exit.Exit<Charge, Unavailable>) => void) | undefined

  constructor(services: Bookkeeping, hold: Hold, settlement: Settlement, charge: Charge, row: LedgerRow) {
    super()
    this.services = services
    this.hold = hold
    this.settlement = settlement
    this.charge = charge
    this.row = row
    this.since = hold.slice?.settles(hold.amount)
  }

  /** A caller who gets an error in place of the answer must not pay for it later. */
  get lateCost(): Picodollars {
    return this.settlement.isAwaited ? 0n : this.row.cost
  }

  override register(resume: (exit: Exit.Exit<Charge, Unavailable>) => void): void {
    this.resume = resume
    this.services.ledger.add(this)
  }

  onWritten(written: Written): void {
    const { isAwaited, outcome } = this.settlement
    const isBooked = written === "durable" || !isAwaited
    if (isBooked && outcome !== "lost") {
      const { context } = this.hold
      context.booked = this.row
      if (written === "durable") context.observed?.wasBooked()
    }
    this.resume?.(written === "durable" ? Exit.succeed(this.charge) : Exit.fail(unwritable()))
  }

  // A row in the backlog stays held, so that the key cannot spend the money again. A refused row is not held.
  onResolved(booked: LedgerRow | undefined): void {
    const { holds, journal, observers } = this.services
    const { account, providerKey } = this.hold
    if (booked !== undefined) {
      account.spend(booked.cost, booked.admittedAt)
      providerKey?.booked(booked.upstreamCost, booked.admittedAt)
    }
    holds.giveBack(this.hold, booked?.cost ?? 0n, this.since)
    journal.closed(this.hold)
    if (booked !== undefined) observers.booked(booked)
  }
}
