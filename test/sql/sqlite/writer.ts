/**
 * A process with a ledger, for tests that kill it. It appends batches to the file of its first argument, and writes a
 * line for each durable batch to stdout. With a count as second argument it stops after so many batches, closes
 * nothing, and has to exit by itself.
 */
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Layer from "effect/Layer"
import * as Scope from "effect/Scope"
import { Storage } from "../../../src/services/storage/Storage.ts"
import { layer } from "../../../src/sql/sqlite/SqliteStorage.ts"
import { sampleRow } from "../samples.ts"

const [, , path = "", count = "Infinity"] = process.argv

const scope = await Effect.runPromise(Scope.make())
const built = Layer.buildWithScope(layer({ path, durability: "process" }), scope)
const exit = await Effect.runPromiseExit(built)
if (Exit.isFailure(exit)) {
  process.stderr.write(String(exit.cause))
  process.exit(1)
}

for (let batch = 0; batch < Number(count); batch++) {
  const ids = Array.from({ length: 1 + (batch % 5) }, (_, at) => `${process.pid}-${batch}-${at}`)
  const append = Effect.flatMap(Storage, (storage) =>
    storage.ledger.append(ids.map((id) => sampleRow(id, { cost: 7n }))),
  )
  await Effect.runPromise(Effect.provide(append, exit.value))
  process.stdout.write(`${ids.join(" ")}\n`)
}
