/** The first steps of the tables: keys, ledger and its sums, prices, journal, audit log, what several gateways share. */
import { SqlClient } from "@effect/sql/SqlClient"
import * as Effect from "effect/Effect"
import { emptyHead } from "../../domain/keys/audit.ts"
import { isOverflow } from "../failure.ts"
import { inOrder } from "./migrationStep.ts"

/**
 * The sums by day of the rows so far: read once, then added up further. Where sums do not fit into their columns there are none,
 * and the gateway starts all the same: see `dailySums.ts`.
 */
const addUp = Effect.flatMap(SqlClient, (sql) =>
  Effect.catchIf(
    sql.withTransaction(
      inOrder(() => [
        `CREATE TEMP TABLE groups AS
          SELECT admitted_at - admitted_at % 86400000 AS day, key_id, app_url, app_title, model, host, provider,
            SUM(CASE outcome WHEN 'lost' THEN 0 ELSE 1 END) AS requests,
            SUM(CASE outcome WHEN 'lost' THEN 0 ELSE prompt_tokens END) AS prompt_tokens,
            SUM(CASE outcome WHEN 'lost' THEN 0 ELSE completion_tokens END) AS completion_tokens,
            SUM(CASE outcome WHEN 'lost' THEN 0 ELSE cached_tokens END) AS cached_tokens,
            SUM(CASE outcome WHEN 'lost' THEN 0 ELSE cache_write_tokens END) AS cache_write_tokens,
            SUM(CASE outcome WHEN 'lost' THEN 0 ELSE reasoning_tokens END) AS reasoning_tokens,
            SUM(cost) AS cost, SUM(upstream_cost) AS upstream_cost
          FROM ledger GROUP BY 1, 2, 3, 4, 5, 6, 7`,
        ...[
          "'day', day, '', '', '', '', '', ''",
          "'host', day, '', '', '', model, host, provider",
          "'key', day, key_id, '', '', model, host, provider",
          "'app', day, '', app_url, app_title, model, host, provider",
        ].map(
          (group) => `INSERT INTO daily_sums
            SELECT ${group}, SUM(requests), SUM(prompt_tokens), SUM(completion_tokens), SUM(cached_tokens),
              SUM(cache_write_tokens), SUM(reasoning_tokens), SUM(cost), SUM(upstream_cost)
            FROM groups GROUP BY 1, 2, 3, 4, 5, 6, 7, 8`,
        ),
        "DROP TABLE groups",
        "UPDATE summed_ledger SET summed_to = (SELECT COALESCE(MAX(seq), 0) FROM ledger)",
      ]),
    ),
    isOverflow,
    () => Effect.void,
  ),
)

