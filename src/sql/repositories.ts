/**
 * All repositories over one database. A new one needs an interface in `services/Storage.ts`, a
 * file beside `KeyRepository.ts`, and a line in the interface and in the function below.
 */
import type { SqlClient } from "@effect/sql/SqlClient"
import type * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import type { FreeRequestRepository, HostStatsRepository, KeyRepository, Storage } from "../services/Storage.ts"
import { makeFreeRequestRepository } from "./FreeRequestRepository.ts"
import { makeHostStatsRepository } from "./HostStatsRepository.ts"
import { makeKeyRepository } from "./KeyRepository.ts"
import { encodeRows, makeLedgerRepository, type SqlLedger } from "./LedgerRepository.ts"

/** The repositories where the database is: in its thread, or in this process for a database in memory. */
export interface SqlRepositories {
  readonly keys: KeyRepository
  readonly freeRequests: FreeRequestRepository
  readonly ledger: SqlLedger
  readonly hostStats: HostStatsRepository
}

export const makeRepositories = (sql: SqlClient, append: SqlLedger["append"]): SqlRepositories => ({
  keys: makeKeyRepository(sql),
  freeRequests: makeFreeRequestRepository(sql),
  ledger: makeLedgerRepository(sql, append),
  hostStats: makeHostStatsRepository(sql),
})

/** The `Storage` service over repositories in either place. */
export const storageOf = (
  installation: string,
  { ledger, ...others }: SqlRepositories,
): Context.Tag.Service<typeof Storage> => ({
  installation,
  ...others,
  ledger: {
    ...ledger,
    append: (rows) => (rows.length === 0 ? Effect.void : ledger.append(encodeRows(rows))),
  },
})
