/** Addresses of PostgreSQL that cannot do, at a start and in `check`. docs/configuration.md#postgres */
import { afterAll, describe, expect, test } from "bun:test"
import { writeFileSync } from "node:fs"
import { join } from "node:path"
import * as Pg from "pg"
import { until } from "../support/clocks/until.ts"
import { type Installation, install } from "../support/gateways/process.ts"
import { describePostgres, execute, makeDatabase, port, urlOf } from "../support/storage/postgres.ts"

const patience = 1_800_000

const installation: Installation = install()
afterAll(() => installation.remove())

writeFileSync(join(installation.folder, "headgate.config.json"), "{}")

const base = "postgres://gw:secret-word@127.0.0.1:9/headgate"

/** Exit code and what is on standard error. */
const start = async (storage: string) => {
  const gateway = installation.start({
    config: { spool_folder: installation.folder },
    env: { HEADGATE_STORAGE: storage },
  })
  const code = await gateway.exited
  return [code, gateway.err()]
}

describe("an address with a parameter", () => {
  test.each([
    [
      "that is misspelt",
      "?sslmod=require",
      'expected parameters that the driver knows, got "sslmod", did you mean "sslmode"?',
    ],
    [
      "in capital letters",
      "?SSLMODE=require",
      'expected parameters that the driver knows, got "SSLMODE", did you mean "sslmode"?',
    ],
    ["that may be a password", "?secret-word-2", "expected parameters that the driver knows, got one that is no name"],
    [
      "of an unknown value",
      "?sslmode=requir",
      'expected sslmode to be one of "disable", "prefer", "require", "verify-ca", "verify-full", "no-verify", got another value, did you mean "require"?',
    ],
    ["written twice", "?sslmode=disable&sslmode=require", 'expected the parameter "sslmode" once'],
    [
      "that would be ignored",
      "?channel_binding=require",
      'expected an address without the parameter "channel_binding", which is not supported: leave it out',
    ],
    ["behind a #", "#sslmode=require", 'expected an address without "#" (%23 in a password)'],
    [
      "for a file that is not there",
      "?sslmode=verify-full&sslrootcert=/nowhere/secret-word.pem",
      "expected sslrootcert to be a file that can be read, got none",
    ],
    [
      "without its file",
      "?sslmode=verify-ca&uselibpqcompat=true",
      "expected sslrootcert beside sslmode=verify-ca, got none",
    ],
    ["that TLS needs", "?sslnegotiation=direct", "expected sslmode beside sslnegotiation=direct, got none"],
    [
      "of no such negotiation",
      "?sslmode=require&sslnegotiation=dirct",
      'expected sslnegotiation to be one of "postgres", "direct", got another value, did you mean "direct"?',
    ],
  ])(
    "%s is one line and exit code 78, and nothing connects without TLS",
    async (_what, parameters, says) => {
      const checked = await installation.command(["check"], { HEADGATE_STORAGE: base + parameters })
      const line = `config error: HEADGATE_STORAGE: ${says}\n`
      expect([checked.code, checked.err]).toEqual([78, `headgate: 1 problem in the configuration\n${line}`])
      expect(await start(base + parameters)).toEqual([78, line])
    },
    patience,
  )

  test(
    "in the file is told with its place",
    async () => {
      const file = join(installation.folder, "pg.json")
      writeFileSync(file, JSON.stringify({ storage: `${base}?sslmod=require` }))
      const { code, err } = await installation.command(["check", file], { HEADGATE_STORAGE: "" })
      expect([code, err]).toEqual([
        78,
        expect.stringMatching(/\nconfig error: storage: expected [^\n]*pg\.json:1:2\)\n$/),
      ])
    },
    patience,
  )

  test(
    "that the driver warns about says nothing of the driver's",
    async () => {
      const [code, err] = await start(`${base}?sslmode=require`)
      expect([code, err]).toEqual([69, expect.stringMatching(/^storage: postgres:[^\n]*cannot be reached: [^\n]*\n$/)])
    },
    patience,
  )
})

/** Whether the server challenges this role as most servers do. */
const asksBySaslFor = async (user: string, database: string): Promise<boolean> => {
  const client = new Pg.Client({ host: "127.0.0.1", port, user, database })
  const failure: unknown = await client.connect().catch((error: unknown) => error)
  await client.end()
  return String(failure).includes("SASL")
}

describePostgres("a server that asks for a password", () => {
  test(
    "which the address lacks: one sentence that says so, and exit code 78",
    async () => {
      const database = await makeDatabase()
      const says = (url: string) => `storage: ${url} asks for a password: set PGPASSWORD.\n`
      const address = urlOf(database).replace(/\/\/.*@/, "//")
      expect(await start(urlOf(database).replace(/:[^:@/]*@/, "@"))).toEqual([78, says(address)])

      // As most servers ask for it.
      const hba = await execute("postgres", "SHOW hba_file")
      const file = String(hba[0]?.rows[0]?.hba_file)
      const before = await Bun.file(file).text()
      const role = `role_${crypto.randomUUID().slice(0, 8)}`
      await execute("postgres", `CREATE ROLE ${role} LOGIN PASSWORD 'x'`)
      writeFileSync(file, `host all ${role} 127.0.0.1/32 scram-sha-256\n${before}`)
      try {
        await execute("postgres", "SELECT pg_reload_conf()")
        // The server reads the file some time after it was asked to.
        await until(() => asksBySaslFor(role, database), "the server to read its file")
        expect(await start(urlOf(database).replace(/\/\/.*@/, `//${role}@`))).toEqual([78, says(address)])
      } finally {
        writeFileSync(file, before)
        await execute("postgres", "SELECT pg_reload_conf()")
      }
    },
    patience,
  )
})
