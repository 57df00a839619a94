/** Whether the sums of what keys have spent are those of the ledger's rows. */
import { type LimitReset, windowStart } from "../domain/Key.ts"
import type { Picodollars } from "../domain/Money.ts"

/** What the rows of a key come to that were admitted on one UTC day, given by its first Unix millisecond. */
export interface DaySum {
  readonly key: string
  readonly day: number
  readonly amount: Picodollars
}

/** A kept sum of a key: in all (`start` is 0), or in the window that begins at `start`. */
export interface KeptSum {
  readonly key: string
  readonly window: "total" | LimitReset
  readonly start: number
  readonly amount: Picodollars
}

/** A sum that is not what the rows come to. */
export interface SumDifference extends Omit<KeptSum, "amount"> {
  /** By the rows of the ledger; 0 without any. */
  readonly ledger: Picodollars
  /** As it was kept; 0 where none was. */
  readonly kept: Picodollars
}

const resets = ["daily", "weekly", "monthly"] as const

/** All differences, first those of sums that are expected. Empty when the books are right. */
export const differences = (
  days: ReadonlyArray<DaySum>,
  kept: ReadonlyArray<KeptSum>,
): ReadonlyArray<SumDifference> => {
  const sums = new Map<string, SumDifference>()
  const add = ({ key, window, start }: Omit<KeptSum, "amount">, by: { ledger: Picodollars; kept: Picodollars }) => {
    const place = `${window} ${start} ${key}`
    const { ledger, kept } = sums.get(place) ?? { ledger: 0n, kept: 0n }
    sums.set(place, { key, window, start, ledger: ledger + by.ledger, kept: kept + by.kept })
  }
  for (const { key, day, amount } of days) {
    const by = { ledger: amount, kept: 0n }
    add({ key, window: "total", start: 0 }, by)
    for (const window of resets) add({ key, window, start: windowStart(window, day) }, by)
  }
  for (const { amount, ...sum } of kept) add(sum, { ledger: 0n, kept: amount })
  return [...sums.values()].filter((sum) => sum.ledger !== sum.kept)
}
