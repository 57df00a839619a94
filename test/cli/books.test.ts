/** `headgate reconcile` and `headgate audit verify` on the file of a gateway that runs. docs/commands.md, docs/guarantees.md#g32 */
import { Database } from "bun:sqlite"
import { afterAll, describe, expect, test } from "bun:test"
import { writeFileSync } from "node:fs"
import { join } from "node:path"
import { until } from "../support/clocks/until.ts"
import { firstKey, firstManagementKey, type Installation, install } from "../support/gateways/process.ts"
import { describePostgres, execute, makeDatabase, urlOf } from "../support/storage/postgres.ts"

const patience = 1_800_000
const bare = { discovery: { environment: false, local: false } }

const installations: Array<Installation> = []
afterAll(() => Promise.all(installations.map(({ remove }) => remove())))

const installed = (): Installation => {
  const installation = install()
  installations.push(installation)
  return installation
}

/** A gateway that has answered two requests, and changed a key of its first start's two. */
const used = async (env: Readonly<Record<string, string>> = {}) => {
  const installation = installed()
  const gateway = installation.start({ config: bare, env })
  const url = await gateway.url()
  await until(() => gateway.out().includes("curl "), "the keys")
  const headers = (key: string) => ({ authorization: `Bearer ${key}`, "content-type": "application/json" })
  const body = JSON.stringify({ model: "headgate/echo", messages: [{ role: "user", content: "Hello, gateway!" }] })
  for (const _ of [1, 2]) {
    const answer = await fetch(`${url}/chat/completions`, {
      method: "POST",
      headers: headers(firstKey(gateway.out())),
      body,
    })
    expect(answer.status).toBe(200)
  }
  const managementKey = firstManagementKey(gateway.out())
  const hash = Bun.SHA256.hash(firstKey(gateway.out()), "hex")
  const changed = { method: "PATCH", headers: headers(managementKey), body: JSON.stringify({ name: "renamed" }) }
  expect((await fetch(`${url}/keys/${hash}`, changed)).status).toBe(200)
  return { installation, hash, actor: Bun.SHA256.hash(managementKey, "hex") }
}

let started: ReturnType<typeof used> | undefined

/** One such gateway for all tests that leave its file as it is, and change copies of it. */
const running = () => {
  started ??= used()
  return started
}

/** The variable that names a copy of the installation's database, in which these statements were run. */
const tamperedCopy = ({ database, folder }: Installation, ...statements: ReadonlyArray<string>) => {
  const copy = join(folder, `${crypto.randomUUID()}.db`)
  const db = new Database(database)
  db.run("VACUUM INTO ?", [copy])
  db.close()
  tamper(copy, ...statements)
  return { HEADGATE_STORAGE: `sqlite:${copy}` }
}

/** What who has the file can do: no trigger stops it, and none is missing afterwards. */
const tamper = (path: string, ...statements: ReadonlyArray<string>) => {
  const db = new Database(path)
  const ofTriggers = "SELECT name, sql FROM sqlite_schema WHERE type = 'trigger'"
  const triggers = db.query<{ name: string; sql: string }, []>(ofTriggers).all()
  for (const { name } of triggers) db.run(`DROP TRIGGER ${name}`)
  for (const statement of statements) db.run(statement)
  for (const { sql } of triggers) db.run(sql)
  db.close()
}

describe("audit verify", () => {
  test(
    "finds the rows of the gateway's changes in order, and names one that was changed or is gone",
    async () => {
      const { installation, hash, actor } = await used()
      const whole = await installation.command(["audit", "verify"])
      expect(whole).toMatchObject({ code: 0, err: "" })
      expect(whole.out).toStartWith("3 rows of the audit log, unbroken; the last one's hash is ")
      const db = new Database(installation.database, { readonly: true })
      const rows = db.query("SELECT actor, action, object FROM audit WHERE seq > 1 ORDER BY seq").all()
      const [secrets] = db
        .query("SELECT COUNT(*) AS n FROM audit WHERE changes LIKE '%sk-gw%' AND changes NOT LIKE '%...%'")
        .all()
      db.close()
      expect(rows).toEqual([
        { actor: "gateway", action: "key.create", object: hash },
        { actor, action: "key.update", object: hash },
      ])
      expect(secrets).toEqual({ n: 0 })

      tamper(installation.database, "UPDATE audit SET actor = 'nobody' WHERE seq = 2")
      expect(await installation.command(["audit", "verify"])).toEqual({
        code: 1,
        out: "",
        err: "headgate: audit row 2 was changed, or stands in another place than it was written\n",
      })
      tamper(installation.database, "DELETE FROM audit WHERE seq = 2")
      const gone = await installation.command(["audit", "verify", "--json"])
      expect([gone.code, JSON.parse(gone.out)]).toEqual([1, { ok: false, broken: { seq: 2, why: "is missing" } }])
    },
    patience,
  )
})

