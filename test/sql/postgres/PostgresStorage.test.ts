/** What is PostgreSQL's own: who may open a database, its migrations, and connections that break. */
import { afterEach, expect, test } from "bun:test"
import { chownSync, mkdtempSync, rmSync, statSync, writeFileSync } from "node:fs"
import { tmpdir } from "node:os"
import { dirname, join } from "node:path"
import sqlPg from "@effect/sql-pg/package.json"
import * as Cause from "effect/Cause"
import type * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Logger from "effect/Logger"
import * as Redacted from "effect/Redacted"
import * as Scope from "effect/Scope"
import type { Storage } from "../../../src/services/storage/Storage.ts"
import { StorageUnavailable } from "../../../src/services/storage/StorageUnavailable.ts"
import { migrateDatabase, openDatabase } from "../../../src/sql/postgres/postgresDatabase.ts"
import { readDatabase } from "../../../src/sql/postgres/postgresRead.ts"
import { ledgerLength } from "../../../src/sql/repositories/ledgerRepository.ts"
import type { StorageNotOpened } from "../../../src/sql/StorageNotOpened.ts"
import { schemaVersion, steps } from "../../../src/sql/tables/migrations.ts"
import { query } from "../../../src/sql/tables/query.ts"
import { tcpProxy } from "../../support/clients/tcpProxy.ts"
import { until } from "../../support/clocks/until.ts"
import {
  connect,
  describePostgres,
  execute,
  makeDatabase,
  port,
  redactedUrlOf,
  urlOf,
} from "../../support/storage/postgres.ts"
import { makeAuthority } from "../../upstream/certificates.ts"
import { alice, bob, sampleKey, sampleRow, someone } from "../samples.ts"
import { oldPostgres } from "../sqlite/oldDatabase.ts"

type Service = Context.Tag.Service<typeof Storage>

const at = 1_760_000_000_000

/** As a busy machine needs it. A test in which a limit is reached has a shorter one, and no other. */
const patience = { connectMs: 20_000, statementMs: 20_000, silenceMs: 30_000, appendMs: 20_000 }

const closing: Array<() => unknown> = []
afterEach(async () => {
  for (const close of closing.splice(0).toReversed()) await close()
})

interface Opened {
  readonly storage: Service
  readonly close: () => Promise<void>
}

const open = async (url: Redacted.Redacted, limits = patience): Promise<Opened> => {
  const scope = Effect.runSync(Scope.make())
  const close = () => Effect.runPromise(Scope.close(scope, Exit.void))
  closing.push(close)
  const storage = await Effect.runPromise(
    openDatabase({ url, durability: "full" }, limits).pipe(
      Scope.extend(scope),
      Effect.provide(Logger.remove(Logger.defaultLogger)),
    ),
  )
  return { storage, close }
}

const notOpened = (url: Redacted.Redacted, limits = patience): Promise<StorageNotOpened> =>
  Effect.runPromise(
    Effect.flip(Effect.scoped(openDatabase({ url, durability: "full" }, limits))).pipe(
      Effect.provide(Logger.remove(Logger.defaultLogger)),
    ),
  )

/** Turns TLS on. Parameters of a URL that verify the server's certificate, and fail to. */
const serveTls = async () => {
  const [found] = await execute("postgres", "SHOW data_directory")
  const folder = found?.rows[0]?.data_directory
  const authority = makeAuthority()
  const { key, cert } = authority.identity({ name: "127.0.0.1" })
  const ca = join(mkdtempSync(join(tmpdir(), "headgate-ca-")), "ca.pem")
  closing.push(() => rmSync(dirname(ca), { recursive: true }))
  writeFileSync(ca, authority.ca)
  writeFileSync(join(folder, "server.crt"), cert)
  writeFileSync(join(folder, "server.key"), key, { mode: 0o600 })
  // The server's user differs from ours where the tests run as root.
  const { uid, gid } = statSync(join(folder, "PG_VERSION"))
  for (const file of ["server.crt", "server.key"]) chownSync(join(folder, file), uid, gid)
  await execute("postgres", "ALTER SYSTEM SET ssl = on", "SELECT pg_reload_conf()")
  await until(async () => (await execute("postgres", "SHOW ssl"))[0]?.rows[0]?.ssl === "on")
  return { verified: `sslmode=verify-full&sslrootcert=${ca}`, unverified: "sslmode=verify-full" }
}

