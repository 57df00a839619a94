/** The accounts of keys in use, in memory: what each has spent per window, and the reservations of its requests in flight. */
import * as Effect from "effect/Effect"
import type { KeyId } from "../../domain/ids.ts"
import type { Spend } from "../../domain/keys/limitWindows.ts"
import { KeyAccount } from "../../domain/money/KeyAccount.ts"
import type { Picodollars } from "../../domain/price/money.ts"

const mostAccounts = 10_000
/** Accounts per query of the ledger. */
const readAtOnce = 200

const nothingSpent: Spend = { total: 0n, daily: 0n, weekly: 0n, monthly: 0n }

/**
 * Accounts by key, read from the ledger at first use. When there are too many, those without a reservation are removed, the oldest
 * first.
 */
export class KeyAccounts<E> {
  private readonly accounts = new Map<KeyId, KeyAccount>()
  /** How often a cost was booked of a key whose account was not in memory. */
  private unread = 0
  /** When the clock was last checked for a step back, Unix milliseconds. */
  private latest = Number.NEGATIVE_INFINITY
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

  /** Books a cost of a request that had no reservation here: what a killed process left. */
  booked(key: KeyId, cost: Picodollars, admittedAt: number): void {
    const known = this.accounts.get(key)
    if (known !== undefined) known.spend(cost, admittedAt)
    else this.unread += 1
  }

  /**
   * Reopens the windows that a wrong clock opened too early, after it has stepped back to `now`. `spends`: the
   * ledger's sums of these keys for the windows at `now`.
   */
  correct<F>(
    now: number,
    spends: (keys: ReadonlyArray<KeyId>) => Effect.Effect<ReadonlyArray<Spend>, F>,
  ): Effect.Effect<void, F> {
    return Effect.gen(this, function* () {
      if (now >= this.latest) {
        this.latest = now
        return
      }
      for (;;) {
        const early = [...this.accounts].filter(([, account]) => account.isOpenedTooEarly(now)).slice(0, readAtOnce)
        if (early.length === 0) break
        const read = yield* spends(early.map(([key]) => key))
        for (const [at, [, account]] of early.entries()) account.reopen(read[at] ?? nothingSpent, now)
      }
      this.latest = now
    })
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
