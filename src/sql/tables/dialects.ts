/** The parts of the migrations that SQLite and PostgreSQL write differently. Those that a released step uses are never changed. */
import { questionsOfProcesses, sharesOfRateLimits, slicesOfBudgets } from "./postgresShared.ts"

/** Names of types, table options, and statements that one database needs in its own words, or not at all (an empty list). */
export interface Dialect {
  /** A column that numbers rows in the order in which they were inserted. */
  readonly sequence: string
  /** Integers and floating-point numbers of 64 bits. An integer that overflows is refused. */
  readonly integer: string
  readonly real: string
  readonly flag: string
  /** After the columns of a table, and of one whose rows are kept in the order of its primary key. */
  readonly options: string
  readonly optionsByKey: string
  /** What finds a row of the ledger by its generation id. */
  readonly generationIndex: ReadonlyArray<string>
  /** Triggers that refuse changes of rows. */
  readonly appendOnly: (table: string) => ReadonlyArray<string>
  /** Triggers that let the audit log only grow. */
  readonly auditTriggers: ReadonlyArray<string>
  /** For budgets, and for rate limits, that several processes share. */
  readonly slices: ReadonlyArray<string>
  readonly rateShares: ReadonlyArray<string>
  /** For what processes ask each other about running requests. */
  readonly liveQuestions: ReadonlyArray<string>
  /** Text that sorts by its characters, whatever the language of the server. */
  readonly orderedText: string
  /** Makes the ids of the ledger's requests such text. */
  readonly orderedLedger: ReadonlyArray<string>
}

/**
 * STRICT tables enforce the types of their columns. In SQLite an integer overflow becomes a REAL, which an INTEGER
 * column of a STRICT table refuses. So the transaction fails before money could become a float.
 */
export const sqlite: Dialect = {
  sequence: "INTEGER PRIMARY KEY",
  integer: "INTEGER",
  real: "REAL",
  flag: "INTEGER",
  options: "STRICT",
  optionsByKey: "STRICT, WITHOUT ROWID",
  // The index of request ids does: `LedgerRepository.generation`.
  generationIndex: [],
  appendOnly: (table) => [
    `CREATE TRIGGER ${table}_keeps_rows BEFORE DELETE ON ${table}
      BEGIN SELECT RAISE(ABORT, 'the ${table} is append-only'); END`,
    `CREATE TRIGGER ${table}_keeps_values BEFORE UPDATE ON ${table}
      BEGIN SELECT RAISE(ABORT, 'the ${table} is append-only'); END`,
  ],
  auditTriggers: [
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
  ],
  slices: [],
  rateShares: [],
  liveQuestions: [],
  orderedText: "TEXT",
  orderedLedger: [],
}

export const postgres: Dialect = {
  sequence: "BIGINT GENERATED ALWAYS AS IDENTITY PRIMARY KEY",
  integer: "BIGINT",
  real: "DOUBLE PRECISION",
  flag: "BOOLEAN",
  options: "",
  optionsByKey: "",
  generationIndex: ["CREATE INDEX ledger_by_generation ON ledger (generation_id)"],
  appendOnly: (table) => [
    `CREATE FUNCTION ${table}_is_append_only() RETURNS trigger LANGUAGE plpgsql AS
      $$ BEGIN RAISE EXCEPTION 'the ${table} is append-only'; END $$`,
    `CREATE TRIGGER ${table}_keeps_rows BEFORE DELETE OR UPDATE OR TRUNCATE ON ${table}
      FOR EACH STATEMENT EXECUTE FUNCTION ${table}_is_append_only()`,
  ],
  auditTriggers: [
    `CREATE FUNCTION audit_is_append_only() RETURNS trigger LANGUAGE plpgsql AS
      $$ BEGIN RAISE EXCEPTION 'the audit log is append-only'; END $$`,
    `CREATE TRIGGER audit_keeps_rows BEFORE DELETE OR UPDATE OR TRUNCATE ON audit
      FOR EACH STATEMENT EXECUTE FUNCTION audit_is_append_only()`,
    `CREATE TRIGGER audit_head_keeps_row BEFORE DELETE OR TRUNCATE ON audit_head
      FOR EACH STATEMENT EXECUTE FUNCTION audit_is_append_only()`,
    `CREATE TRIGGER audit_head_goes_on BEFORE UPDATE ON audit_head FOR EACH ROW
      WHEN (NEW.seq < OLD.seq OR (NEW.seq = OLD.seq AND NEW.hash <> OLD.hash))
      EXECUTE FUNCTION audit_is_append_only()`,
  ],
  slices: slicesOfBudgets,
  rateShares: sharesOfRateLimits,
  liveQuestions: questionsOfProcesses,
  orderedText: 'TEXT COLLATE "C"',
  // It makes the index of the ids anew, and nothing else. Where somebody has a view of the ledger it is refused, and there is one more index.
  orderedLedger: [
    `DO $$ BEGIN
      ALTER TABLE ledger ALTER COLUMN request_id TYPE TEXT COLLATE "C";
    EXCEPTION WHEN feature_not_supported THEN
      CREATE INDEX ledger_by_time ON ledger (request_id COLLATE "C");
    END $$`,
  ],
}

/** The statements that make the append-only triggers in PostgreSQL, for a comparison with what is there (`postgresSchema.ts`). */
export const appendOnlyInPostgres: ReadonlyArray<string> = [
  ...postgres.appendOnly("ledger"),
  ...postgres.appendOnly("price_versions"),
  ...postgres.auditTriggers,
]
