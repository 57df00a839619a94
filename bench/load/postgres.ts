/** A PostgreSQL for a measurement. It ends with this program. */
import * as Pg from "pg"
import { password, startOnce } from "../../test/support/storage/postgresServer.ts"

/** Makes an empty database of this name. Its URL. */
export type MakeDatabase = (name: string) => Promise<string>

export const startPostgres = async (): Promise<MakeDatabase> => {
  const started = await startOnce()
  if (typeof started === "string") throw new Error(`PostgreSQL did not start: ${started}`)
  const server = `postgres://postgres:${password}@127.0.0.1:${started.port}`
  return async (name) => {
    const client = new Pg.Client(`${server}/postgres`)
    await client.connect()
    await client.query(`CREATE DATABASE ${name}`)
    await client.end()
    return `${server}/${name}`
  }
}
