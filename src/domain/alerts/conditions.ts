/** Rules about the gateway and what it depends on: hosts, the database, the disk. Pure. */
import type { HostReason } from "../failures/HostReason.ts"
import { dayMs } from "../keys/limitWindows.ts"
import { dateOf } from "../money/activity.ts"
import type { Alert, AlertSubject } from "./Alert.ts"
import type {
  AlertSettings,
  BreakerRule,
  CertificateRule,
  DiskRule,
  ErrorRateRule,
  LedgerRule,
} from "./AlertSettings.ts"

const percent = (part: number): string => `${Math.round(part * 100)} %`

/** Requests of the last minutes, and those of them that failed at hosts or in the gateway. What a caller or a rule of the operator ended is in neither. */
export interface FailureCounts {
  readonly requests: number
  readonly failed: number
}

export const errorRateAlert = (
  { enabled, share, minRequests }: ErrorRateRule,
  { requests, failed }: FailureCounts,
  now: number,
): Alert | undefined => {
  if (!enabled || failed === 0 || requests < minRequests || failed / requests < share) return undefined
  return {
    rule: "error_rate",
    subject: { kind: "installation", id: "all", name: "this installation" },
    severity: "critical",
    value: failed / requests,
    threshold: share,
    unit: "share",
    since: now,
    text: `${failed} of ${requests} requests (${percent(failed / requests)}) of the last 5 minutes failed at hosts or in the gateway`,
    period: null,
  }
}

/** For how long a refusal counts, milliseconds. */
const refusalMs = 3_600_000

/** A provider that refused our account. */
export interface Refusal {
  readonly provider: string
  /** Unix milliseconds of the first refusal and the latest one. */
  readonly firstAt: number
  readonly latestAt: number
}

export const isRefusalOver = ({ latestAt }: Refusal, now: number): boolean => now - latestAt >= refusalMs

export const accountAlert = (
  { enabled }: AlertSettings["accountRefused"],
  refusal: Refusal,
  now: number,
): Alert | undefined => {
  if (!enabled || isRefusalOver(refusal, now)) return undefined
  const { provider, firstAt } = refusal
  return {
    rule: "account_refused",
    subject: { kind: "provider", id: provider, name: provider },
    severity: "critical",
    value: 1,
    threshold: 1,
    unit: "requests",
    since: firstAt,
    text: `the provider "${provider}" refuses our account: its key is wrong, or has no credit left`,
    period: null,
  }
}

/** A host whose circuit breaker is not closed. */
export interface OpenBreaker {
  readonly host: string
  readonly model: string
  /** The failure that opened it. */
  readonly reason: HostReason
  /** Milliseconds since it opened, probes that failed included. */
  readonly openMs: number
}

export const breakerAlert = (
  { enabled, minutes }: BreakerRule,
  { host, model, reason, openMs }: OpenBreaker,
  now: number,
): Alert | undefined => {
  const openSeconds = Math.round(openMs / 1000)
  if (!enabled || openSeconds < minutes * 60) return undefined
  return {
    rule: "breaker_open",
    subject: { kind: "host", id: `${model} ${host}`, name: `${host} (${model})` },
    severity: "warning",
    value: openSeconds,
    threshold: minutes * 60,
    unit: "seconds",
    since: now - openMs,
    text: `the circuit breaker of the host "${host}" for ${model} is open (${reason}): it gets no calls but probes`,
    period: null,
  }
}

/** `since`: from when on the ledger took no rows, Unix milliseconds; `undefined`: it takes them. `cause`: why, in plain words. */
export const ledgerAlert = (
  { enabled, seconds }: LedgerRule,
  since: number | undefined,
  cause: string,
  now: number,
): Alert | undefined => {
  if (!enabled || since === undefined || now - since < seconds * 1000) return undefined
  return {
    rule: "ledger_behind",
    subject: { kind: "database", id: "ledger", name: "the ledger" },
    severity: "critical",
    value: Math.round((now - since) / 1000),
    threshold: seconds,
    unit: "seconds",
    since,
    text: `the ledger takes no rows, and no paid request starts: ${cause}`,
    period: null,
  }
}

/** `machine`: whose disk it is. `freeBytes` of it; `undefined`: it is not known. */
export const diskAlert = (
  { enabled, freeMiB }: DiskRule,
  machine: string,
  freeBytes: number | undefined,
  now: number,
): Alert | undefined => {
  const threshold = freeMiB * 1_048_576
  if (!enabled || freeBytes === undefined || freeBytes >= threshold) return undefined
  return {
    rule: "disk_space",
    subject: { kind: "machine", id: machine, name: machine },
    severity: "critical",
    value: freeBytes,
    threshold,
    unit: "bytes",
    since: now,
    text: `the disk of the database on ${machine} has ${Math.floor(freeBytes / 1_048_576)} MiB left`,
    period: null,
  }
}

const database: AlertSubject = { kind: "database", id: "certificate", name: "the database" }

/** `endsAt`: of the certificate of the database's server, Unix milliseconds; `undefined`: it has none, or none is known. */
export const certificateAlert = (
  { enabled, days }: CertificateRule,
  endsAt: number | undefined,
  now: number,
): Alert | undefined => {
  if (!enabled || endsAt === undefined) return undefined
  const left = (endsAt - now) / dayMs
  const reached = days.filter((each) => left <= each)
  if (reached.length === 0) return undefined
  const nearest = Math.min(...reached)
  const when = left <= 0 ? `ended on ${dateOf(endsAt)}` : `ends on ${dateOf(endsAt)}`
  return {
    rule: "certificate_ends",
    subject: database,
    severity: left <= 3 ? "critical" : "warning",
    value: Math.max(0, Math.floor(left * 10) / 10),
    threshold: nearest,
    unit: "days",
    since: now,
    text: `the certificate of the database's server ${when}`,
    period: `${dateOf(endsAt)}:${nearest}`,
  }
}
