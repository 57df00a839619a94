/**
 * The tables in SQLite's dialect, as numbered steps. A released step is never changed, and a database with newer steps
 * is refused. All missing steps run in one transaction.
 *
 * STRICT tables enforce the types of their columns. In SQLite an integer overflow becomes a REAL, which an INTEGER
 * column of a STRICT table refuses. So the transaction fails before money could become a float.
 */
import * as Migrator from "@effect/sql/Migrator"
import { SqlClient } from "@effect/sql/SqlClient"
import * as Effect from "effect/Effect"
import { emptyHead } from "../domain/Audit.ts"

/** Name of the table that records the steps that have run. */
export const migrationsTable = "migrations"

const inOrder = (...statements: ReadonlyArray<string>) =>
  Effect.flatMap(SqlClient, (sql) =>
    Effect.forEach(statements, (statement) => sql.unsafe(statement), { discard: true }),
  )

const steps = {
  "1_keys_and_ledger": inOrder(
    `CREATE TABLE installation (
      only_row INTEGER PRIMARY KEY CHECK (only_row = 1),
      id TEXT NOT NULL
    ) STRICT`,

    `CREATE TABLE keys (
      seq INTEGER PRIMARY KEY,
      id TEXT NOT NULL UNIQUE,
      kind TEXT NOT NULL,
      name TEXT NOT NULL,
      label TEXT NOT NULL,
      disabled INTEGER NOT NULL,
      limit_amount INTEGER CHECK (limit_amount >= 0),
      limit_reset TEXT,
      include_byok_in_limit INTEGER NOT NULL,
      expires_at INTEGER,
      created_at INTEGER NOT NULL,
      updated_at INTEGER,
      creator_user_id TEXT,
      workspace_id TEXT NOT NULL
    ) STRICT`,
    "CREATE INDEX keys_by_age ON keys (kind, created_at)",

    `CREATE TABLE ledger (
      seq INTEGER PRIMARY KEY,
      request_id TEXT NOT NULL UNIQUE,
      generation_id TEXT NOT NULL,
      key_id TEXT NOT NULL,
      model TEXT NOT NULL,
      host TEXT NOT NULL,
      provider TEXT NOT NULL,
      cost INTEGER NOT NULL CHECK (cost >= 0),
      upstream_cost INTEGER NOT NULL CHECK (upstream_cost >= 0),
      prompt_tokens INTEGER NOT NULL,
      completion_tokens INTEGER NOT NULL,
      cached_tokens INTEGER NOT NULL,
      cache_write_tokens INTEGER NOT NULL,
      reasoning_tokens INTEGER NOT NULL,
      estimated INTEGER NOT NULL,
      streamed INTEGER NOT NULL,
      finish_reason TEXT NOT NULL,
      outcome TEXT NOT NULL,
      admitted_at INTEGER NOT NULL,
      settled_at INTEGER NOT NULL,
      latency_ms REAL NOT NULL,
      duration_ms REAL NOT NULL,
      app_title TEXT NOT NULL,
      app_url TEXT NOT NULL
    ) STRICT`,
    "CREATE INDEX ledger_by_key ON ledger (key_id, admitted_at)",
    `CREATE TRIGGER ledger_keeps_rows BEFORE DELETE ON ledger
      BEGIN SELECT RAISE(ABORT, 'the ledger is append-only'); END`,
    `CREATE TRIGGER ledger_keeps_values BEFORE UPDATE ON ledger
      BEGIN SELECT RAISE(ABORT, 'the ledger is append-only'); END`,

    // Sums of the ledger, written in the same transaction. `window_start` is 0 for `total`, else the window's first
    // Unix millisecond.
    `CREATE TABLE spend (
      key_id TEXT NOT NULL,
      window_kind TEXT NOT NULL,
      window_start INTEGER NOT NULL,
      amount INTEGER NOT NULL CHECK (amount >= 0),
      PRIMARY KEY (key_id, window_kind, window_start)
    ) STRICT, WITHOUT ROWID`,
  ),

  // Slots of host statistics: `minutes` is the length of a slot, `start` its first Unix millisecond, `figures` JSON.
  "2_host_statistics": inOrder(
    `CREATE TABLE host_stats (
      seq INTEGER PRIMARY KEY,
      endpoint TEXT NOT NULL,
      workload TEXT NOT NULL,
      minutes INTEGER NOT NULL,
      start INTEGER NOT NULL,
      figures TEXT NOT NULL,
      UNIQUE (endpoint, workload, minutes, start)
    ) STRICT`,
    "CREATE INDEX host_stats_by_age ON host_stats (minutes, start)",
  ),

  // What a plan needs to be repeated.
  "3_plan_of_a_ledger_row": inOrder(
    "ALTER TABLE ledger ADD COLUMN strategy TEXT NOT NULL DEFAULT ''",
    "ALTER TABLE ledger ADD COLUMN seed INTEGER NOT NULL DEFAULT 0",
  ),

  "4_key_rules": inOrder(
    // JSON: {"requests": …, "intervalSeconds": …}, and lists of patterns.
    "ALTER TABLE keys ADD COLUMN rate_limit TEXT",
    "ALTER TABLE keys ADD COLUMN allowed_models TEXT",
    "ALTER TABLE keys ADD COLUMN allowed_providers TEXT",
    // For the usual list, without disabled keys: the rows before its page are skipped within the index.
    "CREATE INDEX enabled_keys_by_age ON keys (kind, disabled, created_at)",

    // Requests to free models on the last day that had some. `day`: its first Unix millisecond, in UTC.
    `CREATE TABLE free_requests (
      key_id TEXT PRIMARY KEY,
      day INTEGER NOT NULL,
      used INTEGER NOT NULL CHECK (used >= 0)
    ) STRICT, WITHOUT ROWID`,
  ),

  "8_audit_log": inOrder(
    // Changes of keys, chained by their hashes: see domain/Audit.ts.
    `CREATE TABLE audit (
      seq INTEGER PRIMARY KEY,
      at INTEGER NOT NULL,
      actor TEXT NOT NULL,
      action TEXT NOT NULL,
      object TEXT NOT NULL,
      changes TEXT NOT NULL,
      hash TEXT NOT NULL
    ) STRICT`,
    // Number and hash of the last row.
    `CREATE TABLE audit_head (
      only_row INTEGER PRIMARY KEY CHECK (only_row = 1),
      seq INTEGER NOT NULL,
      hash TEXT NOT NULL
    ) STRICT`,
    `INSERT INTO audit_head (only_row, seq, hash) VALUES (1, 0, '${emptyHead.hash}')`,
    // REPLACE deletes without the trigger of deletions, so an insertion may only append.
    `CREATE TRIGGER audit_only_appends BEFORE INSERT ON audit
      WHEN NEW.seq <> (SELECT seq + 1 FROM audit_head)
      BEGIN SELECT RAISE(ABORT, 'the audit log is append-only'); END`,
    `CREATE TRIGGER audit_keeps_rows BEFORE DELETE ON audit
      BEGIN SELECT RAISE(ABORT, 'the audit log is append-only'); END`,
    `CREATE TRIGGER audit_keeps_values BEFORE UPDATE ON audit
      BEGIN SELECT RAISE(ABORT, 'the audit log is append-only'); END`,
    `CREATE TRIGGER audit_head_keeps_row BEFORE DELETE ON audit_head
      BEGIN SELECT RAISE(ABORT, 'the audit log is append-only'); END`,
    `CREATE TRIGGER audit_head_goes_on BEFORE UPDATE ON audit_head
      WHEN NEW.seq < OLD.seq OR (NEW.seq = OLD.seq AND NEW.hash <> OLD.hash)
      BEGIN SELECT RAISE(ABORT, 'the audit log is append-only'); END`,
  ),
}

/** The version of the schema that this program writes. */
export const schemaVersion = Math.max(...Object.keys(steps).map((name) => Number.parseInt(name, 10)))

/** Runs the steps that are missing. */
export const migrate = Migrator.make({})({ loader: Migrator.fromRecord(steps), table: migrationsTable })
