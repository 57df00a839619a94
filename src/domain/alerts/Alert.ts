/** What an alert says: which rule holds for which subject, and since when. Pure data, without secrets. */

export const alertRules = [
  "key_budget",
  "daily_spend",
  "uncharged_cost",
  "account_refused",
  "error_rate",
  "breaker_open",
  "ledger_behind",
  "disk_space",
  "certificate_ends",
] as const

export type AlertRule = (typeof alertRules)[number]

/** What a rule holds for. */
export interface AlertSubject {
  readonly kind: "installation" | "key" | "host" | "provider" | "machine" | "database"
  /** Tells it from others of its kind. Of a key: the first 16 characters of its hash. */
  readonly id: string
  /** For people. */
  readonly name: string
}

export interface Alert {
  readonly rule: AlertRule
  readonly subject: AlertSubject
  readonly severity: "warning" | "critical"
  /** What was read, and what the rule allows, in `unit`. */
  readonly value: number
  readonly threshold: number
  readonly unit: "usd" | "share" | "seconds" | "bytes" | "days" | "requests"
  /** Unix milliseconds: when it began, or was first seen. */
  readonly since: number
  /** One sentence, without a full stop. */
  readonly text: string
  /**
   * What it holds for, such as a day: there is one alert for each. `null`: it is a state, which lasts as long as it is reported, and
   * whose end is told too.
   */
  readonly period: string | null
}

/** Of a state: it began, and it is over. Of any other alert there is only `firing`. */
export type AlertState = "firing" | "resolved"

/** States have periods of so many milliseconds. One that ends and comes back within a period is one alert. */
const statePeriodMs = 600_000

/** The period under which an alert is kept that is reported at `now`, Unix milliseconds. */
export const periodOf = ({ period }: Alert, now: number): string =>
  period ?? new Date(now - (now % statePeriodMs)).toISOString()

/** One text for a subject. */
export const subjectKey = ({ kind, id }: AlertSubject): string => `${kind}:${id}`
