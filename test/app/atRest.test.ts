/** What the gateway leaves on a disk: who may read it, and where the first keys are. docs/guarantees.md#g24 */
import { afterAll, describe, expect, test } from "bun:test"
import { chmodSync, mkdirSync, readdirSync, readFileSync, statSync, writeFileSync } from "node:fs"
import { dirname, join } from "node:path"
import { isOutputKept } from "../../src/app/start/firstKeys.ts"
import { installCatalogue } from "../../src/config/installedCatalogue.ts"
import { oldDatabase } from "../sql/sqlite/oldDatabase.ts"
import { until } from "../support/clocks/until.ts"
import {
  firstKey,
  firstManagementKey,
  type Installation,
  install,
  type StartOptions,
} from "../support/gateways/process.ts"
import { describePostgres, makeDatabase, urlOf } from "../support/storage/postgres.ts"

const patience = 1_800_000

const closing: Array<() => unknown> = []
afterAll(() => Promise.all(closing.map((close) => close())))

const installed = (): Installation => {
  const installation = install()
  closing.push(installation.remove)
  return installation
}

const bare = { discovery: { environment: false, local: false } }

/** Starts a process that inherits this umask. */
const withUmask = <A>(umask: number, start: () => A): A => {
  const before = process.umask(umask)
  try {
    return start()
  } finally {
    process.umask(before)
  }
}

const startWith = (umask: number, installation: Installation, options: StartOptions) =>
  withUmask(umask, () => installation.start(options))

const modeOf = (path: string): string => (statSync(path).mode & 0o777).toString(8)

/** The mode of a folder as `.`, and of what is in it. */
const modesIn = (folder: string): Readonly<Record<string, string>> => ({
  ".": modeOf(folder),
  ...Object.fromEntries(readdirSync(folder).map((name) => [name, modeOf(join(folder, name))])),
})

describe.concurrent.each([0o022, 0o000])("with umask %o", (umask) => {
  test(
    "only the user of the gateway may read its database, its journals, a backup and the first keys",
    async () => {
      const installation = installed()
      const folder = dirname(installation.database)
      const env = { INVOCATION_ID: "4f1c2d" }
      const gateway = startWith(umask, installation, { config: bare, env })
      const url = await gateway.url()
      await until(() => gateway.err().includes("first-keys.txt"), "the line about the keys")
      expect(modesIn(folder)).toEqual({
        ".": "700",
        "first-keys.txt": "600",
        "headgate.db": "600",
        "headgate.db-shm": "600",
        "headgate.db-wal": "600",
        "headgate.db.ballast": "600",
        "headgate.db.lock": "600",
      })
      const copy = join(installation.folder, "copy.db")
      const key = firstManagementKey(readFileSync(join(folder, "first-keys.txt"), "utf8"))
      const words = [process.execPath, join(import.meta.dir, "../../src/main.ts"), "backup", copy, "--url", url]
      const options = { env: { ...process.env, HEADGATE_MANAGEMENT_KEY: key }, stdout: "ignore" } as const
      expect(await withUmask(umask, () => Bun.spawn(words, options)).exited).toBe(0)
      expect(modeOf(copy)).toBe("600")
      gateway.kill("SIGKILL")
    },
    patience,
  )
})

describePostgres("with PostgreSQL and umask 0", () => {
  test(
    "only the user of the gateway may read its spool and the first keys",
    async () => {
      const installation = installed()
      const folder = join(installation.folder, "var", "spool")
      const env = { HEADGATE_STORAGE: urlOf(await makeDatabase()), container: "docker" }
      const gateway = startWith(0, installation, { config: { ...bare, spool_folder: folder }, env })
      await gateway.url()
      await until(() => gateway.err().includes("first-keys.txt"), "the line about the keys")
      const modes = modesIn(folder)
      expect(Object.keys(modes).some((name) => /^spool-.*\.db$/.test(name))).toBe(true)
      expect({ ...modes, ...modesIn(dirname(folder)) }).toMatchObject({
        ".": "700",
        "first-keys.txt": "600",
        spool: "700",
      })
      expect(Object.entries(modes).filter(([name, mode]) => name !== "." && mode !== "600")).toEqual([])
      gateway.kill("SIGKILL")
    },
    patience,
  )
})

describe.concurrent("a database of the operator's own", () => {
  test(
    "is left as it is, and a line says that all can read it; the copy before its migration is private",
    async () => {
      const installation = installed()
      const { database, folder } = installation
      chmodSync(folder, 0o755)
      mkdirSync(dirname(database), { mode: 0o755 })
      await oldDatabase(database, "plan_of_a_ledger_row", [])
      chmodSync(database, 0o644)
      const gateway = startWith(0, installation, { config: bare })
      await gateway.url()
      const modes = modesIn(dirname(database))
      expect(modes).toMatchObject({ ".": "755", "headgate.db": "644", "headgate.db.ballast": "600" })
      const copy = Object.entries(modes).find(([name]) => name.includes(".schema-"))
      expect(copy?.[1]).toBe("600")
      gateway.kill("SIGTERM")
      await gateway.exited
      expect(gateway.err()).toContain(`every user of this machine can read the database: chmod 600 ${database}*`)

      // What others cannot reach is no one's to read.
      chmodSync(folder, 0o700)
      const again = installation.start()
      await again.url()
      expect(again.err()).not.toContain("every user")
      again.kill("SIGKILL")
    },
    patience,
  )
})

