/**
 * A process that restores, for tests that kill it: the copy of its first argument into the database of the second one. It kills
 * itself before the change of a file with the number of the third argument, from 0; exits with 0 where there are fewer.
 */
import * as Effect from "effect/Effect"
import { restoreDatabase } from "../../../src/sql/sqlite/restore.ts"

const [, , file = "", database = "", at = ""] = process.argv

let step = 0
const killAt = () => {
  if (step === Number(at)) process.kill(process.pid, "SIGKILL")
  step += 1
}
await Effect.runPromise(restoreDatabase({ file, database, force: true }, killAt))
