/** Files that `headgate reconcile` cannot read. It writes nothing, so it makes none either. */
import { Database } from "bun:sqlite"
import { afterAll, describe, expect, test } from "bun:test"
import { existsSync, mkdirSync, writeFileSync } from "node:fs"
import { dirname } from "node:path"
import { type Installation, install } from "../support/gateways/process.ts"

const patience = 1_800_000

const installations: Array<Installation> = []
afterAll(() => Promise.all(installations.map(({ remove }) => remove())))

const installed = (): Installation => {
  const installation = install()
  installations.push(installation)
  mkdirSync(dirname(installation.database))
  writeFileSync(`${installation.folder}/headgate.config.json`, "{}")
  return installation
}

const lineOf = (why: string) => expect.stringMatching(new RegExp(`^headgate: [^\\n]*${why}[^\\n]*\\n$`))

describe.concurrent("reconcile refuses", () => {
  test(
    "a path without a file",
    async () => {
      const { command, database } = installed()
      expect(await command(["reconcile"])).toEqual({ code: 66, out: "", err: lineOf("there is no such file") })
      expect(existsSync(database)).toBe(false)
    },
    patience,
  )

  test.each<[what: string, make: (path: string) => void, why: string]>([
    ["a file that is no database", (path) => writeFileSync(path, "x".repeat(5000)), "it is not a database"],
    ["an empty file", (path) => writeFileSync(path, ""), "schema 0 is older than this binary"],
    [
      "another program's database",
      (path) => {
        const db = new Database(path)
        db.run("CREATE TABLE t (a)")
        db.close()
      },
      "it belongs to another program",
    ],
  ])(
    "%s",
    async (_what, make, why) => {
      const { command, database } = installed()
      make(database)
      expect(await command(["reconcile"])).toEqual({ code: 65, out: "", err: lineOf(why) })
    },
    patience,
  )

  test(
    "a configuration with storage in memory",
    async () => {
      const { command } = installed()
      const ended = await command(["audit", "verify"], { HEADGATE_STORAGE: "memory:" })
      expect(ended).toEqual({ code: 78, out: "", err: lineOf("ends with the gateway, so there is nothing to read") })
    },
    patience,
  )
})