const tablesOf = async (database: string) => {
  const [found] = await execute(
    database,
    `SELECT schemaname || '.' || tablename AS name FROM pg_tables
      WHERE schemaname NOT IN ('pg_catalog', 'information_schema') ORDER BY 1`,
  )
  return found?.rows.map(({ name }) => name)
}

const ourTables = [
  "alert_deliveries",
  "alerts",
  "audit",
  "audit_head",
  "daily_sums",
  "free_requests",
  "host_stats",
  "idempotency_bytes",
  "idempotency_keys",
  "installation",
  "key_secrets",
  "keys",
  "leases",
  "ledger",
  "live_answers",
  "live_questions",
  "migrations",
  "open_requests",
  "positions",
  "price_versions",
  "provider_spend",
  "rate_shares",
  "rate_uses",
  "slices",
  "spend",
  "requests",
  "sessions",
  "unknown_requests",
  "summed_ledger",
  "failures",
  "first_tokens",
  "hourly_keys",
  "hourly_ledger",
  "hourly_sums",
  "user_sums",
]
  .toSorted()
  .map((name) => `headgate.${name}`)
const allSteps = Object.keys(steps).map((name) => Number.parseInt(name, 10))

test("the versions that @effect/sql-pg wants are installed", async () => {
  for (const [name, range] of Object.entries(sqlPg.peerDependencies)) {
    const { version } = await import(`${name}/package.json`)
    expect([name, range, Bun.semver.satisfies(version, range)]).toEqual([name, range, true])
  }
  // One copy: the pool is made by our import and used by theirs.
  const theirs = Bun.resolveSync("pg", Bun.resolveSync("@effect/sql-pg/PgClient", import.meta.dir))
  expect(theirs).toBe(Bun.resolveSync("pg", import.meta.dir))
})

