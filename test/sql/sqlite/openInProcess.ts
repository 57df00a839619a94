/**
 * `Storage` in a file without its thread, which takes a sixth of a second to start. The thread's code runs in this
 * process.
 */
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import { Storage } from "../../../src/services/storage/Storage.ts"
import { runToEnd } from "../../../src/sql/calls.ts"
import type { SqliteOpening } from "../../../src/sql/opening.ts"
import { storageOf } from "../../../src/sql/repositories/repositories.ts"
import { openFile } from "../../../src/sql/sqlite/sqliteFile.ts"

export const openInProcess = (opening: SqliteOpening) =>
  Layer.scoped(
    Storage,
    Effect.map(openFile(opening), ({ installation, repositories }) => storageOf(installation, runToEnd(repositories))),
  )
