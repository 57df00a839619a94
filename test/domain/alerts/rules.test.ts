/** Each rule at its threshold, and just before it. docs/alerts.md */
import { expect, test } from "bun:test"
import type { Alert } from "../../../src/domain/alerts/Alert.ts"
import {
  accountAlert,
  breakerAlert,
  certificateAlert,
  diskAlert,
  errorRateAlert,
  ledgerAlert,
} from "../../../src/domain/alerts/conditions.ts"
import { dailySpendAlert, keyBudgetAlert, unchargedAlert, usualSpend } from "../../../src/domain/alerts/spending.ts"
import type { DaySum } from "../../../src/domain/money/activity.ts"
import { sampleKey } from "../../sql/samples.ts"

const now = Date.UTC(2026, 10, 24, 12)
const today = Date.UTC(2026, 10, 24)
const dayMs = 86_400_000
const usd = 1_000_000_000_000n

const spent = (total: bigint, monthly = total) => ({ total, daily: 0n, weekly: 0n, monthly })
const key = sampleKey("k".repeat(64), { name: "ci", limit: 10n * usd, limitReset: "monthly" })
const budget = { enabled: true, percent: [80, 100] }

const sum = (day: number, cost: bigint, upstreamCost = cost): DaySum => ({
  day,
  key: "",
  appUrl: "",
  appTitle: "",
  model: "acme/small",
  host: "acme/eu",
  provider: "acme",
  requests: 1,
  promptTokens: 1,
  completionTokens: 1,
  cachedTokens: 0,
  cacheWriteTokens: 0,
  reasoningTokens: 0,
  cost,
  upstreamCost,
})

const spend = { enabled: true, factor: 2, days: 14, atLeastUsd: 10 }
const uncharged = { enabled: true, share: 0.1, atLeastUsd: 1 }
const errors = { enabled: true, share: 0.2, minRequests: 50 }
const breaker = { host: "acme/eu", model: "acme/small", reason: "unreachable" } as const
const refusal = { provider: "acme", firstAt: now - 5, latestAt: now - 5 }
const ended = (days: number) => certificateAlert({ enabled: true, days: [14, 3] }, now + days * dayMs, now)

/** Name, the alert at the threshold, and what is read just before it. */
const cases: ReadonlyArray<readonly [string, Alert | undefined, Alert | undefined]> = [
  [
    "key_budget",
    keyBudgetAlert(budget, key, spent(8n * usd), now),
    keyBudgetAlert(budget, key, spent(8n * usd - 1n), now),
  ],
  [
    "key_budget",
    keyBudgetAlert(budget, { ...key, limitReset: null }, spent(8n * usd, 0n), now),
    keyBudgetAlert(budget, key, spent(80n * usd, 7n * usd), now),
  ],
  [
    "daily_spend",
    dailySpendAlert(spend, [sum(today, 12n * usd), sum(today, 8n * usd)], 10n * usd, now),
    dailySpendAlert(spend, [sum(today, 20n * usd - 1_000_000_000n)], 10n * usd, now),
  ],
  [
    "daily_spend",
    dailySpendAlert(spend, [sum(today, 10n * usd)], usd, now),
    dailySpendAlert(spend, [sum(today, 9n * usd)], usd, now),
  ],
  [
    "uncharged_cost",
    unchargedAlert(uncharged, [sum(today, 9n * usd, 10n * usd)], now),
    unchargedAlert(uncharged, [sum(today, 9n * usd, 10n * usd), sum(today, usd)], now),
  ],
  [
    "uncharged_cost",
    unchargedAlert(uncharged, [sum(today, 0n, usd)], now),
    unchargedAlert(uncharged, [sum(today, 0n, usd - 1_000_000_000n)], now),
  ],
  [
    "error_rate",
    errorRateAlert(errors, { requests: 50, failed: 10 }, now),
    errorRateAlert(errors, { requests: 50, failed: 9 }, now),
  ],
  [
    "error_rate",
    errorRateAlert({ ...errors, share: 0 }, { requests: 50, failed: 1 }, now),
    errorRateAlert(errors, { requests: 49, failed: 49 }, now),
  ],
  [
    "account_refused",
    accountAlert({ enabled: true }, refusal, now + 3_599_000),
    accountAlert({ enabled: true }, refusal, now + 3_600_000),
  ],
  [
    "breaker_open",
    breakerAlert({ enabled: true, minutes: 5 }, { ...breaker, openMs: 300_000 }, now),
    breakerAlert({ enabled: true, minutes: 5 }, { ...breaker, openMs: 299_000 }, now),
  ],
  [
    "ledger_behind",
    ledgerAlert({ enabled: true, seconds: 60 }, now - 60_000, "away", now),
    ledgerAlert({ enabled: true, seconds: 60 }, now - 59_000, "away", now),
  ],
  [
    "disk_space",
    diskAlert({ enabled: true, freeMiB: 1024 }, "box", 1_073_741_823, now),
    diskAlert({ enabled: true, freeMiB: 1024 }, "box", 1_073_741_824, now),
  ],
  ["certificate_ends", ended(14), ended(14.01)],
  ["certificate_ends", ended(-1), certificateAlert({ enabled: true, days: [14] }, undefined, now)],
]