describePostgres("a database of PostgreSQL", () => {
  test("keeps what it was given, and its id, for the next gateway", async () => {
    const url = redactedUrlOf(await makeDatabase())
    const first = await open(url)
    await Effect.runPromise(first.storage.keys.insert(sampleKey(alice), someone))
    await Effect.runPromise(first.storage.ledger.append([sampleRow("r1", { cost: 7n })]))
    await first.close()

    const second = await open(url)
    expect(second.storage.installation).toBe(first.storage.installation)
    // Its backups are made by its own tool.
    const copied = await Effect.runPromise(Effect.flip(second.storage.copy ?? Effect.dieMessage("no word of it")))
    expect(copied).toMatchObject({ _tag: "NoCopy", instead: expect.stringContaining("pg_dump --schema=headgate") })
    expect(await Effect.runPromise(second.storage.keys.find(alice))).toEqual(sampleKey(alice))
    expect((await Effect.runPromise(second.storage.ledger.spend(alice, at))).total).toBe(7n)
  })

  test("has all its tables in one schema, beside those of others", async () => {
    const database = await makeDatabase()
    await execute(database, "CREATE TABLE migrations (theirs TEXT)", "CREATE TABLE keys (theirs TEXT)")
    await open(redactedUrlOf(database))
    expect(await tablesOf(database)).toEqual([...ourTables, "public.keys", "public.migrations"])
  })

  test("sums the ledger by day, over the rows in the kept sums and those after them", async () => {
    const database = await makeDatabase()
    const { storage } = await open(redactedUrlOf(database))
    const day = 1_759_968_000_000
    const rows = Array.from({ length: 300 }, (_, at) =>
      sampleRow(`r${at}`, {
        admittedAt: day + at,
        key: at % 3 === 0 ? alice : bob,
        cost: BigInt(at),
        promptTokens: at,
      }),
    )
    await Effect.runPromise(storage.ledger.append(rows.slice(0, 260)))
    const summed = "SELECT summed_to FROM headgate.summed_ledger"
    await until(async () => Number((await execute(database, summed))[0]?.rows[0]?.summed_to) === 260)
    await Effect.runPromise(storage.ledger.append(rows.slice(260)))
    const [byHost, byKey, total] = await Effect.runPromise(
      Effect.all([
        storage.activity.sums({ days: [day], by: "host" }),
        storage.activity.sums({ days: [day], by: "key", key: alice }),
        storage.activity.total(),
      ]),
    )
    const sumOf = (some: ReadonlyArray<(typeof rows)[number]>) => ({
      requests: some.length,
      promptTokens: some.reduce((sum, { promptTokens }) => sum + promptTokens, 0),
      cost: some.reduce((sum, { cost }) => sum + cost, 0n),
    })
    expect(byHost).toMatchObject([sumOf(rows)])
    expect(byKey).toMatchObject([{ key: alice, ...sumOf(rows.filter(({ key }) => key === alice)) }])
    expect(total).toBe(sumOf(rows).cost)
  })

  test("lists activity by characters, where the server sorts by its language", async () => {
    const database = `icu_${crypto.randomUUID().slice(0, 8)}`
    const locale = "LOCALE_PROVIDER icu ICU_LOCALE 'en-US' LOCALE 'C'"
    await execute("postgres", `CREATE DATABASE ${database} ENCODING 'UTF8' ${locale} TEMPLATE template0`)
    const { storage } = await open(redactedUrlOf(database))
    const rows = ["b", "B", "a", "Z"].map((host) => sampleRow(host, { host, admittedAt: at }))
    await Effect.runPromise(storage.ledger.append(rows))
    const days = [at - (at % 86_400_000)]
    const sums = await Effect.runPromise(storage.activity.sums({ days, by: "host" }))
    expect(sums.map(({ host }) => host)).toEqual(["B", "Z", "a", "b"])
  })

  test("sums that two gateways advance at once have every row once", async () => {
    const database = await makeDatabase()
    const both = await Promise.all([open(redactedUrlOf(database)), open(redactedUrlOf(database))])
    const day = 1_759_968_000_000
    const batchesOf = (name: string) =>
      Array.from({ length: 40 }, (_, batch) =>
        Array.from({ length: 16 }, (_, at) => sampleRow(`${name}${batch}-${at}`, { admittedAt: day, cost: 3n })),
      )
    const written = both.flatMap(({ storage }, at) =>
      batchesOf(`g${at}-`).map((rows) => Effect.runPromise(storage.ledger.append(rows))),
    )
    await Promise.all(written)
    const last = "SELECT (SELECT summed_to FROM headgate.summed_ledger) > 0 AS some"
    await until(async () => (await execute(database, last))[0]?.rows[0]?.some === true)
    for (const { storage } of both) {
      const [sum] = await Effect.runPromise(storage.activity.sums({ days: [day], by: "host" }))
      expect(sum).toMatchObject({ requests: 1280, cost: 3840n })
    }
  })

  test("refuses changes of the ledger", async () => {
    const database = await makeDatabase()
    const { storage } = await open(redactedUrlOf(database))
    await Effect.runPromise(storage.ledger.append([sampleRow("r1")]))
    for (const statement of [
      "UPDATE headgate.ledger SET cost = 0",
      "DELETE FROM headgate.ledger",
      "TRUNCATE headgate.ledger",
    ])
      expect(execute(database, statement)).rejects.toThrow("the ledger is append-only")
  })

  test("batches at once, over the same keys in any order, are all counted", async () => {
    const { storage } = await open(redactedUrlOf(await makeDatabase()))
    const batches = Array.from({ length: 40 }, (_, batch) => {
      const rows = [alice, bob].map((key) => sampleRow(`${batch}-${key}`, { key, cost: BigInt(batch) }))
      return batch % 2 === 0 ? rows : rows.toReversed()
    })
    await Promise.all(batches.map((rows) => Effect.runPromise(storage.ledger.append(rows))))
    for (const key of [alice, bob]) expect((await Effect.runPromise(storage.ledger.spend(key, at))).total).toBe(780n)
  })

  test("commits so that a loss of power costs nothing, unless it is told otherwise", async () => {
    for (const [durability, setting] of [
      ["full", "on"],
      ["process", "off"],
    ] as const) {
      const database = await makeDatabase()
      await execute(
        "postgres",
        `ALTER DATABASE ${database} SET synchronous_commit TO ${setting === "on" ? "off" : "on"}`,
      )
      // A trigger on the ledger notes the setting of the transaction that writes it.
      const url = redactedUrlOf(database)
      const watch = () =>
        execute(
          database,
          "CREATE TABLE seen (setting TEXT)",
          `CREATE FUNCTION note() RETURNS trigger LANGUAGE plpgsql AS
          $$ BEGIN INSERT INTO public.seen VALUES (current_setting('synchronous_commit')); RETURN NEW; END $$`,
          "CREATE TRIGGER note BEFORE INSERT ON headgate.ledger FOR EACH ROW EXECUTE FUNCTION note()",
        )
      await Effect.runPromise(
        Effect.scoped(
          Effect.flatMap(openDatabase({ url, durability }), ({ ledger }) =>
            Effect.zipRight(Effect.promise(watch), ledger.append([sampleRow("r1")])),
          ),
        ),
      )
      const [seen] = await execute(database, "SELECT setting FROM seen")
      expect(seen?.rows).toEqual([{ setting }])
    }
  })
})

