/** The installation's own id, which a database gets once. */
import { SqlClient } from "@effect/sql/SqlClient"
import * as Effect from "effect/Effect"

/** Reads the id, or makes it. Fails where the database cannot be written. */
export const installationId = Effect.gen(function* () {
  const sql = yield* SqlClient
  yield* sql`INSERT INTO installation (only_row, id) VALUES (1, ${crypto.randomUUID()}) ON CONFLICT DO NOTHING`
  const [installation] = yield* sql<{ readonly id: string }>`SELECT id FROM installation`
  return installation === undefined ? yield* Effect.dieMessage("the installation has lost its id") : installation.id
})
