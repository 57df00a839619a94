/** Databases of the versions before keys had addresses, and before there were records, alerts and counts: a start keeps their keys and rows. */
import { Database } from "bun:sqlite"
import { afterAll, describe, expect, test } from "bun:test"
import { mkdtempSync, rmSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import * as Effect from "effect/Effect"
import type * as Layer from "effect/Layer"
import { KeyId, requestIdAt } from "../../src/domain/ids.ts"
import { Storage } from "../../src/services/storage/Storage.ts"
import { restoreDatabase } from "../../src/sql/sqlite/restore.ts"
import { execute, hasPostgres, makeDatabase, postgresAt, redactedUrlOf } from "../support/storage/postgres.ts"
import { alice, bob, sampleKey, sampleRow } from "./samples.ts"
import { oldDatabase, oldPostgres } from "./sqlite/oldDatabase.ts"
import { openInProcess } from "./sqlite/openInProcess.ts"

const folder = mkdtempSync(join(tmpdir(), "headgate-older-"))
afterAll(() => rmSync(folder, { recursive: true }))

let made = 0
const at = 1_760_000_000_000

// Rows of that time say nothing of their routes.
const row = sampleRow(`${requestIdAt(at)}00${"x".repeat(14)}`, { admittedAt: at, routed: "" })

/** As versions before step 17 wrote them: of a key with limits, and of one without. */
const insertKey = (id: string, limit: string, models: string) => `INSERT INTO {schema}keys
  (id, kind, name, label, disabled, limit_amount, limit_reset, include_byok_in_limit, created_at, workspace_id, allowed_models)
  VALUES ('${id}', 'ordinary', 'key ${id}', 'sk-gw-abc...xyz', {no}, ${limit}, NULL, {no}, ${at}, 'w', ${models})`

/** A management key of that time, which had no role. */
const manager = "c".repeat(64)
const insertManager = insertKey(manager, "NULL", "NULL").replace("'ordinary'", "'management'")

const keys = [insertManager, insertKey(alice, "5", `'["acme/*"]'`), insertKey(bob, "NULL", "NULL")]
const expectedKeys = [
  sampleKey(alice, { limit: 5n, allowedModels: ["acme/*"], label: "sk-gw-abc...xyz", workspaceId: "w" }),
  sampleKey(bob, { label: "sk-gw-abc...xyz", workspaceId: "w" }),
  sampleKey(manager, { kind: "management", role: "all", label: "sk-gw-abc...xyz", workspaceId: "w" }),
]

const oldSqlite = async (before: string): Promise<string> => {
  const path = join(folder, `${made++}.db`)
  await oldDatabase(path, before, [row])
  const db = new Database(path)
  for (const statement of keys) db.run(statement.replaceAll("{schema}", "").replaceAll("{no}", "0"))
  db.close()
  return path
}

const makers: ReadonlyArray<readonly [string, (before: string) => Promise<Layer.Layer<Storage, unknown>>]> = [
  ["SQLite", async (before) => openInProcess({ path: await oldSqlite(before), durability: "process" })],
  [
    "SQLite, from a copy that was restored",
    async (before) => {
      const database = join(folder, `${made++}.db`)
      await Effect.runPromise(restoreDatabase({ file: await oldSqlite(before), database, force: false }))
      return openInProcess({ path: database, durability: "process" })
    },
  ],
  ...(hasPostgres
    ? [
        [
          "PostgreSQL",
          async (before: string) => {
            const database = await makeDatabase()
            await oldPostgres(redactedUrlOf(database), before, [row])
            for (const statement of keys) {
              await execute(database, statement.replaceAll("{schema}", "headgate.").replaceAll("{no}", "FALSE"))
            }
            return postgresAt(database)
          },
        ] as const,
      ]
    : []),
]
if (!hasPostgres) test.skip("in PostgreSQL, a database of an earlier version", () => {})

describe.each(makers)("in %s, a database", (_, make) => {
  test.each([
    "addresses_of_keys",
    "records_of_requests",
    "alerts",
    "users_and_counts_of_requests",
    "roles_and_sessions",
  ])("from before the step %s opens with its keys and rows, and takes new ones", async (before) => {
    const layer = await make(before)
    const later = sampleRow(`${requestIdAt(at + 1)}00${"x".repeat(14)}`, { admittedAt: at + 1, cost: 40n })
    const [found, rows, sums, page] = await Effect.runPromise(
      Effect.provide(
        Effect.flatMap(Storage, ({ keys, ledger, activity, requests }) =>
          Effect.gen(function* () {
            yield* ledger.append([later])
            const span = { from: at, to: at + 10, interval: "hour", by: "host" } as const
            return [
              yield* Effect.forEach([alice, bob, KeyId.make(manager)], keys.find),
              yield* ledger.rows(alice, 10),
              (yield* activity.spanSums(span, "")).sums,
              yield* requests.page({}, "", 10),
            ] as const
          }),
        ),
        layer,
      ),
    )
    expect(found).toMatchObject(expectedKeys)
    expect(rows).toEqual([later, row])
    expect(sums.map(({ requests, cost }) => [requests, cost])).toEqual([[2, 41n]])
    expect(page.found.map((one) => one.row)).toEqual([later, row])
  })
})