describePostgres("is not opened", () => {
  test("with a newer schema, and stays as it was", async () => {
    const database = await makeDatabase()
    await (await open(redactedUrlOf(database))).close()
    await execute(database, "INSERT INTO headgate.migrations (migration_id, name) VALUES (99, 'from_the_future')")
    const refusal = await notOpened(redactedUrlOf(database))
    expect(refusal.reason).toBe("newer")
    expect(refusal.message).toContain(`has schema 99, which is newer than this binary (${schemaVersion})`)
    const [ran] = await execute(database, "SELECT migration_id FROM headgate.migrations ORDER BY 1")
    expect(ran?.rows.map(({ migration_id: step }) => step)).toEqual([...allSteps, 99])
  })

  test("with another program's schema of our name, which stays as it was", async () => {
    const database = await makeDatabase()
    await execute(database, "CREATE SCHEMA headgate", "CREATE TABLE headgate.theirs (a INT)")
    expect((await notOpened(redactedUrlOf(database))).reason).toBe("corrupt")
    expect(await tablesOf(database)).toEqual(["headgate.theirs"])
  })

  test("with an encoding that cannot hold every text", async () => {
    const name = `latin_${crypto.randomUUID().slice(0, 8)}`
    await execute("postgres", `CREATE DATABASE ${name} ENCODING 'LATIN1' LOCALE 'C' TEMPLATE template0`)
    const refusal = await notOpened(redactedUrlOf(name))
    expect([refusal.reason, refusal.message.includes("LATIN1")]).toEqual(["misconfigured", true])
    expect(await tablesOf(name)).toEqual([])
  })

  test.each<readonly [string, (url: string) => string, StorageNotOpened["reason"], string]>([
    ["a wrong password", (url: string) => url.replace("test-password", "wr0ng-s3cret"), "misconfigured", "password"],
    ["a database that does not exist", (url: string) => `${url}_not`, "misconfigured", "does not exist"],
    ["a port without a server", (url: string) => url.replace(`:${port}/`, ":1/"), "unreachable", "cannot be reached"],
  ])("with %s; no password is shown", async (_, change, reason, text) => {
    const url = change(urlOf(await makeDatabase()))
    const refusal = await notOpened(Redacted.make(url))
    expect(refusal.reason).toBe(reason)
    expect(refusal.message).toContain(text)
    expect(refusal.message).not.toMatch(/wr0ng-s3cret|test-password/)
  })

  test("by a user who may not make a schema, which is all that it takes", async () => {
    const database = await makeDatabase()
    const role = `role_${crypto.randomUUID().slice(0, 8)}`
    await execute("postgres", `CREATE ROLE ${role} LOGIN PASSWORD 'weak'`)
    const url = urlOf(database).replace("postgres:test-password@", `${role}:weak@`)
    expect((await notOpened(Redacted.make(url))).reason).toBe("misconfigured")
    await execute("postgres", `GRANT CREATE ON DATABASE ${database} TO ${role}`)
    const { storage } = await open(Redacted.make(url))
    await Effect.runPromise(storage.ledger.append([sampleRow("r1")]))
  })
})

describePostgres("a database that is only read", () => {
  test("is seen as it was at one moment, beside a gateway that writes, and refuses a write", async () => {
    const url = redactedUrlOf(await makeDatabase())
    const { storage } = await open(url)
    await Effect.runPromise(storage.ledger.append([sampleRow("r1")]))
    const lengths = await Effect.runPromise(
      readDatabase(url, (sql) =>
        Effect.gen(function* () {
          const before = yield* ledgerLength(sql)
          yield* storage.ledger.append([sampleRow("r2")])
          return [before, yield* ledgerLength(sql)]
        }),
      ),
    )
    expect(lengths).toEqual([1, 1])
    const write = readDatabase(url, (sql) => Effect.asVoid(query(sql`DELETE FROM ledger`)))
    expect(await Effect.runPromise(Effect.flip(write))).toMatchObject({ reason: expect.stringContaining("read-only") })
    expect(await Effect.runPromise(storage.ledger.rows(alice, 9))).toHaveLength(2)
  })
})

