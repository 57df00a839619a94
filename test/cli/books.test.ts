/** `headgate reconcile` and `headgate audit verify` on the file of a gateway that runs. docs/commands.md, docs/guarantees.md#g32 */
import { Database } from "bun:sqlite"
import { afterAll, beforeEach, describe, expect, test } from "bun:test"
import { firstKey, firstManagementKey, type Installation, install } from "../support/process.ts"
import { until } from "../support/rawHost.ts"

const patience = 60_000
const bare = { discovery: { environment: false, local: false } }

const installations: Array<Installation> = []
afterAll(() => Promise.all(installations.map(({ remove }) => remove())))

const installed = (): Installation => {
  const installation = install()
  installations.push(installation)
  return installation
}

/** A gateway that has answered two requests, and changed a key of its first start's two. */
const used = async () => {
  const installation = installed()
  const gateway = installation.start({ config: bare })
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

/** What who has the file can do: no trigger stops it. */
const tamper = (path: string, ...statements: ReadonlyArray<string>) => {
  const db = new Database(path)
  const triggers = db.query<{ name: string }, []>("SELECT name FROM sqlite_schema WHERE type = 'trigger'").all()
  for (const { name } of triggers) db.run(`DROP TRIGGER ${name}`)
  for (const statement of statements) db.run(statement)
  db.close()
}

let gateway: Awaited<ReturnType<typeof used>>
beforeEach(async () => {
  gateway = await used()
}, patience)

describe("audit verify", () => {
  test(
    "finds the rows of the gateway's changes in order, and names one that was changed or is gone",
    async () => {
      const { installation, hash, actor } = gateway
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

describe("reconcile", () => {
  test(
    "finds no difference, then names each sum that is not what its rows come to",
    async () => {
      const { installation, hash } = gateway
      expect(await installation.command(["reconcile"])).toEqual({
        code: 0,
        out: "2 rows of the ledger, no difference\n",
        err: "",
      })
      tamper(
        installation.database,
        "UPDATE spend SET amount = amount + 5000000 WHERE window_kind = 'total'",
        "DELETE FROM spend WHERE window_kind = 'monthly'",
        "INSERT INTO spend VALUES ('ghost', 'daily', 86400000, 1)",
      )
      const { code, out, err } = await installation.command(["reconcile"])
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
      const { installation, hash } = gateway
      expect(await installation.command(["reconcile", "--reprice"])).toEqual({
        code: 0,
        out: "2 rows computed anew, no difference\n",
        err: "",
      })
      tamper(installation.database, "UPDATE ledger SET cost = cost + 1000000 WHERE seq = 1")
      const { code, out, err } = await installation.command(["reconcile", "--reprice"])
      expect(out).toMatch(new RegExp(`^req_\\S+\\t${hash}\\t\\S+ \\S+\\t0\\.000007\\t0\\.000006\\n$`))
      expect([code, err]).toEqual([1, "headgate: 1 of 2 rows do not cost what their usage and prices come to\n"])
      const json = JSON.parse((await installation.command(["reconcile", "--reprice", "--json"])).out)
      expect(json).toMatchObject({ rows: 2, too_old: 0, differences: [{ key: hash, computed_usd: "0.000006" }] })
    },
    patience,
  )
})
