/** What a database's own errors mean to those who use it. */
import { StorageUnavailable } from "../services/ledger.ts"

const causes = function* (error: unknown): Generator<Error> {
  for (let at = error; at instanceof Error; at = at.cause) yield at
}

/** SQLite's name for what went wrong, such as SQLITE_CANTOPEN_ISDIR, from wherever in the chain of causes it is. */
export const sqliteCode = (error: unknown): string | undefined => {
  for (const cause of causes(error)) {
    if ("code" in cause && typeof cause.code === "string" && cause.code.startsWith("SQLITE_")) return cause.code
  }
  return undefined
}

/** The database found the values at fault, and not itself: they will not be taken another time either. */
const isRefusal = (error: unknown): boolean => sqliteCode(error)?.startsWith("SQLITE_CONSTRAINT") === true

export const unavailable = (error: unknown): StorageUnavailable => {
  if (error instanceof StorageUnavailable) return error
  const root = [...causes(error)].at(-1)
  return new StorageUnavailable({ reason: root?.message ?? String(error), refused: isRefusal(error) })
}
