/** A process that copies its database (the first argument) again and again, for a test that kills it while it does. */
import * as Effect from "effect/Effect"
import { makeDatabaseCopies } from "../../../src/sql/sqlite/databaseCopy.ts"

const [, , path = ""] = process.argv

for (;;) await (await Effect.runPromise(makeDatabaseCopies(path))).content.cancel()
