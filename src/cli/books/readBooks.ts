/** Reads the database of the configuration of this directory, also while a gateway uses it. */
import type { SqlClient } from "@effect/sql/SqlClient"
import * as Effect from "effect/Effect"
import { sectionHere } from "../../config/loadConfig.ts"
import { withProgressBeside } from "../../process/withProgress.ts"
import { StorageUnavailable } from "../../services/storage/StorageUnavailable.ts"
import type { StorageNotOpened } from "../../sql/StorageNotOpened.ts"
import type { Refusal } from "../../sql/sqlite/sqliteFile.ts"
import { openToRead } from "../../sql/sqlite/sqliteFile.ts"
import { badConfig, CommandFailed, exitCodes } from "../CommandFailed.ts"
import { plain } from "../output.ts"

type Read<A> = (sql: SqlClient) => Effect.Effect<A, StorageUnavailable>

export const configuredStorage = Effect.mapError(sectionHere("storage"), ({ problems }) => badConfig(problems))

const codes: Readonly<Record<Refusal["reason"] | StorageNotOpened["reason"], CommandFailed["code"]>> = {
  "in-use": exitCodes.cannotWrite,
  unreadable: exitCodes.noFile,
  unwritable: exitCodes.cannotWrite,
  unreachable: exitCodes.noGateway,
  misconfigured: exitCodes.badConfig,
  corrupt: exitCodes.badFile,
  altered: exitCodes.badFile,
  newer: exitCodes.badFile,
  older: exitCodes.badFile,
}

export const storageFailed = (failure: Refusal | StorageNotOpened | StorageUnavailable): CommandFailed => {
  const code = failure instanceof StorageUnavailable ? exitCodes.badFile : codes[failure.reason]
  return new CommandFailed({ code, message: plain(failure.message) })
}

/** Runs `read` over the database as it is at one moment. Nothing is written. */
export const reading = <A>(read: Read<A>): Effect.Effect<A, CommandFailed> =>
  withProgressBeside((say) => {
    say("reading the database")
    return readingNow(read)
  })

const readingNow = <A>(read: Read<A>): Effect.Effect<A, CommandFailed> =>
  Effect.gen(function* () {
    const storage = yield* configuredStorage
    if (storage._tag === "Sqlite")
      return yield* openToRead(storage.path).pipe(Effect.flatMap(read), Effect.scoped, Effect.mapError(storageFailed))
    if (storage._tag === "Memory") {
      const message = "storage: memory: ends with the gateway, so there is nothing to read"
      return yield* new CommandFailed({ code: exitCodes.badConfig, message })
    }
    const { readDatabase } = yield* Effect.promise(() => import("../../sql/postgres/postgresRead.ts"))
    return yield* Effect.mapError(readDatabase(storage.url, read), storageFailed)
  })
