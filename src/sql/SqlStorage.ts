/**
 * `Storage` in a database, over @effect/sql's client, in SQL that SQLite and PostgreSQL share. The caller migrates first.
 *
 * Money goes in as decimal text, which its column turns into a 64-bit integer or refuses, and comes out cast to text:
 * the driver's own numbers are wrong above 2^53.
 */
import { SqlClient } from "@effect/sql/SqlClient"
import type { SqlError } from "@effect/sql/SqlError"
import type * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import type { KeyId } from "../domain/Ids.ts"
import { type KeyRecord, type LimitReset, windowStart } from "../domain/Key.ts"
import { type KeyPatch, type LedgerRow, StorageUnavailable } from "../services/ledger.ts"
import type { Storage } from "../services/Storage.ts"

/** How a batch gets in is each database's own: all or nothing, sums included, known request ids left out. */
export type SqlStorage = Omit<Context.Tag.Service<typeof Storage>, "append">

const ledgerRow = `request_id AS "requestId", generation_id AS "generationId", key_id AS "key", model, host, provider,
  CAST(cost AS TEXT) AS "cost", CAST(upstream_cost AS TEXT) AS "upstreamCost", prompt_tokens AS "promptTokens",
  completion_tokens AS "completionTokens", cached_tokens AS "cachedTokens", cache_write_tokens AS "cacheWriteTokens",
  reasoning_tokens AS "reasoningTokens", estimated, streamed, finish_reason AS "finishReason", outcome,
  admitted_at AS "admittedAt", settled_at AS "settledAt", latency_ms AS "latencyMs", duration_ms AS "durationMs",
  app_title AS "appTitle", app_url AS "appUrl"`

const keyRecord = `id, kind, name, label, disabled, CAST(limit_amount AS TEXT) AS "limit", limit_reset AS "limitReset",
  include_byok_in_limit AS "includeByokInLimit", expires_at AS "expiresAt", created_at AS "createdAt",
  updated_at AS "updatedAt", creator_user_id AS "creatorUserId", workspace_id AS "workspaceId"`

/** What the driver gives for a key: money is text, booleans are 0 or 1. */
type StoredKey = Omit<KeyRecord, "limit" | "disabled" | "includeByokInLimit"> & {
  readonly limit: string | null
  readonly disabled: number
  readonly includeByokInLimit: number
}

const toKey = (row: StoredKey): KeyRecord => ({
  ...row,
  disabled: row.disabled === 1,
  limit: row.limit === null ? null : BigInt(row.limit),
  includeByokInLimit: row.includeByokInLimit === 1,
})

type StoredRow = Omit<LedgerRow, "cost" | "upstreamCost" | "estimated" | "streamed"> & {
  readonly cost: string
  readonly upstreamCost: string
  readonly estimated: number
  readonly streamed: number
}

const toLedgerRow = (row: StoredRow): LedgerRow => ({
  ...row,
  cost: BigInt(row.cost),
  upstreamCost: BigInt(row.upstreamCost),
  estimated: row.estimated === 1,
  streamed: row.streamed === 1,
})

/** The columns that a patch sets: a member that is absent leaves its column alone, `null` empties it. */
const patchColumns = (patch: KeyPatch): Record<string, unknown> => ({
  ...(patch.name === undefined ? {} : { name: patch.name }),
  ...(patch.disabled === undefined ? {} : { disabled: patch.disabled }),
  ...(patch.limit === undefined ? {} : { limit_amount: patch.limit?.toString() ?? null }),
  ...(patch.limitReset === undefined ? {} : { limit_reset: patch.limitReset }),
  ...(patch.includeByokInLimit === undefined ? {} : { include_byok_in_limit: patch.includeByokInLimit }),
  ...(patch.updatedAt === undefined ? {} : { updated_at: patch.updatedAt }),
})

const unavailable = (error: SqlError): StorageUnavailable =>
  new StorageUnavailable({ reason: error.cause instanceof Error ? error.cause.message : error.message })

/** Spans are off: nobody looks at them here, and a batch pays for each. */
const guarded = <A>(effect: Effect.Effect<A, SqlError>): Effect.Effect<A, StorageUnavailable> =>
  Effect.withTracerEnabled(Effect.mapError(effect, unavailable), false)