test(
  "uncharged says by key what hosts asked and callers did not pay",
  async () => {
    const { installation, hash } = await running()
    expect(await installation.command(["uncharged"])).toMatchObject({ code: 0, out: "" })
    const rare = `'{"unchargedAtMost":7000000}'`
    const statement = `UPDATE ledger SET upstream_cost = upstream_cost + 5000000, rare_usage = ${rare}`
    const copy = tamperedCopy(installation, statement)
    expect((await installation.command(["uncharged"], copy)).out.trimEnd().split("\t")).toEqual([
      ...[hash, "2", "0.00001", "0.000014"],
    ])
    expect(JSON.parse((await installation.command(["uncharged", "--json"], copy)).out)).toEqual({
      keys: [{ key: hash, rows: 2, free_usd: "0.00001", estimated_at_most_usd: "0.000014" }],
    })
  },
  patience,
)

describe("reconcile", () => {
  test(
    "finds no difference, then names each sum that is not what its rows come to",
    async () => {
      const { installation, hash } = await running()
      expect(await installation.command(["reconcile"])).toEqual({
        code: 0,
        out: "2 rows of the ledger, no difference\n",
        err: "",
      })
      const copy = tamperedCopy(
        installation,
        "UPDATE spend SET amount = amount + 5000000 WHERE window_kind = 'total'",
        "DELETE FROM spend WHERE window_kind = 'monthly'",
        "INSERT INTO spend VALUES ('ghost', 'daily', 86400000, 1)",
      )
      const { code, out, err } = await installation.command(["reconcile"], copy)
      const month = `${new Date().toISOString().slice(0, 7)}-01`
      expect(
        out
          .trimEnd()
          .split("\n")
          .map((line) => line.split("\t")),
      ).toEqual([
        [hash, "total", "0.000012", "0.000017", "0.000005"],
        [hash, `monthly ${month}`, "0.000012", "0", "-0.000012"],
        ["ghost", "daily 1970-01-02", "0", "0.000000000001", "0.000000000001"],
      ])
      expect([code, err]).toEqual([1, "headgate: 3 sums are not what the 2 rows of the ledger come to\n"])
    },
    patience,
  )

  test(
    "--reprice computes each row anew, and names one that costs something else",
    async () => {
      const { installation, hash } = await running()
      expect(await installation.command(["reconcile", "--reprice"])).toEqual({
        code: 0,
        out: "2 rows computed anew, no difference\n",
        err: "",
      })
      const copy = tamperedCopy(installation, "UPDATE ledger SET cost = cost + 1000000 WHERE seq = 1")
      const { code, out, err } = await installation.command(["reconcile", "--reprice"], copy)
      expect(out).toMatch(new RegExp(`^req_\\S+\\t${hash}\\t\\S+ \\S+\\t0\\.000007\\t0\\.000006\\n$`))
      expect([code, err]).toEqual([1, "headgate: 1 of 2 rows do not cost what their usage and prices come to\n"])
      const json = JSON.parse((await installation.command(["reconcile", "--reprice", "--json"], copy)).out)
      expect(json).toMatchObject({ rows: 2, too_old: 0, differences: [{ key: hash, computed_usd: "0.000006" }] })
    },
    patience,
  )

  test(
    "--reprice --with-config shows what a correction of prices comes to, by key and host and in all",
    async () => {
      const { installation, hash } = await running()
      const file = join(installation.folder, "corrected.json")
      const correct = (prompt: string) => {
        const pricing = { prompt, completion: "0.000002" }
        const model = { id: "headgate/echo", context_length: 100_000, hosts: [{ provider: "echo", pricing }] }
        writeFileSync(file, JSON.stringify({ ...bare, models: [model] }))
      }
      const run = (...words: ReadonlyArray<string>) => installation.command(["reconcile", ...words])
      correct("0.000001")
      expect(await run("--reprice", "--with-config", file)).toEqual({
        code: 0,
        out: "2 rows computed at these prices, no difference; 0 left out\n",
        err: "",
      })
      correct("0.000003")
      const { code, out } = await run("--reprice", "--with-config", file)
      const lines = out.trimEnd().split("\n")
      expect([code, ...lines.map((line) => line.split("\t"))]).toEqual([
        0,
        [hash, "headgate/echo echo", "2", "0.000012", "0.00002", "0.000008"],
        ["total", "", "2", "0.000012", "0.00002", "0.000008"],
      ])
      expect(JSON.parse((await run("--reprice", "--with-config", file, "--json")).out)).toEqual({
        ...{ rows: 2, left_out: 0, charged_usd: "0.000012", computed_usd: "0.00002" },
        changes: [
          {
            key: hash,
            model: "headgate/echo",
            host: "echo",
            rows: 2,
            charged_usd: "0.000012",
            computed_usd: "0.00002",
          },
        ],
      })
      // As the gateway charged it.
      expect((await run("--reprice")).code).toBe(0)
      expect(await run("--with-config", file)).toMatchObject({
        code: 64,
        err: "headgate: --with-config goes with --reprice\n",
      })
      // As from a variable of the shell that is not set.
      expect(await run("--reprice", "--with-config", "")).toMatchObject({
        code: 64,
        err: "headgate: --with-config: expected the path of a file, got nothing\n",
      })
      const absent = await run("--reprice", "--with-config", join(installation.folder, "absent.json"))
      expect([absent.code, absent.err]).toEqual([
        78,
        expect.stringMatching(/^headgate: --with-config: expected the path of a file, but there is no .*\n$/),
      ])
    },
    patience,
  )
})

