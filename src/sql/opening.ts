/** How a database is opened. Apart from what opens it, so that the package's types need none of the drivers' types. */
import type * as Redacted from "effect/Redacted"

export interface SqliteOpening {
  /** Relative to the working directory until it reaches the thread. */
  readonly path: string
  /** `full` survives a loss of power, `process` only the death of the process. */
  readonly durability: "full" | "process"
}

export interface PostgresOpening {
  /** `postgres://user:password@host:port/database`, with the parameters of libpq such as `sslmode`. */
  readonly url: Redacted.Redacted
  /** `full`: a commit survives a loss of power of the server. `process`: it survives the end of this process. */
  readonly durability: "full" | "process"
  /**
   * A folder of this machine for the rows that the server does not take in time (`sql/spool/withSpool.ts`). Without one they wait in
   * memory, and their callers get an error.
   */
  readonly spoolFolder?: string
}
