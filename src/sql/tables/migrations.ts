/**
 * The tables, as numbered steps, for SQLite and for PostgreSQL. A released step is never changed, and a database with
 * newer steps is refused. All missing steps run in one transaction.
 */
import * as Migrator from "@effect/sql/Migrator"
import { steps1To17 } from "./steps1To17.ts"
import { stepsSince18 } from "./stepsSince18.ts"

/** Name of the table that records the steps that have run. */
export const migrationsTable = "migrations"

/** By number and name. */
export const steps = { ...steps1To17, ...stepsSince18 }

/** The version of the schema that this program writes. */
export const schemaVersion = Math.max(...Object.keys(steps).map((name) => Number.parseInt(name, 10)))

/** Runs the steps that are missing. */
export const migrate = Migrator.make({})({ loader: Migrator.fromRecord(steps), table: migrationsTable })
