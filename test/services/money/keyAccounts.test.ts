/** What a key has spent, as the gateway keeps it in memory, by windows in UTC. */
import { expect, test } from "bun:test"
import * as Effect from "effect/Effect"
import { KeyAccount } from "../../../src/domain/money/KeyAccount.ts"
import { KeyAccounts } from "../../../src/services/money/KeyAccounts.ts"
import { alice } from "../../sql/samples.ts"

const hour = 3_600_000
const nothing = { total: 0n, daily: 0n, weekly: 0n, monthly: 0n }

test.each([
  ["a day", Date.UTC(2026, 6, 15), { daily: 0n, weekly: 5n, monthly: 5n }],
  ["a Monday", Date.UTC(2026, 6, 13), { daily: 0n, weekly: 0n, monthly: 5n }],
  ["a month", Date.UTC(2026, 6, 1), { daily: 0n, weekly: 5n, monthly: 0n }],
])(
  "a cost that is booked after midnight, at the start of %s, counts in the window in which its request was admitted",
  (_, midnight, now) => {
    const account = new KeyAccount(nothing, midnight - hour)
    account.take(9n)
    expect(account.spendAt(midnight + hour)).toEqual(nothing)
    account.spend(5n, midnight - hour)
    account.giveBack(9n)
    expect(account.spendAt(midnight + hour)).toEqual({ total: 5n, ...now })
    expect(account.reserved).toBe(0n)
  },
)

test("a clock that steps back over midnight does not reopen a window", () => {
  const midnight = Date.UTC(2026, 6, 15)
  const account = new KeyAccount({ total: 7n, daily: 7n, weekly: 7n, monthly: 7n }, midnight - hour)
  expect(account.spendAt(midnight).daily).toBe(0n)
  expect(account.spendAt(midnight - hour).daily).toBe(0n)
})

test("what was spent while a clock had stepped back over midnight counted in no limit; now in the day that is open", () => {
  const midnight = Date.UTC(2026, 6, 15)
  const account = new KeyAccount(nothing, midnight)
  expect(account.spendAt(midnight - hour).daily).toBe(0n)
  account.spend(3n, midnight - hour)
  expect(account.spendAt(midnight - hour)).toEqual({ total: 3n, daily: 3n, weekly: 3n, monthly: 3n })
})

test("a clock that was a year ahead for a moment left a key without a limit until the next start; now its windows are opened anew", async () => {
  const now = Date.UTC(2026, 6, 15)
  const year = 365 * 24 * hour
  const before = { total: 7n, daily: 5n, weekly: 6n, monthly: 7n }
  const accounts = new KeyAccounts<never>(() => Effect.succeed({ spend: before, now }))
  const account = await Effect.runPromise(accounts.of(alice))
  /** As the ledger has it, which lacks what is booked at the same time. */
  const asked: Array<ReadonlyArray<string>> = []
  const correct = (at: number) =>
    Effect.runPromise(
      accounts.correct(at, (keys) => {
        asked.push(keys)
        return Effect.succeed(keys.map(() => ({ total: 9n, daily: 7n, weekly: 8n, monthly: 9n })))
      }),
    )
  await correct(now)
  account.spend(2n, now)
  expect(account.spendAt(now + year).monthly).toBe(0n)
  await correct(now + year)
  expect(asked).toEqual([])
  account.spendAt(now)
  account.spend(4n, now)
  await correct(now)
  expect(asked).toEqual([[alice]])
  expect(account.spendAt(now)).toEqual({ total: 13n, daily: 11n, weekly: 12n, monthly: 13n })
  account.spend(1n, now)
  expect(account.spendAt(now).monthly).toBe(14n)
})

test("a cost of a killed process that was booked while the account was being read was missing in it", async () => {
  let spent = nothing
  const reads: Array<() => void> = []
  const accounts = new KeyAccounts<never>(() =>
    Effect.promise(async () => {
      const seen = spent
      await new Promise<void>((resume) => reads.push(resume))
      return { spend: seen, now: 0 }
    }),
  )
  const reading = Effect.runPromise(accounts.of(alice))
  spent = { total: 5n, daily: 5n, weekly: 5n, monthly: 5n }
  accounts.booked(alice, 5n, 0)
  reads[0]?.()
  while (reads.length < 2) await Promise.resolve()
  reads[1]?.()
  expect((await reading).spendAt(0)).toEqual(spent)
  accounts.booked(alice, 2n, 0)
  expect((await reading).spendAt(0).total).toBe(7n)
})
