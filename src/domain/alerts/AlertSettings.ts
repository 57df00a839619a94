/** Which rules hold, and at what thresholds: `alerts` of the configuration. */
import type * as Redacted from "effect/Redacted"
import type { AlertRule } from "./Alert.ts"

interface Rule {
  readonly enabled: boolean
}

export interface KeyBudgetRule extends Rule {
  /** Percent of the limit of a key. */
  readonly percent: ReadonlyArray<number>
}

export interface DailySpendRule extends Rule {
  /** Times the usual spend of a day. */
  readonly factor: number
  /** How many days before today say what is usual. */
  readonly days: number
  /** USD. */
  readonly atLeastUsd: number
}

export interface UnchargedRule extends Rule {
  /** Of what the providers charge for a day, 0 to 1. */
  readonly share: number
  /** USD. */
  readonly atLeastUsd: number
}

export interface ErrorRateRule extends Rule {
  /** Of the requests of five minutes, 0 to 1. */
  readonly share: number
  readonly minRequests: number
}

export interface BreakerRule extends Rule {
  readonly minutes: number
}

export interface LedgerRule extends Rule {
  readonly seconds: number
}

export interface DiskRule extends Rule {
  /** MiB that should be free. */
  readonly freeMiB: number
}

export interface CertificateRule extends Rule {
  /** Days before its end. */
  readonly days: ReadonlyArray<number>
}

export interface WebhookSettings {
  readonly url: Redacted.Redacted
  /** Signs what is sent; `null`: it is not signed. */
  readonly secret: Redacted.Redacted | null
  readonly format: "json" | "slack"
  readonly network: "public" | "private"
  /** The rules whose alerts it gets; `null`: all. */
  readonly rules: ReadonlyArray<AlertRule> | null
}

export interface AlertSettings {
  readonly keyBudget: KeyBudgetRule
  readonly dailySpend: DailySpendRule
  readonly unchargedCost: UnchargedRule
  readonly accountRefused: Rule
  readonly errorRate: ErrorRateRule
  readonly breakerOpen: BreakerRule
  readonly ledgerBehind: LedgerRule
  readonly diskSpace: DiskRule
  readonly certificateEnds: CertificateRule
  readonly webhooks: ReadonlyArray<WebhookSettings>
}