describe.concurrent("the first keys under a service manager", () => {
  const systemd = { INVOCATION_ID: "4f1c2d" }

  test(
    "work, stand in a file and nowhere else, and each start says so while the file is there",
    async () => {
      const installation = installed()
      const file = join(dirname(installation.database), "first-keys.txt")
      const first = installation.start({ config: bare, env: systemd })
      const url = await first.url()
      await until(() => first.err().includes(file), "the line about the keys")
      const text = readFileSync(file, "utf8")
      expect(text).toContain("move this file away")
      const ask = (path: string, key: string) => fetch(`${url}${path}`, { headers: { authorization: `Bearer ${key}` } })
      expect((await ask("/auth/key", firstKey(text))).status).toBe(200)
      expect((await ask("/keys", firstManagementKey(text))).status).toBe(200)
      expect(first.out() + first.err()).not.toContain("sk-gw")
      first.kill("SIGTERM")
      await first.exited

      const second = installation.start({ env: systemd })
      await second.url()
      await until(() => second.err().includes(`the first keys are still in ${file}: move it away`), "the reminder")
      second.kill("SIGKILL")
      expect(readFileSync(file, "utf8")).toBe(text)
    },
    patience,
  )

  test(
    "never take the place of a file that is there",
    async () => {
      const installation = installed()
      const folder = dirname(installation.database)
      mkdirSync(folder)
      writeFileSync(join(folder, "first-keys.txt"), "those of another database")
      const gateway = installation.start({ config: bare, env: systemd })
      await until(() => gateway.err().includes("first-keys-2.txt"), "the line about the keys")
      expect(readFileSync(join(folder, "first-keys.txt"), "utf8")).toBe("those of another database")
      expect(modeOf(join(folder, "first-keys-2.txt"))).toBe("600")
      gateway.kill("SIGKILL")
    },
    patience,
  )

  test(
    "are not made with HEADGATE_MANAGEMENT_KEY, and not while their file cannot be written",
    async () => {
      const installation = installed()
      const folder = join(installation.folder, "no-folder")
      writeFileSync(folder, "")
      const memory = { ...bare, spool_folder: folder }
      const env = { ...systemd, HEADGATE_STORAGE: "memory:" }
      const gateway = installation.start({ config: memory, env })
      await gateway.url()
      await until(() => gateway.err().includes("no first keys were made"), "the line about the keys")
      gateway.kill("SIGKILL")

      const key = "the-operators-own-key-of-32-characters"
      const other = installation.start({ config: bare, env: { ...systemd, HEADGATE_MANAGEMENT_KEY: key } })
      const url = await other.url()
      expect((await fetch(`${url}/keys`, { headers: { authorization: `Bearer ${key}` } })).status).toBe(200)
      expect(readdirSync(dirname(installation.database)).filter((name) => name.includes("keys"))).toEqual([])
      expect(other.out() + other.err()).not.toContain("sk-gw")
      other.kill("SIGKILL")
    },
    patience,
  )
})

test.each([
  ["a terminal", {}, { output: "terminal", pid: 1 }, false],
  ["a terminal below systemd", { INVOCATION_ID: "4f1c2d" }, { output: "terminal", pid: 7 }, false],
  ["a pipe in a shell", {}, { output: "pipe", pid: 7 }, false],
  ["a file, as nohup has it", {}, { output: "file", pid: 7 }, true],
  ["/dev/null", {}, { output: "none", pid: 7 }, true],
  ["variables that are empty", { container: "", INVOCATION_ID: "" }, { output: "pipe", pid: 7 }, false],
  ["a unit of systemd", { INVOCATION_ID: "4f1c2d" }, { output: "pipe", pid: 7 }, true],
  ["its journal", { JOURNAL_STREAM: "8:7" }, { output: "pipe", pid: 7 }, true],
  ["Kubernetes", { KUBERNETES_SERVICE_HOST: "10.0.0.1" }, { output: "pipe", pid: 7 }, true],
  ["our image", { container: "docker" }, { output: "pipe", pid: 7 }, true],
  ["another image", {}, { output: "pipe", pid: 1 }, true],
] as const)("whether what %s shows is kept by others", (_, env, process, kept) => {
  expect(isOutputKept(env, process)).toBe(kept)
})

test("only the user of the program may read the catalogue file that it writes", async () => {
  const file = join(installed().folder, "catalogue.json")
  await withUmask(0, () => installCatalogue(file, new Map()))
  expect(modeOf(file)).toBe("600")
})