describePostgres("on PostgreSQL", () => {
  test(
    "reconcile and audit verify said that there is no SQLite file: they read the database, and write nothing",
    async () => {
      const database = await makeDatabase()
      const env = { HEADGATE_STORAGE: urlOf(database) }
      const { installation, hash } = await used(env)
      const run = (...words: ReadonlyArray<string>) => installation.command(words, env)
      expect(await run("reconcile")).toEqual({ code: 0, out: "2 rows of the ledger, no difference\n", err: "" })
      expect((await run("reconcile", "--reprice")).out).toBe("2 rows computed anew, no difference\n")
      expect((await run("audit", "verify")).out).toStartWith("3 rows of the audit log, unbroken; ")
      await execute(
        database,
        "UPDATE headgate.spend SET amount = amount + 5000000 WHERE window_kind = 'total'",
        "ALTER TABLE headgate.audit DISABLE TRIGGER ALL",
        "UPDATE headgate.audit SET actor = 'nobody' WHERE seq = 2",
        "ALTER TABLE headgate.audit ENABLE TRIGGER ALL",
      )
      expect(await run("reconcile")).toEqual({
        code: 1,
        out: `${hash}\ttotal\t0.000012\t0.000017\t0.000005\n`,
        err: "headgate: 1 sums are not what the 2 rows of the ledger come to\n",
      })
      expect(await run("audit", "verify")).toMatchObject({
        code: 1,
        err: "headgate: audit row 2 was changed, or stands in another place than it was written\n",
      })
    },
    patience,
  )

  test(
    "a database that is empty, unknown or away is told apart, and no password is shown",
    async () => {
      const database = await makeDatabase()
      const installation = installed()
      writeFileSync(join(installation.folder, "headgate.config.json"), JSON.stringify(bare))
      const run = (url: string) => installation.command(["reconcile"], { HEADGATE_STORAGE: url })
      const url = urlOf(database)
      expect(await run(url)).toMatchObject({ code: 66, err: expect.stringContaining("has no tables of Headgate.") })
      expect(await run(`${url}_not`)).toMatchObject({ code: 78, err: expect.stringContaining("does not exist") })
      const away = await run("postgres://user:s3cret@127.0.0.1:1/db")
      expect([away.code, away.err.includes("s3cret")]).toEqual([69, false])
      expect(away.err).toStartWith("headgate: storage: postgres://127.0.0.1:1/db cannot be reached: ")
    },
    patience,
  )
})
