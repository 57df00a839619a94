/** Rules about money: what keys have spent of their limits, what a day has cost, what nobody paid for. Pure. */
import type { KeyRecord } from "../keys/key.ts"
import { nextReset, type Spend, spentInWindow, windowStart } from "../keys/limitWindows.ts"
import { type DaySum, dateOf } from "../money/activity.ts"
import { type Picodollars, picodollarsPerUsd, toUsd } from "../price/money.ts"
import type { Alert, AlertSubject } from "./Alert.ts"
import type { DailySpendRule, KeyBudgetRule, UnchargedRule } from "./AlertSettings.ts"

/** Days with spend that it takes to say what is usual. */
const leastDays = 3

const usd = (amount: Picodollars): string => `$${toUsd(amount).toFixed(2)}`

/** How an alert names a key. It has no more of its hash than tells it from others. */
export const keySubject = ({ id, name }: Pick<KeyRecord, "id" | "name">): AlertSubject => ({
  kind: "key",
  id: id.slice(0, 16),
  name,
})

/** The highest of the rule's percentages that a key has reached; `undefined`: none. `now`: Unix milliseconds. */
export const keyBudgetAlert = (
  { enabled, percent }: KeyBudgetRule,
  key: Pick<KeyRecord, "id" | "name" | "limit" | "limitReset">,
  spend: Spend,
  now: number,
): Alert | undefined => {
  const { limit, limitReset } = key
  if (!enabled || limit === null || limit <= 0n) return undefined
  const spent = spentInWindow(spend, limitReset)
  const reached = percent.filter((each) => spent * 100n >= limit * BigInt(each))
  if (reached.length === 0) return undefined
  const highest = Math.max(...reached)
  const start = limitReset === null ? null : windowStart(limitReset, now)
  const window = start === null ? "total" : `${limitReset}:${dateOf(start)}`
  const next = nextReset(limitReset, now)
  const until = next === null ? "" : `, which begins anew on ${dateOf(next)}`
  return {
    rule: "key_budget",
    subject: keySubject(key),
    severity: highest >= 100 ? "critical" : "warning",
    value: toUsd(spent),
    threshold: toUsd((limit * BigInt(highest)) / 100n),
    unit: "usd",
    since: now,
    text: `the key "${key.name}" has spent ${usd(spent)}, ${highest} % or more of its limit of ${usd(limit)}${until}`,
    // Another limit is another budget.
    period: `${window}:${limit}:${highest}`,
  }
}

const installation: AlertSubject = { kind: "installation", id: "all", name: "this installation" }

const totalOf = (sums: ReadonlyArray<DaySum>, amount: (sum: DaySum) => Picodollars): Picodollars =>
  sums.reduce((total, sum) => total + amount(sum), 0n)

/** The median of the days that have cost something; `undefined`: there are too few of them. `sums`: of days that are over. */
export const usualSpend = (sums: ReadonlyArray<DaySum>): Picodollars | undefined => {
  const byDay = new Map<number, Picodollars>()
  for (const { day, cost } of sums) byDay.set(day, (byDay.get(day) ?? 0n) + cost)
  const costs = [...byDay.values()].filter((cost) => cost > 0n).toSorted((a, b) => (a < b ? -1 : a > b ? 1 : 0))
  if (costs.length < leastDays) return undefined
  const upper = costs[Math.floor(costs.length / 2)] ?? 0n
  const lower = costs[Math.floor((costs.length - 1) / 2)] ?? 0n
  return (upper + lower) / 2n
}

/** Nobody spends more, and a larger number may be infinite in other units. USD. */
const mostUsd = 1e12

const inPicodollars = (amount: number): Picodollars =>
  BigInt(Math.round(Math.min(amount, mostUsd) * 1e6)) * (picodollarsPerUsd / 1_000_000n)

/** `today`: the sums of the UTC day of `now`. `usual`: what `usualSpend` says. */
export const dailySpendAlert = (
  { enabled, factor, atLeastUsd }: DailySpendRule,
  today: ReadonlyArray<DaySum>,
  usual: Picodollars | undefined,
  now: number,
): Alert | undefined => {
  if (!enabled || usual === undefined) return undefined
  const spent = totalOf(today, ({ cost }) => cost)
  const threshold = Math.max(toUsd(usual) * factor, atLeastUsd)
  if (spent < inPicodollars(threshold)) return undefined
  return {
    rule: "daily_spend",
    subject: installation,
    severity: "warning",
    value: toUsd(spent),
    threshold,
    unit: "usd",
    since: now,
    text: `today's spend is ${usd(spent)}; ${usd(usual)} is usual for a whole day`,
    period: dateOf(windowStart("daily", now)),
  }
}

/** What the hosts charge of a day that no key pays, as a share. `today`: the sums of the UTC day of `now`. */
export const unchargedAlert = (
  { enabled, share, atLeastUsd }: UnchargedRule,
  today: ReadonlyArray<DaySum>,
  now: number,
): Alert | undefined => {
  if (!enabled) return undefined
  const upstream = totalOf(today, ({ upstreamCost }) => upstreamCost)
  const uncharged = totalOf(today, ({ cost, upstreamCost }) => (upstreamCost > cost ? upstreamCost - cost : 0n))
  const part = upstream === 0n ? 0 : toUsd(uncharged) / toUsd(upstream)
  if (uncharged === 0n || uncharged < inPicodollars(atLeastUsd) || part < share) return undefined
  const [worst] = today.toSorted((a, b) => Number(b.upstreamCost - b.cost - (a.upstreamCost - a.cost)))
  return {
    rule: "uncharged_cost",
    subject: installation,
    severity: "warning",
    value: part,
    threshold: share,
    unit: "share",
    since: now,
    text: `of ${usd(upstream)} that hosts charge for today, no key pays ${usd(uncharged)}; most of it is of ${worst?.host}`,
    period: dateOf(windowStart("daily", now)),
  }
}
