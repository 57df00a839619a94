/** Translates errors of the database. */
import { StorageUnavailable } from "../services/ledger.ts"

const causes = function* (error: unknown): Generator<Error> {
  for (let at = error; at instanceof Error; at = at.cause) yield at
}

/** SQLite's code of an error, such as SQLITE_CANTOPEN_ISDIR, from anywhere in the chain of causes. */
export const sqliteCode = (error: unknown): string | undefined => {
  for (const cause of causes(error)) {
    if ("code" in cause && typeof cause.code === "string" && cause.code.startsWith("SQLITE_")) return cause.code
  }
  return undefined
}

/** Whether the database refused the values. Then a retry cannot succeed. */
const isRefusal = (error: unknown): boolean => sqliteCode(error)?.startsWith("SQLITE_CONSTRAINT") === true

export const unavailable = (error: unknown): StorageUnavailable => {
  if (error instanceof StorageUnavailable) return error
  const root = [...causes(error)].at(-1)
  return new StorageUnavailable({ reason: root?.message ?? String(error), refused: isRefusal(error) })
}