/** By number and name. */
export const steps1To17 = {
  "1_keys_and_ledger": inOrder(({ sequence, integer, real, flag, options, optionsByKey, appendOnly }) => [
    `CREATE TABLE installation (
      only_row ${integer} PRIMARY KEY CHECK (only_row = 1),
      id TEXT NOT NULL
    ) ${options}`,

    `CREATE TABLE keys (
      seq ${sequence},
      id TEXT NOT NULL UNIQUE,
      kind TEXT NOT NULL,
      name TEXT NOT NULL,
      label TEXT NOT NULL,
      disabled ${flag} NOT NULL,
      limit_amount ${integer} CHECK (limit_amount >= 0),
      limit_reset TEXT,
      include_byok_in_limit ${flag} NOT NULL,
      expires_at ${integer},
      created_at ${integer} NOT NULL,
      updated_at ${integer},
      creator_user_id TEXT,
      workspace_id TEXT NOT NULL
    ) ${options}`,
    "CREATE INDEX keys_by_age ON keys (kind, created_at)",

    `CREATE TABLE ledger (
      seq ${sequence},
      request_id TEXT NOT NULL UNIQUE,
      generation_id TEXT NOT NULL,
      key_id TEXT NOT NULL,
      model TEXT NOT NULL,
      host TEXT NOT NULL,
      provider TEXT NOT NULL,
      cost ${integer} NOT NULL CHECK (cost >= 0),
      upstream_cost ${integer} NOT NULL CHECK (upstream_cost >= 0),
      prompt_tokens ${integer} NOT NULL,
      completion_tokens ${integer} NOT NULL,
      cached_tokens ${integer} NOT NULL,
      cache_write_tokens ${integer} NOT NULL,
      reasoning_tokens ${integer} NOT NULL,
      estimated ${flag} NOT NULL,
      streamed ${flag} NOT NULL,
      finish_reason TEXT NOT NULL,
      outcome TEXT NOT NULL,
      admitted_at ${integer} NOT NULL,
      settled_at ${integer} NOT NULL,
      latency_ms ${real} NOT NULL,
      duration_ms ${real} NOT NULL,
      app_title TEXT NOT NULL,
      app_url TEXT NOT NULL
    ) ${options}`,
    "CREATE INDEX ledger_by_key ON ledger (key_id, admitted_at)",
    ...appendOnly("ledger"),

    // Sums of the ledger, written in the same transaction. `window_start` is 0 for `total`, else the window's first
    // Unix millisecond.
    `CREATE TABLE spend (
      key_id TEXT NOT NULL,
      window_kind TEXT NOT NULL,
      window_start ${integer} NOT NULL,
      amount ${integer} NOT NULL CHECK (amount >= 0),
      PRIMARY KEY (key_id, window_kind, window_start)
    ) ${optionsByKey}`,
  ]),

  // Slots of host statistics: `minutes` is the length of a slot, `start` its first Unix millisecond, `figures` JSON.
  "2_host_statistics": inOrder(({ sequence, integer, options }) => [
    `CREATE TABLE host_stats (
      seq ${sequence},
      endpoint TEXT NOT NULL,
      workload TEXT NOT NULL,
      minutes ${integer} NOT NULL,
      start ${integer} NOT NULL,
      figures TEXT NOT NULL,
      UNIQUE (endpoint, workload, minutes, start)
    ) ${options}`,
    "CREATE INDEX host_stats_by_age ON host_stats (minutes, start)",
  ]),

  // What a plan needs to be repeated.
  "3_plan_of_a_ledger_row": inOrder(({ integer }) => [
    "ALTER TABLE ledger ADD COLUMN strategy TEXT NOT NULL DEFAULT ''",
    `ALTER TABLE ledger ADD COLUMN seed ${integer} NOT NULL DEFAULT 0`,
  ]),

  "4_key_rules": inOrder(({ integer, optionsByKey }) => [
    // JSON: {"requests": …, "intervalSeconds": …}, and lists of patterns.
    "ALTER TABLE keys ADD COLUMN rate_limit TEXT",
    "ALTER TABLE keys ADD COLUMN allowed_models TEXT",
    "ALTER TABLE keys ADD COLUMN allowed_providers TEXT",
    // For the usual list, without disabled keys: the rows before its page are skipped within the index.
    "CREATE INDEX enabled_keys_by_age ON keys (kind, disabled, created_at)",

    // Requests to free models on the last day that had some. `day`: its first Unix millisecond, in UTC.
    `CREATE TABLE free_requests (
      key_id TEXT PRIMARY KEY,
      day ${integer} NOT NULL,
      used ${integer} NOT NULL CHECK (used >= 0)
    ) ${optionsByKey}`,
  ]),

  "5_journal": inOrder(({ integer, options, optionsByKey }) => [
    // Requests in flight. `settled_as`: the ledger's row, as JSON, if the process were killed when this was written.
    `CREATE TABLE open_requests (
      id TEXT PRIMARY KEY,
      process TEXT NOT NULL,
      state TEXT NOT NULL,
      settled_as TEXT NOT NULL
    ) ${options}`,
    // Processes that serve requests. `ends_at`: Unix milliseconds.
    `CREATE TABLE leases (
      process TEXT PRIMARY KEY,
      ends_at ${integer} NOT NULL
    ) ${optionsByKey}`,
  ]),

  // Sums of the ledger by UTC day (`day`: its first Unix millisecond), over the rows up to `summed_to`. `kind`: what the sums
  // are of. Columns of others are ''.
  "6_daily_sums": inOrder(({ integer, options, optionsByKey }) => [
    `CREATE TABLE daily_sums (
      kind TEXT NOT NULL CHECK (kind IN ('day', 'host', 'key', 'app')),
      day ${integer} NOT NULL,
      key_id TEXT NOT NULL,
      app_url TEXT NOT NULL,
      app_title TEXT NOT NULL,
      model TEXT NOT NULL,
      host TEXT NOT NULL,
      provider TEXT NOT NULL,
      requests ${integer} NOT NULL,
      prompt_tokens ${integer} NOT NULL,
      completion_tokens ${integer} NOT NULL,
      cached_tokens ${integer} NOT NULL,
      cache_write_tokens ${integer} NOT NULL,
      reasoning_tokens ${integer} NOT NULL,
      cost ${integer} NOT NULL,
      upstream_cost ${integer} NOT NULL,
      PRIMARY KEY (kind, day, key_id, app_url, app_title, model, host, provider)
    ) ${optionsByKey}`,
    `CREATE TABLE summed_ledger (
      only_row ${integer} PRIMARY KEY CHECK (only_row = 1),
      summed_to ${integer} NOT NULL
    ) ${options}`,
    "INSERT INTO summed_ledger VALUES (1, 0)",
  ]).pipe(Effect.zipRight(addUp)),

  "7_generations": inOrder(({ generationIndex }) => generationIndex),

  "8_prices_of_ledger_rows": inOrder(({ integer, options, appendOnly }) => [
    // What was charged, written before the first row that refers to it. `id`: the first 52 bits of the hash of `pricing`.
    `CREATE TABLE price_versions (
      id ${integer} PRIMARY KEY,
      hash TEXT NOT NULL,
      pricing TEXT NOT NULL
    ) ${options}`,
    `ALTER TABLE ledger ADD COLUMN price_version ${integer}`,
    "ALTER TABLE ledger ADD COLUMN price_basis TEXT NOT NULL DEFAULT ''",
    "ALTER TABLE ledger ADD COLUMN waived TEXT",
    // JSON: members of a usage that most rows have none of.
    "ALTER TABLE ledger ADD COLUMN rare_usage TEXT",
    "ALTER TABLE ledger ADD COLUMN form TEXT NOT NULL DEFAULT ''",
    "ALTER TABLE ledger ADD COLUMN operation TEXT NOT NULL DEFAULT ''",
    ...appendOnly("price_versions"),
  ]),

  "9_audit_log": inOrder(({ integer, options, auditTriggers }) => [
    // Changes of keys, chained by their hashes: see domain/keys/audit.ts.
    `CREATE TABLE audit (
      seq ${integer} PRIMARY KEY,
      at ${integer} NOT NULL,
      actor TEXT NOT NULL,
      action TEXT NOT NULL,
      object TEXT NOT NULL,
      changes TEXT NOT NULL,
      hash TEXT NOT NULL
    ) ${options}`,
    // Number and hash of the last row.
    `CREATE TABLE audit_head (
      only_row ${integer} PRIMARY KEY CHECK (only_row = 1),
      seq ${integer} NOT NULL,
      hash TEXT NOT NULL
    ) ${options}`,
    `INSERT INTO audit_head (only_row, seq, hash) VALUES (1, 0, '${emptyHead.hash}')`,
    ...auditTriggers,
  ]),

  "10_slices_of_budgets": inOrder(({ slices }) => slices),

  "11_idempotency_keys": inOrder(({ integer, options }) => [
    // The first request under each Idempotency-Key. `generation_id` is NULL until there is an outcome, `lease_end` 0 from then
    // on, `expires_at` Unix milliseconds. `headers` (JSON) and `body` are the answer, the only one in the database.
    `CREATE TABLE idempotency_keys (
      id TEXT PRIMARY KEY,
      body_hash TEXT NOT NULL,
      request_id TEXT NOT NULL,
      lease_end ${integer} NOT NULL,
      expires_at ${integer} NOT NULL,
      generation_id TEXT,
      headers TEXT,
      body TEXT
    ) ${options}`,
    "CREATE INDEX idempotency_keys_by_expiry ON idempotency_keys (expires_at)",
    "CREATE INDEX claimed_idempotency_keys ON idempotency_keys (lease_end) WHERE lease_end > 0",
  ]),

  "12_shares_of_rate_limits": inOrder(({ rateShares }) => rateShares),

  // Of providers with several keys: which one a row's call was made with, and the sums of what was charged for it, as in `spend`.
  "13_keys_of_providers": inOrder(({ integer, optionsByKey }) => [
    "ALTER TABLE ledger ADD COLUMN provider_key TEXT NOT NULL DEFAULT ''",
    `CREATE TABLE provider_spend (
      provider_key TEXT NOT NULL,
      window_kind TEXT NOT NULL,
      window_start ${integer} NOT NULL,
      amount ${integer} NOT NULL CHECK (amount >= 0),
      PRIMARY KEY (provider_key, window_kind, window_start)
    ) ${optionsByKey}`,
  ]),

  // Only tests and `headgate reconcile` read the ledger by key. With many keys, this index took two fifths of the work of a commit.
  "14_no_index_of_ledger_keys": inOrder(() => ["DROP INDEX ledger_by_key"]),

  "15_request_ids_of_callers": inOrder(() => [
    "ALTER TABLE ledger ADD COLUMN caller_request_id TEXT NOT NULL DEFAULT ''",
  ]),

  // Secrets of keys that were rotated: `id` is the hash of the secret. A key without rows has the one secret that its own id is the
  // hash of. `ends_at`: Unix milliseconds from which on it is not accepted; NULL: it is.
  "16_secrets_of_keys": inOrder(({ integer, options }) => [
    `CREATE TABLE key_secrets (
      id TEXT PRIMARY KEY,
      key_id TEXT NOT NULL,
      ends_at ${integer}
    ) ${options}`,
    "CREATE INDEX secrets_by_key ON key_secrets (key_id)",
    // For the names of deleted keys.
    "CREATE INDEX deleted_keys ON audit (object) WHERE action = 'key.delete'",
  ]),

  // JSON: ranges of IP addresses that a key may be used from; NULL: all.
  "17_addresses_of_keys": inOrder(() => ["ALTER TABLE keys ADD COLUMN allowed_addresses TEXT"]),
}