describePostgres("migrations", () => {
  test.each(["plan_of_a_ledger_row", "daily_sums", "prices_of_ledger_rows"])(
    "of a ledger with rows, from before the step %s: they stay, and are in the sums by day",
    async (step) => {
      const database = await makeDatabase()
      const url = redactedUrlOf(database)
      const rows = ["r1", "r2"].map((id) => sampleRow(id, { cost: 5n, admittedAt: at }))
      await oldPostgres(url, step, rows)
      const { storage } = await open(url)
      await Effect.runPromise(storage.ledger.append([sampleRow("r3", { cost: 7n, admittedAt: at })]))
      const sums = storage.activity.sums({ days: [at - (at % 86_400_000)], by: "key" })
      expect(await Effect.runPromise(sums)).toMatchObject([{ key: alice, requests: 3, cost: 17n }])
      const found = await Effect.runPromise(storage.ledger.rows(alice, 9))
      expect(found.map(({ requestId, cost }) => [requestId, cost])).toEqual([
        ["r3", 7n],
        ["r2", 5n],
        ["r1", 5n],
      ])
    },
  )

  test("of two processes at once run once; the second waits", async () => {
    const database = await makeDatabase()
    const url = redactedUrlOf(database)
    const all = ["one", "two", "three"].map((name) => migrateDatabase({ url, durability: "full" }, name, patience))
    await Effect.runPromise(Effect.all(all, { concurrency: "unbounded" }))
    expect(await tablesOf(database)).toEqual(ourTables)
    const [ran] = await execute(database, "SELECT migration_id FROM headgate.migrations ORDER BY 1")
    expect(ran?.rows.map(({ migration_id: step }) => step)).toEqual(allSteps)
  })

  test("where none is missing: a start waited for a dump of the database, and for one that held the lock", async () => {
    const database = await makeDatabase()
    await (await open(redactedUrlOf(database))).close()
    const dump = await connect(database)
    closing.push(() => dump.end())
    await dump.query("BEGIN")
    await dump.query("LOCK TABLE headgate.migrations IN ACCESS SHARE MODE")
    const migrating = await connect(database)
    closing.push(() => migrating.end())
    await migrating.query(`SELECT pg_advisory_lock(${0x68646774}, 2)`)
    const { storage } = await open(redactedUrlOf(database))
    expect(storage.installation).not.toBe("")
  })

  test("where none is missing: a start hung at a server that takes connections and then says nothing", async () => {
    const database = await makeDatabase()
    await (await open(redactedUrlOf(database))).close()
    const proxy = await tcpProxy(port)
    closing.push(proxy.close)
    // Once the session is open: after its settings, the reply to the first question is late for ever.
    proxy.delay(3_600_000)
    const brief = { ...patience, connectMs: 2000, statementMs: 1000, silenceMs: 2000 }
    expect((await notOpened(redactedUrlOf(database, proxy.port), brief)).reason).toBe("unreachable")
  })

  test("of a ledger whose sums by day do not fit: it kept the gateway from starting", async () => {
    const url = redactedUrlOf(await makeDatabase())
    const rows = ["r1", "r2"].map((id) => sampleRow(id, { upstreamCost: 2n ** 63n - 1n, admittedAt: at }))
    await oldPostgres(url, "daily_sums", rows)
    const { storage } = await open(url)
    const sums = storage.activity.sums({ days: [at - (at % 86_400_000)], by: "host" })
    // The rows that are in no kept sum are added up by the reader, who has larger numbers.
    expect(await Effect.runPromise(sums)).toMatchObject([{ upstreamCost: 2n ** 64n - 2n }])
    await Effect.runPromise(storage.ledger.append([sampleRow("r3")]))
  })

  test("that were cut off in the middle leave nothing, and succeed the next time", async () => {
    const database = await makeDatabase()
    await execute(database, "CREATE SCHEMA headgate")
    // The step waits for this name after it has made other tables.
    const blocker = await connect(database)
    await blocker.query("BEGIN")
    await blocker.query("CREATE TABLE headgate.spend (a INT)")
    const proxy = await tcpProxy(port)
    closing.push(proxy.close)
    const running = notOpened(redactedUrlOf(database, proxy.port))
    const waiting = "SELECT 1 FROM pg_stat_activity WHERE wait_event_type = 'Lock' AND query LIKE 'CREATE TABLE spend%'"
    await until(async () => (await execute(database, waiting))[0]?.rowCount === 1)
    await proxy.down()
    expect((await running).reason).toBe("unreachable")
    await blocker.query("ROLLBACK")
    await blocker.end()

    await open(redactedUrlOf(database))
    expect(await tablesOf(database)).toEqual(ourTables)
  })
})