const keyMethods = (sql: SqlClient) => ({
  managementKeys: Effect.map(
    guarded(sql<{ readonly n: number }>`SELECT COUNT(*) AS n FROM keys WHERE kind = 'management'`),
    ([row]) => row?.n ?? 0,
  ),
  findKey: (id: KeyId) =>
    Effect.map(guarded(sql<StoredKey>`SELECT ${sql.literal(keyRecord)} FROM keys WHERE id = ${id}`), ([row]) =>
      row === undefined ? undefined : toKey(row),
    ),
  insertKey: (key: KeyRecord) =>
    Effect.asVoid(
      guarded(
        sql`INSERT INTO keys ${sql.insert({
          id: key.id,
          kind: key.kind,
          label: key.label,
          created_at: key.createdAt,
          expires_at: key.expiresAt,
          creator_user_id: key.creatorUserId,
          workspace_id: key.workspaceId,
          ...patchColumns(key),
        })} ON CONFLICT (id) DO NOTHING`,
      ),
    ),
  updateKey: (id: KeyId, patch: KeyPatch) => {
    const columns = patchColumns(patch)
    const statement =
      Object.keys(columns).length === 0
        ? sql<StoredKey>`SELECT ${sql.literal(keyRecord)} FROM keys WHERE id = ${id}`
        : sql<StoredKey>`UPDATE keys SET ${sql.update(columns)} WHERE id = ${id} RETURNING ${sql.literal(keyRecord)}`
    return Effect.map(guarded(statement), ([row]) => (row === undefined ? undefined : toKey(row)))
  },
  deleteKey: (id: KeyId) =>
    Effect.map(guarded(sql`DELETE FROM keys WHERE id = ${id} RETURNING id`), (gone) => gone.length > 0),
  listKeys: (page: { readonly offset: number; readonly limit: number; readonly includeDisabled: boolean }) =>
    Effect.map(
      guarded(sql<StoredKey>`SELECT ${sql.literal(keyRecord)} FROM keys
        WHERE kind = 'ordinary' ${sql.literal(page.includeDisabled ? "" : "AND disabled = 0")}
        ORDER BY created_at DESC, seq DESC LIMIT ${page.limit} OFFSET ${page.offset}`),
      (rows) => rows.map(toKey),
    ),
})

const ledgerMethods = (sql: SqlClient) => {
  const sumOf = (key: KeyId, kind: string, start: number) =>
    sql`(SELECT CAST(amount AS TEXT) FROM spend
      WHERE key_id = ${key} AND window_kind = ${kind} AND window_start = ${start})`
  return {
    spend: (key: KeyId, now: number) =>
      Effect.map(
        guarded(sql<Record<LimitReset | "total", string | null>>`SELECT
          ${sumOf(key, "total", 0)} AS total,
          ${sumOf(key, "daily", windowStart("daily", now))} AS daily,
          ${sumOf(key, "weekly", windowStart("weekly", now))} AS weekly,
          ${sumOf(key, "monthly", windowStart("monthly", now))} AS monthly`),
        ([row]) => ({
          total: BigInt(row?.total ?? 0),
          daily: BigInt(row?.daily ?? 0),
          weekly: BigInt(row?.weekly ?? 0),
          monthly: BigInt(row?.monthly ?? 0),
        }),
      ),
    ledger: (key: KeyId, limit: number) =>
      Effect.map(
        guarded(sql<StoredRow>`SELECT ${sql.literal(ledgerRow)} FROM ledger
          WHERE key_id = ${key} ORDER BY admitted_at DESC, seq DESC LIMIT ${limit}`),
        (rows) => rows.map(toLedgerRow),
      ),
  }
}

/** All but `append`, over the client at hand. Writes the installation's id if there is none, so it fails where nothing can be written. */
export const makeSqlStorage: Effect.Effect<SqlStorage, SqlError, SqlClient> = Effect.gen(function* () {
  const sql = yield* SqlClient
  yield* sql`INSERT INTO installation (only_row, id) VALUES (1, ${crypto.randomUUID()}) ON CONFLICT DO NOTHING`
  const installation = guarded(sql<{ readonly id: string }>`SELECT id FROM installation`)
  return {
    installation: Effect.flatMap(installation, ([row]) =>
      row === undefined
        ? Effect.fail(new StorageUnavailable({ reason: "the installation has lost its id" }))
        : Effect.succeed(row.id),
    ),
    ...keyMethods(sql),
    ...ledgerMethods(sql),
  }
})
