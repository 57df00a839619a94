/**
 * All repositories over one database. Another one (the audit log, say) is an interface in `services/Storage.ts`, a file
 * beside `KeyRepository.ts`, and a line in the interface and in the function below.
 */
import type { SqlClient } from "@effect/sql/SqlClient"
import type * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import type { KeyRepository, Storage } from "../services/Storage.ts"
import { makeKeyRepository } from "./KeyRepository.ts"
import { encodeRows, makeLedgerRepository, type SqlLedger } from "./LedgerRepository.ts"

/** What runs where the database is: beside it in a thread, or in the process for one in memory. */
export interface SqlRepositories {
  readonly keys: KeyRepository
  readonly ledger: SqlLedger
}

export const makeRepositories = (sql: SqlClient, append: SqlLedger["append"]): SqlRepositories => ({
  keys: makeKeyRepository(sql),
  ledger: makeLedgerRepository(sql, append),
})

/** The service over repositories, wherever they run. */
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
