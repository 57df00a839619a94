/**
 * All repositories, over SQLite and PostgreSQL. A new one needs an interface in `services/storage/Storage.ts`, a file beside
 * `keyRepository.ts`, and a line in `SqlRepositories` and in `sharedRepositories`.
 */
import type { SqlClient } from "@effect/sql/SqlClient"
import * as Effect from "effect/Effect"
import type { AlertRepository } from "../../services/storage/alerts.ts"
import type { AnalyticsRepository } from "../../services/storage/analytics.ts"
import type { LedgerRow } from "../../services/storage/ledger.ts"
import type {
  ActivityRepository,
  AuditRepository,
  DataAtRest,
  FreeRequestRepository,
  HostStatsRepository,
  IdempotencyRepository,
  KeyRepository,
  LedgerRepository,
  PriceRepository,
} from "../../services/storage/Storage.ts"
import type { StorageUnavailable } from "../../services/storage/StorageUnavailable.ts"
import type { SessionRepository } from "../../services/storage/sessions.ts"
import { makeActivityRepository } from "./activityRepository.ts"
import { makeAlertRepository } from "./alertRepository.ts"
import { makeAnalyticsRepository } from "./analyticsRepository.ts"
import { makeAuditRepository } from "./auditRepository.ts"
import { makeFreeRequestRepository } from "./freeRequestRepository.ts"
import { makeHostStatsRepository } from "./hostStatsRepository.ts"
import { makeIdempotencyRepository } from "./idempotencyRepository.ts"
import { makeJournalRepository, type SqlJournal, withEncodedEntries } from "./journalRepository.ts"
import { makeKeyRepository } from "./keyRepository.ts"
import { ledger, makeLedgerReads } from "./ledgerRepository.ts"
import { makePriceRepository } from "./priceRepository.ts"
import { makeRequestRepository, type SqlRequests, withEncodedRecords } from "./requestRepository.ts"
import { makeSessionRepository } from "./sessionRepository.ts"

/** Rows as one string, which is passed to another thread in a fraction of the time that objects take. */
const encodeRows = (rows: ReadonlyArray<LedgerRow>): string => JSON.stringify(rows.map(ledger.valuesOf))

/** The ledger where its database is: rows arrive as `encodeRows` wrote them. */
export interface SqlLedger extends Omit<LedgerRepository, "append"> {
  readonly append: (rows: string) => Effect.Effect<void, StorageUnavailable>
}

/** The repositories where the database is: in its thread, or in this process for a database in memory. */
export interface SqlRepositories {
  readonly keys: KeyRepository
  readonly sessions: SessionRepository
  readonly audit: AuditRepository
  readonly freeRequests: FreeRequestRepository
  readonly ledger: SqlLedger
  readonly journal: SqlJournal
  readonly activity: ActivityRepository
  readonly analytics: AnalyticsRepository
  readonly hostStats: HostStatsRepository
  readonly prices: PriceRepository
  readonly idempotency: IdempotencyRepository
  readonly alerts: AlertRepository
  readonly requests: SqlRequests
}

/** The repositories that are the same code over either database: all but the ledger, which appends in its own way. */
export const sharedRepositories = (sql: SqlClient, installation: string) => ({
  keys: makeKeyRepository(sql),
  sessions: makeSessionRepository(sql),
  audit: makeAuditRepository(sql),
  freeRequests: makeFreeRequestRepository(sql),
  journal: makeJournalRepository(sql),
  activity: makeActivityRepository(sql, installation),
  analytics: makeAnalyticsRepository(sql),
  hostStats: makeHostStatsRepository(sql),
  prices: makePriceRepository(sql),
  idempotency: makeIdempotencyRepository(sql),
  alerts: makeAlertRepository(sql),
  requests: makeRequestRepository(sql),
})

export const makeRepositories = (
  sql: SqlClient,
  installation: string,
  own: Pick<SqlLedger, "append" | "takesRequests">,
): SqlRepositories => ({
  ...sharedRepositories(sql, installation),
  ledger: { ...makeLedgerReads(sql), ...own },
})

/** The `Storage` service over repositories in either place. */
export const storageOf = (
  installation: string,
  { ledger, journal, requests, ...others }: SqlRepositories,
): DataAtRest => ({
  installation,
  ...others,
  ledger: {
    ...ledger,
    append: (rows) => (rows.length === 0 ? Effect.void : ledger.append(encodeRows(rows))),
  },
  journal: withEncodedEntries(journal),
  requests: withEncodedRecords(requests),
})
