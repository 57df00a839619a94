/** The accounts of keys in use, in memory: what each has spent per window, and the holds of its requests in flight. */
import * as Effect from "effect/Effect"
import type { KeyId } from "../../domain/Ids.ts"
import { dayMs, type LimitReset, limitResets, type Spend, windowStart } from "../../domain/keys/Key.ts"
import type { Picodollars } from "../../domain/price/Money.ts"

/** One key's account. Its windows only move forward: a clock that steps back does not reopen one. */
export class KeyAccount {
  held: Picodollars = 0n
  /** Requests that are not booked yet. An account with open requests must stay in memory. */
  open = 0
  /** Spent since the key was made. */
  total: Picodollars
  private readonly windows: Record<LimitReset, { start: number; amount: Picodollars }>

  constructor(spend: Spend, now: number) {
    this.total = spend.total
    const opened = (reset: LimitReset) => ({ start: windowStart(reset, now), amount: spend[reset] })
    this.windows = { daily: opened("daily"), weekly: opened("weekly"), monthly: opened("monthly") }
  }

  take(amount: Picodollars): void {
    this.open += 1
    this.held += amount
  }

  /** Adds to a hold that was taken. */
  addToHold(amount: Picodollars): void {
    this.held += amount
  }

  giveBack(amount: Picodollars): void {
    this.open -= 1
    this.held -= amount
  }

  /** Books a cost into the windows in which its request was admitted. */
  spend(amount: Picodollars, admittedAt: number): void {
    this.advance(admittedAt)
    this.total += amount
    // A day lies in one week and one month, so a request of today is one of all three windows.
    const isOfToday = admittedAt >= this.windows.daily.start
    for (const reset of limitResets) {
      const window = this.windows[reset]
      if (isOfToday || windowStart(reset, admittedAt) === window.start) window.amount += amount
    }
  }

  spendAt(now: number): Spend {
    this.advance(now)
    const { daily, weekly, monthly } = this.windows
    return { total: this.total, daily: daily.amount, weekly: weekly.amount, monthly: monthly.amount }
  }

  private advance(now: number): void {
    // The day is the shortest window: while it lasts, the others do.
    if (now < this.windows.daily.start + dayMs) return
    for (const reset of limitResets) {
      const start = windowStart(reset, now)
      if (start > this.windows[reset].start) this.windows[reset] = { start, amount: 0n }
    }
  }
}

const mostAccounts = 10_000

/** Accounts by key, read from the ledger at first use. When there are too many, those without a hold are removed, the oldest first. */
export class KeyAccounts<E> {
  private readonly accounts = new Map<KeyId, KeyAccount>()
  /** How often a cost was booked of a key whose account was not in memory. */
  private unread = 0
  private readonly load: (key: KeyId) => Effect.Effect<{ readonly spend: Spend; readonly now: number }, E>

  constructor(load: (key: KeyId) => Effect.Effect<{ readonly spend: Spend; readonly now: number }, E>) {
    this.load = load
  }

  /** The account of a key, if it is in memory. */
  known(key: KeyId): KeyAccount | undefined {
    return this.accounts.get(key)
  }

  of(key: KeyId): Effect.Effect<KeyAccount, E> {
    const known = this.accounts.get(key)
    return known !== undefined ? Effect.succeed(known) : Effect.suspend(() => this.read(key))
  }

  /** Books a cost of a request that had no hold here: what a killed process left. */
  booked(key: KeyId, cost: Picodollars, admittedAt: number): void {
    const known = this.accounts.get(key)
    if (known !== undefined) known.spend(cost, admittedAt)
    else this.unread += 1
  }

  // Concurrent requests of one key must share one account.
  private read(key: KeyId): Effect.Effect<KeyAccount, E> {
    const { unread } = this
    return Effect.flatMap(this.load(key), ({ spend, now }) => {
      const meanwhile = this.accounts.get(key)
      if (meanwhile !== undefined) return Effect.succeed(meanwhile)
      // Perhaps of this key, and after its spend was read.
      if (this.unread !== unread) return this.read(key)
      const account = new KeyAccount(spend, now)
      this.dropIdle()
      this.accounts.set(key, account)
      return Effect.succeed(account)
    })
  }

  private dropIdle(): void {
    if (this.accounts.size < mostAccounts) return
    for (const [key, account] of this.accounts) {
      if (account.open > 0) continue
      this.accounts.delete(key)
      if (this.accounts.size < mostAccounts) return
    }
  }
}
