/** Databases of PostgreSQL for tests, on a server that all test files of a run share. */
import { describe } from "bun:test"
import * as Layer from "effect/Layer"
import * as Redacted from "effect/Redacted"
import * as Pg from "pg"
import { Storage } from "../../../src/services/storage/Storage.ts"
import { openDatabase } from "../../../src/sql/postgres/postgresDatabase.ts"
import type { StorageNotOpened } from "../../../src/sql/StorageNotOpened.ts"
import { password, startOnce } from "./postgresServer.ts"

const server = await startOnce()

export const hasPostgres = typeof server !== "string"

/** `describe` for what needs the server. */
export const describePostgres = describe.skipIf(!hasPostgres)
if (typeof server === "string") console.warn(`PostgreSQL did not start, so its tests are skipped: ${server}`)

export const port = typeof server === "string" ? 0 : server.port

/** A session of the server's owner, without a pool. The caller ends it. */
export const connect = async (database = "postgres"): Promise<Pg.Client> => {
  const client = new Pg.Client({ host: "127.0.0.1", port, user: "postgres", password, database })
  await client.connect()
  return client
}

/** Runs statements in a database. */
export const execute = async (
  database: string,
  ...statements: ReadonlyArray<string>
): Promise<Array<Pg.QueryResult>> => {
  const client = await connect(database)
  try {
    const results = []
    for (const statement of statements) results.push(await client.query(statement))
    return results
  } finally {
    await client.end()
  }
}

let databases = 0

/** Makes an empty database. Returns its name. */
export const makeDatabase = async (): Promise<string> => {
  const name = `test_${process.pid}_${databases++}_${crypto.randomUUID().slice(0, 8)}`
  await execute("postgres", `CREATE DATABASE ${name}`)
  return name
}

/** The URL of a database; of another port, such as that of a proxy. */
export const urlOf = (database: string, at = port): string =>
  `postgres://postgres:${password}@127.0.0.1:${at}/${database}`

export const redactedUrlOf = (database: string, at = port): Redacted.Redacted => Redacted.make(urlOf(database, at))

/** How long a gateway waits for a server, where a test says nothing of that: a busy machine may keep it waiting. */
const patience = { connectMs: 300_000, statementMs: 300_000, silenceMs: 300_000, appendMs: 300_000 }

/** The storage of a database; of another port, such as that of a proxy. */
export const postgresAt = (database: string, at = port): Layer.Layer<Storage, StorageNotOpened> =>
  Layer.scoped(Storage, openDatabase({ url: redactedUrlOf(database, at), durability: "process" }, patience))