describePostgres("a connection that breaks", () => {
  const throughProxy = async (limits = patience) => {
    const database = await makeDatabase()
    const proxy = await tcpProxy(port)
    closing.push(proxy.close)
    return { database, proxy, ...(await open(redactedUrlOf(database, proxy.port), limits)) }
  }

  const silent = { ...patience, connectMs: 5000, silenceMs: 2000 }

  /** What it gives once it works again: a machine that stands still makes a statement fail that has a short limit. */
  const atLast = async <A, E>(statement: Effect.Effect<A, E>): Promise<A> => {
    let exit = await Effect.runPromiseExit(statement)
    await until(async () => {
      if (Exit.isFailure(exit)) exit = await Effect.runPromiseExit(statement)
      return Exit.isSuccess(exit)
    }, "a statement that succeeds")
    return Exit.isSuccess(exit) ? exit.value : expect.unreachable()
  }

  test("after the commit and before its confirmation: the rows are there once, and the caller hears of success", async () => {
    const { proxy, storage } = await throughProxy()
    await Effect.runPromise(storage.ledger.append([sampleRow("before", { cost: 1n })]))
    const lost = proxy.loseReplyTo("unconfirmed")
    await Effect.runPromise(storage.ledger.append([sampleRow("unconfirmed", { cost: 5n }), sampleRow("other")]))
    await lost
    expect((await Effect.runPromise(storage.ledger.spend(alice, at))).total).toBe(7n)
    expect((await Effect.runPromise(storage.ledger.rows(alice, 10))).map(({ requestId }) => requestId)).toEqual([
      "other",
      "unconfirmed",
      "before",
    ])
  })

  test("at the confirmation of a change, which was a defect and a 500: the database could not be asked", async () => {
    const { proxy, storage } = await throughProxy()
    const change = { action: "request.stop", object: "req_1", changes: "{}" } as const
    const lost = proxy.loseReplyTo("COMMIT")
    const exit = await Effect.runPromiseExit(storage.audit.record(change, { actor: "gateway", at }))
    await lost
    expect(Exit.isFailure(exit) && Cause.failureOption(exit.cause)).toMatchObject({
      _tag: "Some",
      value: { _tag: "StorageUnavailable" },
    })
  })

  test("at the row that makes enough for the sums by day: they did not advance, since it came in by a second try", async () => {
    const { database, proxy, storage } = await throughProxy()
    const rows = Array.from({ length: 256 }, (_, n) => sampleRow(`r${n}`))
    await Effect.runPromise(storage.ledger.append(rows.slice(1)))
    proxy.cut()
    await Effect.runPromise(storage.ledger.append(rows.slice(0, 1)))
    const summed = "SELECT summed_to > 0 AS are FROM headgate.summed_ledger"
    await until(async () => (await execute(database, summed))[0]?.rows[0]?.are === true)
  })

  test("all of them at once: the next statements get new ones", async () => {
    const { proxy, storage } = await throughProxy()
    await Effect.runPromise(storage.ledger.append([sampleRow("r1")]))
    proxy.cut()
    await Effect.runPromise(storage.ledger.append([sampleRow("r2")]))
    expect((await Effect.runPromise(storage.ledger.rows(alice, 10))).length).toBe(2)
  })

  test("while the server is away: a batch waits for it, and fails in time when it stays away", async () => {
    const { database, proxy, storage } = await throughProxy()
    const brief = await open(redactedUrlOf(database, proxy.port), { ...patience, appendMs: 500 })
    await proxy.down()
    const waiting = Effect.runPromise(storage.ledger.append([sampleRow("r1")]))
    expect(await Effect.runPromise(Effect.flip(storage.keys.find(alice)))).toBeInstanceOf(StorageUnavailable)
    await proxy.up()
    await waiting
    expect((await Effect.runPromise(storage.ledger.rows(alice, 10))).length).toBe(1)

    await proxy.down()
    const failure = await Effect.runPromise(Effect.flip(brief.storage.ledger.append([sampleRow("r2")])))
    expect([failure._tag, failure.refused]).toEqual(["StorageUnavailable", false])
    await proxy.up()
    await atLast(brief.storage.ledger.append([sampleRow("r2")]))
    expect((await Effect.runPromise(storage.ledger.spend(alice, at))).total).toBe(2n)
  })

  test("because the server is silent is given up", async () => {
    const { proxy, storage } = await throughProxy(silent)
    await atLast(storage.ledger.append([sampleRow("r1")]))
    proxy.hold()
    expect(await Effect.runPromise(Effect.flip(storage.keys.find(alice)))).toBeInstanceOf(StorageUnavailable)
    proxy.release()
    expect(await atLast(storage.keys.find(alice))).toBeUndefined()
  })

  test("is encrypted and verified where the URL says so, and silence is noticed there too", async () => {
    const database = await makeDatabase()
    const proxy = await tcpProxy(port)
    closing.push(proxy.close)
    const { verified, unverified } = await serveTls()
    closing.push(() => execute("postgres", "ALTER SYSTEM SET ssl = off", "SELECT pg_reload_conf()"))
    const url = (parameters: string) => Redacted.make(`${urlOf(database, proxy.port)}?${parameters}`)
    expect((await notOpened(url(unverified))).reason).toBe("unreachable")

    const { storage } = await open(url(verified), silent)
    await Effect.runPromise(storage.ledger.append([sampleRow("r1")]))
    const [sessions] = await execute(
      database,
      `SELECT bool_and(ssl) AS encrypted FROM pg_stat_ssl JOIN pg_stat_activity USING (pid)
        WHERE datname = current_database() AND application_name LIKE 'headgate%'`,
    )
    expect(sessions?.rows).toEqual([{ encrypted: true }])
    // It is valid for 30 days, to the second.
    const endsAt = (await Effect.runPromise(storage.certificate ?? Effect.void)) ?? 0
    expect(Math.round((endsAt - Date.now()) / 86_400_000)).toBe(30)
    proxy.hold()
    expect(await Effect.runPromise(Effect.flip(storage.keys.find(alice)))).toBeInstanceOf(StorageUnavailable)
    proxy.release()
    expect(await atLast(storage.keys.find(alice))).toBeUndefined()
  })

  test("a statement that takes too long is ended, and the others go on", async () => {
    const { database, storage } = await throughProxy({ ...patience, statementMs: 1000 })
    const blocker = await connect(database)
    await blocker.query("BEGIN")
    await blocker.query("LOCK TABLE headgate.keys")
    const failure = await Effect.runPromise(Effect.flip(storage.keys.find(alice)))
    expect(failure.message).toContain("statement timeout")
    await atLast(storage.ledger.append([sampleRow("r1")]))
    await blocker.end()
    expect(await atLast(storage.keys.find(alice))).toBeUndefined()
  })
})

describePostgres("the lease of a process", () => {
  test("goes by the server's clock: what another process keeps is cleared only when it has ended", async () => {
    const database = await makeDatabase()
    const url = redactedUrlOf(database)
    const { storage } = await open(url)
    const { journal, shared } = storage
    if (shared === undefined) throw new Error("the database is not shared")
    const run = Effect.runPromise
    await run(shared.leases.take("first", 60_000))
    await run(journal.write("first", 0, [{ id: "first-0", state: "streaming", row: sampleRow("r1") }], []))
    // Clocks of other processes, five minutes and a century off.
    for (const now of [Date.now() + 300_000, 4e12]) expect(await run(journal.orphans(now, 10))).toEqual([])
    expect(await run(shared.leases.renew("first", 60_000))).toBe(true)

    await execute(database, "UPDATE headgate.leases SET ends_at = ends_at - 120000")
    expect((await run(journal.orphans(0, 10))).map(({ id }) => id)).toEqual(["first-0"])
    expect(await run(shared.leases.renew("first", 60_000))).toBe(false)
    await run(shared.leases.clear)
    expect((await execute(database, "SELECT * FROM headgate.leases"))[0]?.rows).toEqual([])
  })
})
