/** Translates errors of the database. */
import { StorageUnavailable } from "../services/storage/StorageUnavailable.ts"

const causes = function* (error: unknown): Generator<Error> {
  for (let at = error; at instanceof Error; at = at.cause) yield at
}

/** Whether there is such an error in the chain of causes. */
export const isCausedBy = (error: unknown, is: (cause: Error) => boolean): boolean => {
  for (const cause of causes(error)) if (is(cause)) return true
  return false
}

/** SQLite's code of an error, such as SQLITE_CANTOPEN_ISDIR, from anywhere in the chain of causes. */
export const sqliteCode = (error: unknown): string | undefined => {
  for (const cause of causes(error)) {
    if ("code" in cause && typeof cause.code === "string" && cause.code.startsWith("SQLITE_")) return cause.code
  }
  return undefined
}

/** PostgreSQL's code of an error (SQLSTATE: five characters), from anywhere in the chain of causes. */
export const sqlState = (error: unknown): string | undefined => {
  for (const cause of causes(error)) {
    // Only errors that the server sent have a severity.
    if ("severity" in cause && "code" in cause && typeof cause.code === "string") return cause.code
  }
  return undefined
}

/**
 * Whether the database refused the values. Then a retry cannot succeed. PostgreSQL's classes 22 and 23: data exceptions
 * and violated constraints.
 */
export const isRefusal = (error: unknown): boolean =>
  sqliteCode(error)?.startsWith("SQLITE_CONSTRAINT") === true || /^2[23]/.test(sqlState(error) ?? "")

/** Whether a sum does not fit into 64 bits, or into its column. For SUM, SQLite has a message and no code. */
export const isOverflow = (error: unknown): boolean =>
  sqlState(error) === "22003" || isRefusal(error) || reasonOf(error) === "integer overflow"

/** Whether SQLite found the disk full. */
export const isDiskFull = (error: unknown): boolean =>
  error instanceof StorageUnavailable ? error.isDiskFull === true : sqliteCode(error) === "SQLITE_FULL"

/** What the innermost cause says. */
export const reasonOf = (error: unknown): string => {
  const root = [...causes(error)].at(-1)
  // A connection that fails on all addresses of a name.
  const first: unknown = root instanceof AggregateError ? root.errors[0] : root
  return first instanceof Error ? first.message : String(error)
}

export const unavailable = (error: unknown): StorageUnavailable => {
  if (error instanceof StorageUnavailable) return error
  return new StorageUnavailable({ reason: reasonOf(error), refused: isRefusal(error), isDiskFull: isDiskFull(error) })
}
