import { expect, test } from "bun:test"
import type { SqlClient } from "@effect/sql/SqlClient"
import * as Effect from "effect/Effect"
import type { IdempotencyRecord } from "../../../src/services/storage/Storage.ts"
import { openDatabase } from "../../../src/sql/postgres/postgresDatabase.ts"
import { clientOf, openPool } from "../../../src/sql/postgres/postgresPool.ts"
import { makeIdempotencyRepository } from "../../../src/sql/repositories/idempotencyRepository.ts"
import { describePostgres, execute, makeDatabase, redactedUrlOf } from "../../support/storage/postgres.ts"

const record = (requestId: string): IdempotencyRecord => ({
  ...{ id: "i1", bodyHash: "b1", requestId, leaseEnd: 5000, expiresAt: 86_400_000 },
  ...{ generationId: null, headers: null, body: null },
})

/** A client that runs `before` in front of every statement that begins with SELECT, and `after` behind it. */
const meddling = (sql: SqlClient, before: Effect.Effect<unknown>, after: Effect.Effect<unknown>): SqlClient =>
  new Proxy(sql, {
    apply: (client, self, [template, ...values]) => {
      const statement = Reflect.apply(client, self, [template, ...values])
      const isSelect = Array.isArray(template) && String(template[0]).startsWith("SELECT")
      return isSelect ? Effect.zipRight(before, Effect.zipLeft(statement, after)) : statement
    },
  })

describePostgres("a claim whose record is released while it is read", () => {
  const claimed = async (after?: IdempotencyRecord) => {
    const database = await makeDatabase()
    const program = Effect.gen(function* () {
      const connecting = { url: redactedUrlOf(database), durability: "full" } as const
      yield* openDatabase(connecting)
      const patience = { connectMs: 20_000, statementMs: 20_000, silenceMs: 0, appendMs: 0 }
      const sql = yield* clientOf(yield* openPool(connecting, patience, { name: "claims", max: 2 }))
      const plain = makeIdempotencyRepository(sql)
      yield* plain.claim(record("req_1"), 0)
      const released = Effect.orDie(plain.release(record("req_1")))
      const other = after === undefined ? Effect.void : Effect.orDie(plain.claim(after, 0))
      const found = yield* makeIdempotencyRepository(meddling(sql, released, other)).claim(record("req_2"), 0)
      const rows = yield* Effect.promise(() => execute(database, "SELECT request_id FROM headgate.idempotency_keys"))
      return [found?.requestId, rows[0]?.rows]
    })
    return Effect.runPromise(Effect.scoped(program))
  }

  test("succeeds", async () => {
    expect(await claimed()).toEqual([undefined, [{ request_id: "req_2" }]])
  })

  test("sees the record of another that came meanwhile", async () => {
    expect(await claimed(record("req_3"))).toEqual(["req_3", [{ request_id: "req_3" }]])
  })
})
