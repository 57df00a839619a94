/**
 * A slice of a budget: what one of several processes has leased of what a key may still spend in a window. The process makes
 * reservations out of it without asking the database. See docs/decisions/0022-replicas.md. Pure.
 */
import * as BigInteger from "effect/BigInt"
import type { KeyId } from "../ids.ts"
import type { KeyRecord } from "../keys/key.ts"
import { type LimitReset, nextReset, windowStart } from "../keys/limitWindows.ts"
import type { Picodollars } from "../price/money.ts"
import type { BudgetSnapshot } from "./reservation.ts"

/** What a key may spend in one window. */
export interface BudgetWindow {
  readonly key: KeyId
  readonly window: LimitReset | "total"
  /** First Unix millisecond of the window; 0 for `total`. */
  readonly start: number
}

/** The window of a key's limit in which a request counts that was admitted at `at` (Unix milliseconds). */
export const budgetWindow = ({ id, limitReset }: Pick<KeyRecord, "id" | "limitReset">, at: number): BudgetWindow =>
  limitReset === null
    ? { key: id, window: "total", start: 0 }
    : { key: id, window: limitReset, start: windowStart(limitReset, at) }

/** The database's answer to a process that asks for more of a budget. */
export interface Grant {
  /** 0: there is less left than was needed. */
  readonly granted: Picodollars
  /** Spent in the window by all processes. */
  readonly spent: Picodollars
  /** Leased by the other processes. */
  readonly others: Picodollars
}

/** `free` and `reserved` together are never more than the database has as this process's slice. */
export class Slice {
  readonly budget: BudgetWindow
  /** The lease of the process that has the slice. */
  readonly process: string
  /** Not reserved by a request. */
  free: Picodollars = 0n
  reserved: Picodollars = 0n
  /** As the database last said it, and what was booked here since. */
  private spent: Picodollars = 0n
  private others: Picodollars = 0n
  /** Reservations whose cost is being booked: it may be in `spent` already. */
  private settling: Picodollars = 0n
  private learned = 0

  constructor(budget: BudgetWindow, process: string) {
    this.budget = budget
    this.process = process
  }

  /** What there is at best: the others may return all that they have leased. */
  atBest(limit: Picodollars, at: number): BudgetSnapshot {
    return this.snapshot(limit, this.reserved - this.settling, at)
  }

  /** What there is for this process, as far as it knows. */
  asKnown(limit: Picodollars, at: number): BudgetSnapshot {
    return this.snapshot(limit, this.reserved + this.others, at)
  }

  /** What nobody has leased, as far as this process knows. */
  unleased(limit: Picodollars): Picodollars {
    return BigInteger.max(0n, limit - this.spent - this.others - this.reserved - this.free)
  }

  get othersHave(): boolean {
    return this.others > 0n
  }

  learn({ granted, spent, others }: Grant): void {
    this.free += granted
    // What was booked here meanwhile may not be in the answer yet. Too little does no harm, since the database decides.
    this.spent = spent
    this.others = others
    this.learned += 1
  }

  /** Whether there was enough. */
  take(amount: Picodollars): boolean {
    if (amount > this.free) return false
    this.free -= amount
    this.reserved += amount
    return true
  }

  /** The cost of a reservation of this amount is about to be booked. Returns what `settled` needs to know. */
  settles(amount: Picodollars): number {
    this.settling += amount
    return this.learned
  }

  /**
   * Ends a reservation of this amount. `cost`: what was booked for its request, which has left the slice. `since`: what `settles`
   * returned, if it was called.
   */
  settled(amount: Picodollars, cost: Picodollars, since?: number): void {
    this.reserved -= amount
    this.free += amount - BigInteger.min(amount, cost)
    if (since !== undefined) this.settling -= amount
    // Else the database has told of it, or may have: counted twice it would refuse requests that there is money for.
    if (since === undefined || since === this.learned) this.spent += cost
  }

  private snapshot(limit: Picodollars, reserved: Picodollars, at: number): BudgetSnapshot {
    const { window } = this.budget
    const { spent } = this
    return {
      limit,
      spend: spent,
      reserved,
      source: window,
      resetsAt: nextReset(window === "total" ? null : window, at),
    }
  }
}
