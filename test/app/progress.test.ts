/** What takes longer than a second says so. docs/commands.md#serve */
import { Database } from "bun:sqlite"
import { afterAll, expect, test } from "bun:test"
import { mkdirSync } from "node:fs"
import { dirname, join } from "node:path"
import * as Effect from "effect/Effect"
import { ProgressLine } from "../../src/process/ProgressLine.ts"
import { schemaVersion } from "../../src/sql/tables/migrations.ts"
import { oldDatabase } from "../sql/sqlite/oldDatabase.ts"
import { heldClock } from "../support/clocks/heldClock.ts"
import { until } from "../support/clocks/until.ts"
import { install } from "../support/gateways/process.ts"

const patience = 1_800_000

const installation = install()
afterAll(() => installation.remove())

const written = (isTerminal: boolean) => {
  let text = ""
  const line = new ProgressLine(isTerminal, (more) => {
    text += more
  })
  return { line, text: () => text }
}

test("what is over before that is not mentioned", () => {
  const { line, text } = written(false)
  line.say("part 1")
  line.end()
  expect(text()).toBe("")
})

test("in a pipe there is a line for each part, and one at the end; in a terminal one line goes away", () => {
  using _held = heldClock()
  const act = ({ line, text }: ReturnType<typeof written>) => {
    line.say("part 1")
    line.show()
    line.say("part 2")
    line.end()
    return text()
  }
  expect(act(written(false))).toBe("headgate: part 1 …\nheadgate: part 2 …\nheadgate: part 2: it took 0.0 s\n")
  expect(act(written(true))).toBe("\r\u001b[Kpart 1 (0 s)\r\u001b[Kpart 2 (0 s)\r\u001b[K")
})

test(
  "a start that changes the tables of an earlier version",
  async () => {
    mkdirSync(dirname(installation.database), { recursive: true })
    await oldDatabase(installation.database, "journal", [])
    // Another program writes, so that the change has to wait.
    const other = new Database(installation.database)
    other.run("PRAGMA journal_mode = WAL")
    other.run("BEGIN IMMEDIATE")
    const gateway = installation.start({ config: { discovery: { environment: false, local: false } } })
    const change = `headgate: the tables of the database are brought from schema 4 to ${schemaVersion} …`
    await until(() => gateway.err().includes(change), "the line")
    other.run("ROLLBACK")
    other.close()
    await gateway.url()
    await until(() => /^headgate: the tables .*: it took \d/m.test(gateway.err()), "the end")
    gateway.kill("SIGKILL")
  },
  patience,
)

test(
  "a command whose thread waits for the database",
  async () => {
    await installation.ask(Effect.void)
    const other = new Database(installation.database)
    other.run("PRAGMA journal_mode = DELETE")
    other.run("BEGIN EXCLUSIVE")
    const child = Bun.spawn([process.execPath, join(import.meta.dir, "../../src/main.ts"), "reconcile"], {
      cwd: installation.folder,
      env: { PATH: process.env["PATH"] ?? "", HEADGATE_STORAGE: `sqlite:${installation.database}` },
      stdout: "pipe",
      stderr: "pipe",
    })
    let err = ""
    const reading = (async () => {
      for await (const bytes of child.stderr) err += new TextDecoder().decode(bytes)
    })()
    await until(() => err.includes("headgate: reading the database …\n"), "the line")
    other.run("ROLLBACK")
    other.close()
    expect(await child.exited).toBe(0)
    await reading
    expect(err).toMatch(/\nheadgate: reading the database: it took [\d.]+ s\n$/)
    expect(await new Response(child.stdout).text()).toBe("0 rows of the ledger, no difference\n")
  },
  patience,
)