test.each(cases)("%s holds at its threshold, and not before", (rule, at, before) => {
  expect(at).toMatchObject({ rule })
  expect(before).toBeUndefined()
})

test("a key has one alert for each percentage, window and limit, of the highest that it has reached", () => {
  const periods = [
    keyBudgetAlert(budget, key, spent(8n * usd), now),
    keyBudgetAlert(budget, key, spent(9n * usd), now + 1000),
    keyBudgetAlert(budget, key, spent(11n * usd), now),
    keyBudgetAlert(budget, { ...key, limit: 11n * usd }, spent(9n * usd), now),
    keyBudgetAlert(budget, key, spent(8n * usd), now + 7 * dayMs),
  ].map((alert) => alert?.period)
  expect(periods[0]).toBe(`monthly:2026-11-01:${10n * usd}:80`)
  expect(periods[1]).toBe(periods[0])
  expect(new Set(periods).size).toBe(4)
})

test("of a key's hash, an alert has a part alone", () => {
  const alert = keyBudgetAlert(budget, key, spent(8n * usd), now)
  expect(JSON.stringify(alert)).not.toContain(key.id)
  expect(alert?.subject).toEqual({ kind: "key", id: "k".repeat(16), name: "ci" })
})

test("what is usual is the median of the days with spend, of three at least", () => {
  const days = [5n, 1n, 0n, 3n].map((cost, at) => sum(today - (at + 1) * dayMs, cost))
  expect(usualSpend(days)).toBe(3n)
  expect(usualSpend([...days, sum(today - 9 * dayMs, 4n)])).toBe(3n)
  expect(usualSpend([...days, sum(today - dayMs, 7n)])).toBe(3n)
  expect(usualSpend(days.slice(0, 3))).toBeUndefined()
  expect(dailySpendAlert(spend, [sum(today, 1000n * usd)], undefined, now)).toBeUndefined()
})

test("a rule that is off has no alert", () => {
  const off = { enabled: false }
  expect([
    keyBudgetAlert({ ...budget, ...off }, key, spent(11n * usd), now),
    dailySpendAlert({ ...spend, ...off }, [sum(today, 1000n * usd)], usd, now),
    unchargedAlert({ ...uncharged, ...off }, [sum(today, 0n, 9n * usd)], now),
    errorRateAlert({ ...errors, ...off }, { requests: 50, failed: 50 }, now),
    accountAlert(off, refusal, now),
    breakerAlert({ ...off, minutes: 0 }, { ...breaker, openMs: 1 }, now),
    ledgerAlert({ ...off, seconds: 0 }, now - 1, "away", now),
    diskAlert({ ...off, freeMiB: 1024 }, "box", 0, now),
    certificateAlert({ ...off, days: [14] }, now, now),
  ]).toEqual(Array.from({ length: 9 }, () => undefined))
})
