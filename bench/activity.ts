/**
 * How long `GET /api/v1/activity`, `/credits` and `/analytics` take over a large ledger: `bun bench/activity.ts [ROWS] [FOLDER] [PREFIX]`, by
 * default 10,000,000 rows, in a temporary folder that is removed at the end. A folder that is named is kept, and its file is used again.
 * Only questions that begin with the prefix are asked. history.md has the figures and what they mean.
 */
import { Database } from "bun:sqlite"
import { existsSync, mkdirSync, mkdtempSync, rmSync, statSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import * as HttpServer from "@effect/platform/HttpServer"
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Redacted from "effect/Redacted"
import * as Gateway from "../src/app/Gateway.ts"
import { decodeConfig } from "../src/config/loadConfig.ts"
import { windowStart } from "../src/domain/keys/limitWindows.ts"
import { dateOf } from "../src/domain/money/activity.ts"
import { KeyStore } from "../src/services/keys/KeyStore.ts"
import { Storage } from "../src/services/storage/Storage.ts"
import { makeCountRows } from "../src/sql/repositories/dailySums.ts"
import { layer as sqliteStorage } from "../src/sql/sqlite/SqliteStorage.ts"
import { Upstream } from "../src/upstream/Upstream.ts"

const rows = Number(process.argv[2] ?? 10_000_000)
const kept = process.argv[3]
const prefix = process.argv[4] ?? ""
const days = 60
const rounds = 100
const managementKey = "a-management-key-for-this-measurement"

/** The end of the rows: of a file that is used again, that of its last day. */
const endOfRows = (): number => {
  const path = join(kept ?? "", "headgate.db")
  if (kept === undefined || !existsSync(path)) return windowStart("daily", Date.now())
  const db = new Database(path)
  const last = db
    .query<{ readonly at: number }, []>("SELECT admitted_at AS at FROM ledger ORDER BY seq DESC LIMIT 1")
    .get()
  db.close()
  return windowStart("daily", last?.at ?? 0) + 86_400_000
}

const today = endOfRows()
const keyOf = (n: number) => new Bun.CryptoHasher("sha256").update(`key ${n}`).digest("hex")

/** What `requestIdAt` writes, in SQL. */
const idAt = (ms: string): string => {
  const alphabet = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"
  const digits = Array.from(
    { length: 8 },
    (_, at) => `substr('${alphabet}', CAST(${ms} AS INTEGER) / ${62 ** (7 - at)} % 62 + 1, 1)`,
  )
  return `'req_' || ${digits.join(" || ")}`
}

/** Rows of 1,000 keys, 20 models at 2 hosts each, 10 apps and 5,000 users, spread evenly over the last days. */
const fill = (path: string): void => {
  const db = new Database(path)
  db.run("PRAGMA synchronous = OFF")
  db.run("CREATE TEMP TABLE callers (n INTEGER PRIMARY KEY, key_id TEXT NOT NULL)")
  const caller = db.query("INSERT INTO callers VALUES (?, ?)")
  for (let n = 0; n < 1000; n++) caller.run(n, keyOf(n))
  const add = db.query(
    `WITH RECURSIVE count(n) AS (SELECT ?1 UNION ALL SELECT n + 1 FROM count WHERE n + 1 < ?2)
    INSERT INTO ledger (request_id, generation_id, key_id, model, host, provider, cost, upstream_cost, prompt_tokens,
      completion_tokens, cached_tokens, cache_write_tokens, reasoning_tokens, estimated, streamed, finish_reason, outcome,
      admitted_at, settled_at, latency_ms, duration_ms, app_title, app_url, user_hash)
    SELECT ${idAt("?3 + count.n * ?4")} || printf('%016d', count.n), printf('gen-1-%020d', count.n), key_id, 'acme/model-' || (count.n % 20),
      'host' || (count.n % 7 % 2), 'host' || (count.n % 7 % 2), 1000000 + count.n, 1000000 + count.n, 1000, 200, 100, 0, 50, 0, 1,
      'stop', 'finished', ?3 + count.n * ?4, ?3 + count.n * ?4, 
      (150 + count.n % 20 * 40) * (1 + (count.n * 48271 % 997) * (count.n * 16807 % 991) / 250000.0), 2000.5, 'App ' || (count.n % 10),
      'https://app-' || (count.n % 10) || '.example', printf('%016x', count.n * 31 % 5000)
    FROM count JOIN callers ON callers.n = count.n * 7919 % 1000`,
  )
  const msPerRow = Math.floor((days * 86_400_000) / rows)
  for (let at = 0; at < rows; at += 100_000) {
    add.run(at, Math.min(rows, at + 100_000), today - rows * msPerRow, msPerRow)
  }
  db.close()
}

const seconds = (work: () => void): string => {
  const start = Bun.nanoseconds()
  work()
  return ((Bun.nanoseconds() - start) / 1e9).toFixed(1)
}

/** Adds up all rows, as the migration of a ledger from before there were sums does. */
const addUp = (path: string): string => {
  const db = new Database(path)
  const took = seconds(() => db.transaction(() => makeCountRows(db)(0))())
  db.close()
  return took
}

/** As after an upgrade: the rows of the last weeks are added to the sums by hour, part by part. Without the pauses between them. */
const addHours = (path: string) =>
  Effect.gen(function* () {
    const db = new Database(path)
    db.run(
      "UPDATE hourly_ledger SET summed_from = (SELECT MAX(seq) FROM ledger), summed_to = (SELECT MAX(seq) FROM ledger)",
    )
    db.close()
    const { analytics } = yield* Storage
    const parts: Array<number> = []
    const before = process.cpuUsage()
    for (let isMore = true; isMore; ) {
      const start = Bun.nanoseconds()
      isMore = yield* analytics.addUp(today)
      parts.push((Bun.nanoseconds() - start) / 1e6)
    }
    const { user, system } = process.cpuUsage(before)
    const took = parts.reduce((all, one) => all + one, 0) / 1000
    console.log(
      `By hour: ${parts.length} parts in ${took.toFixed(1)} s (${((user + system) / 1e6).toFixed(1)} s of processor time), the longest ${Math.max(...parts).toFixed(0)} ms.`,
    )
  })

const spans = [
  ["hour", 3_600_000],
  ["hour", 86_400_000],
  ["hour", 7 * 86_400_000],
  ["day", 30 * 86_400_000],
  ["hour", 30 * 86_400_000],
] as const

const analytics = spans.flatMap(([interval, ms]) =>
  ["", "model", "host", "key", "app", "user"].map((by) => {
    const span = `from=${new Date(today - ms).toISOString()}&to=${new Date(today).toISOString()}`
    return `analytics?interval=${interval}${by === "" ? "" : `&group_by=${by}`}&${span}`
  }),
)

const queries = [
  ...analytics,
  "activity",
  `activity?date=${dateOf(today - 86_400_000)}`,
  `activity?api_key_hash=${keyOf(7)}`,
  "activity?group_by=app",
  `activity?group_by=api_key&date=${dateOf(today - 86_400_000)}`,
  "activity?group_by=api_key",
  "credits",
  "activity?interval=hour",
  `activity?from=${new Date(today - 3_600_000).toISOString()}&group_by=api_key`,
  "activity?group_by=user",
  `activity?interval=hour&from=${dateOf(today - 30 * 86_400_000)}`,
]

const measure = async (url: string, query: string): Promise<string> => {
  const times: Array<number> = []
  let size = 0
  const until = Bun.nanoseconds() + 10e9
  for (let round = 0; round < rounds && (round < 15 || Bun.nanoseconds() < until); round++) {
    const start = Bun.nanoseconds()
    const response = await fetch(`${url}/api/v1/${query}`, { headers: { authorization: `Bearer ${managementKey}` } })
    const body = await response.text()
    if (response.status !== 200) throw new Error(body)
    times.push((Bun.nanoseconds() - start) / 1e6)
    const { data } = JSON.parse(body)
    size = Array.isArray(data) ? data.length : (data.points?.length ?? 1)
  }
  const sorted = times.slice(10).toSorted((a, b) => a - b)
  const at = (share: number) => (sorted[Math.floor(sorted.length * share)] ?? 0).toFixed(1)
  const name = query.replace(/[0-9a-f]{64}/, "…")
  return `| ${[name, size, at(0.5), at(0.99)].join(" | ")} |`
}

const serve = (path: string) =>
  Effect.gen(function* () {
    const config = yield* decodeConfig({ server: { port: 0 } })
    const services = Gateway.servicesOf({ plugins: [], config }).pipe(
      Layer.provideMerge(KeyStore.layer({ managementKey: Redacted.make(managementKey) })),
      Layer.provideMerge(sqliteStorage({ path, durability: "process" })),
      Layer.provide(Upstream.layer),
    )
    const context = yield* Layer.build(Gateway.serve(config).pipe(Layer.provideMerge(services)))
    const { address } = Context.get(context, HttpServer.HttpServer)
    const url = `http://127.0.0.1:${address._tag === "TcpAddress" ? address.port : 0}`
    console.log("| query | items | median, ms | p99, ms |")
    console.log("| ----- | ----- | ---------- | ------- |")
    for (const query of queries.filter((one) => one.startsWith(prefix)))
      console.log(yield* Effect.promise(() => measure(url, query)))
  })

const folder = kept ?? mkdtempSync(join(tmpdir(), "headgate-activity-"))
const path = join(folder, "headgate.db")
const storage = sqliteStorage({ path, durability: "process" })
try {
  mkdirSync(folder, { recursive: true })
  if (!existsSync(path)) {
    // The first opening makes the tables.
    await Effect.runPromise(Effect.scoped(Layer.build(storage)))
    const filled = seconds(() => fill(path))
    const added = addUp(path)
    console.log(
      `${rows} rows, ${(statSync(path).size / 1e9).toFixed(1)} GB: written in ${filled} s, added up in ${added} s.`,
    )
    await Effect.runPromise(Effect.scoped(Effect.provide(addHours(path), storage)))
    console.log(`${(statSync(path).size / 1e9).toFixed(1)} GB with the sums by hour.`)
  }
  await Effect.runPromise(Effect.scoped(serve(path)))
} finally {
  if (kept === undefined) rmSync(folder, { recursive: true })
}
