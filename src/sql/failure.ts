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

/** The error that PostgreSQL sent, from anywhere in the chain of causes, with its SQLSTATE code (five characters). */
const serverError = (error: unknown): (Error & { readonly code: string }) | undefined => {
  for (const cause of causes(error)) {
    // Only errors that the server sent have a severity.
    if ("severity" in cause && hasCode(cause)) return cause
  }
  return undefined
}

const hasCode = (error: Error): error is Error & { readonly code: string } =>
  "code" in error && typeof error.code === "string"

/** The SQLSTATE code of an error, from anywhere in the chain of causes. */
export const sqlState = (error: unknown): string | undefined => serverError(error)?.code

/** The session may not write: its server was demoted or set to read-only. */
export const readOnly = "25006"

/**
 * Whether the session refused a statement before doing anything: `readOnly`, or a prepared statement that the session
 * has lost (26000), already has (42P05) or can no longer run. Another session may accept the statement.
 */
const isRefusedBySession = (error: object): boolean => {
  if (!("code" in error)) return false
  const { code } = error
  if (code === "0A000") return "routine" in error && error.routine === "RevalidateCachedQuery"
  return code === readOnly || code === "26000" || code === "42P05"
}

/**
 * Whether a PostgreSQL session that reports `error` is unusable. Besides `isRefusedBySession`, these are broken
 * connections (class 08), transactions that stay failed or that the server ended (25P02 to 25P04), and servers that
 * stop or end the session (57P01 to 57P05). Missing permissions (42501) are not included, because each statement
 * checks them anew.
 */
export const endsSession = (error: Error): boolean =>
  isRefusedBySession(error) || (hasCode(error) && /^(?:08|25P0[234]|57P0[1-5])/.test(error.code))

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
  const sent = serverError(error)
  return new StorageUnavailable({
    reason: reasonOf(error),
    refused: isRefusal(error),
    isDiskFull: isDiskFull(error),
    ...(sent !== undefined && isRefusedBySession(sent) && { refusedBy: "session" }),
  })
}
