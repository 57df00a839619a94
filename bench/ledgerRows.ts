/**
 * What a row of the ledger costs SQLite, by parts, and what it would cost in tables of another form:
 * `bun bench/ledgerRows.ts [ROWS] [KEYS] [ROUNDS]`, by default 10,000 rows that are there before, 1 key and 12 rounds. Each form has a
 * file of its own, with full durability. They take turns, and a ratio is that of two turns of one round, so that other work on
 * the machine falls on both. history.md has the figures and what they mean, docs/decisions/0067-the-form-of-a-ledger-row.md what follows.
 */
import { Database } from "bun:sqlite"
import { mkdtempSync, rmSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { SqlClient } from "@effect/sql/SqlClient"
import * as Effect from "effect/Effect"
import { generationId, KeyId, requestId } from "../src/domain/ids.ts"
import { windowStart } from "../src/domain/keys/limitWindows.ts"
import type { LedgerRow } from "../src/services/storage/ledger.ts"
import { advance, advanced, mostUnsummed } from "../src/sql/repositories/dailySums.ts"
import { ledger } from "../src/sql/repositories/ledgerRepository.ts"
import { sharedRepositories } from "../src/sql/repositories/repositories.ts"
import { makeAppend } from "../src/sql/sqlite/sqliteAppend.ts"
import { makeClient } from "../src/sql/sqlite/sqliteClient.ts"
import { migrate } from "../src/sql/tables/migrations.ts"
import type { Stored } from "../src/sql/tables/table.ts"

const present = Number(process.argv[2] ?? 10_000)
const callers = Number(process.argv[3] ?? 1)
const rounds = Number(process.argv[4] ?? 12)

/** Rows of a commit, and commits of a turn. */
const turns = [
  [1, 60],
  [2, 50],
  [16, 30],
  [64, 16],
  [256, 6],
] as const

const keys = Array.from({ length: callers }, (_, n) =>
  KeyId.make(new Bun.CryptoHasher("sha256").update(`key ${n}`).digest("hex")),
)

let made = 0

/** As one of the load of bench/run.ts: of one model at two hosts. */
const newRow = (): LedgerRow => {
  const id = requestId()
  const now = Date.now()
  made += 1
  const cost = 1_000_000n + BigInt(made)
  return {
    ...{ requestId: id, generationId: generationId(Math.floor(now / 1000), id) },
    ...{ key: keys[(made * 7919) % callers] ?? KeyId.make("none"), model: "bench/brisk" },
    ...{ host: made % 2 === 0 ? "first/eu" : "second/eu", provider: made % 2 === 0 ? "first" : "second" },
    ...{ cost, upstreamCost: cost, promptTokens: 1000, completionTokens: 200, cachedTokens: 100 },
    ...{ cacheWriteTokens: 0, reasoningTokens: 50, rareUsage: null, estimated: false, streamed: false },
    ...{ finishReason: "stop", outcome: "finished", admittedAt: now - 900, settledAt: now, latencyMs: 100 },
    ...{ durationMs: 900, appTitle: "An app", appUrl: "https://app.example", strategy: "balanced" },
    ...{ seed: (made * 2_654_435_761) % 2 ** 32, priceBasis: "listed", priceVersion: 3_000_000_000_000_000 },
    ...{
      waived: null,
      form: "chat",
      operation: "chat",
      providerKey: "",
      callerRequestId: "",
      userHash: "",
      routed: "1",
    },
  }
}

const encode = (rows: ReadonlyArray<LedgerRow>): string => JSON.stringify(rows.map(ledger.valuesOf))

/** How a form differs from the tables of the migrations. */
interface Form {
  readonly name: string
  /** Rows are found by an integer of time and counter, which is their only key, and not by an index of request ids. */
  readonly hasIntegerKey?: boolean
  /** Names are small integers. */
  readonly hasNumbers?: boolean
  /** Rows of one INSERT; by default 1. */
  readonly rowsOfStatement?: number
  /** Sums of keys are written with each commit; by default they are. */
  readonly hasSpend?: boolean
  /** One row of a key, found by a small integer, has its four windows. */
  readonly hasSpendInOneRow?: boolean
  /** Sums by day are kept; by default they are. */
  readonly hasDays?: boolean
}

const forms: ReadonlyArray<Form> = [
  { name: "without sums by day", hasDays: false },
  { name: "without sums of keys", hasSpend: false },
  { name: "16 rows of a statement", rowsOfStatement: 16 },
  { name: "an integer key", hasIntegerKey: true },
  { name: "names as numbers", hasNumbers: true },
  { name: "both", hasIntegerKey: true, hasNumbers: true },
  { name: "sums of a key in one row", hasSpendInOneRow: true },
]

const named = new Set([
  ...["key_id", "model", "host", "provider", "finish_reason", "outcome", "app_title", "app_url", "strategy"],
  ...["price_basis", "form", "operation", "provider_key", "price_version"],
])

const asNumbers = (sql: string): string => sql.replaceAll("'' AS", "0 AS").replaceAll("WHEN 'lost'", "WHEN 0")

/** Makes the tables of the migrations anew in a form. */
const change = (db: Database, { hasIntegerKey, hasNumbers }: Form): void => {
  const columnsOf = (table: string) =>
    db
      .query<{ readonly name: string; readonly type: string; readonly notnull: number }, [string]>(
        "SELECT name, type, \"notnull\" FROM pragma_table_info(?) WHERE name <> 'seq'",
      )
      .all(table)
      .filter(({ name }) => !(hasIntegerKey === true && name === "generation_id"))
      .map(({ name, type, notnull }) => {
        const unique = name === "request_id" && hasIntegerKey !== true ? "UNIQUE" : ""
        return `${name} ${hasNumbers === true && named.has(name) ? "INTEGER" : type} ${notnull === 1 ? "NOT NULL" : ""} ${unique}`
      })
  const rows = columnsOf("ledger")
  db.run("DROP TABLE ledger")
  db.run(`CREATE TABLE ledger (seq INTEGER PRIMARY KEY, ${rows}) STRICT`)
  if (hasNumbers !== true) return
  const sums = columnsOf("daily_sums").map((column) => column.replace(/^(app_url|app_title) TEXT/, "$1 INTEGER"))
  db.run("DROP TABLE daily_sums")
  db.run(`CREATE TABLE daily_sums (${sums},
    PRIMARY KEY (kind, day, key_id, app_url, app_title, model, host, provider)) STRICT, WITHOUT ROWID`)
}

const placeOf = (member: keyof LedgerRow): number => ledger.members.indexOf(member)
const [keyAt, costAt, admittedAt] = [placeOf("key"), placeOf("cost"), placeOf("admittedAt")]
const windows = "(?1, ?2, 'total', 0), (?1, ?2, 'daily', ?3), (?1, ?2, 'weekly', ?4), (?1, ?2, 'monthly', ?5)"

/** Names by small integers, as a bounded cache in the writer would have them. */
const makeNumbers = (): ((name: Stored) => number) => {
  const numbers = new Map<Stored, number>()
  return (name) => {
    const known = numbers.get(name)
    if (known !== undefined) return known
    numbers.set(name, numbers.size + 1)
    return numbers.size
  }
}

type Rows = ReadonlyArray<Array<Stored>>

/** Adds the rows, which it changes to their form. */
const makeAddRows = (db: Database, { hasIntegerKey = false, hasNumbers = false, rowsOfStatement = 1 }: Form) => {
  const columns = ledger.names.map((name) => (hasIntegerKey && name === "generation_id" ? "seq" : name))
  const insertOf = (rows: number) =>
    db.query<never, Array<Stored>>(
      `INSERT INTO ledger (${columns}) VALUES ${Array.from({ length: rows }, () => `(${columns.map(() => "?")})`)}
        ON CONFLICT (${hasIntegerKey ? "seq" : "request_id"}) DO NOTHING`,
    )
  const one = insertOf(1)
  const several = insertOf(rowsOfStatement)
  const numberOf = makeNumbers()
  let lastKey = 2 ** 52
  const keyPlace = columns.indexOf("seq")
  const namePlaces = columns.flatMap((name, at) => (hasNumbers && named.has(name) ? [at] : []))
  const inForm = (row: Array<Stored>): Array<Stored> => {
    for (const at of namePlaces) row[at] = numberOf(row[at] ?? null)
    if (hasIntegerKey) row[keyPlace] = ++lastKey
    return row
  }
  return (rows: Rows): void => {
    const inStatements = rowsOfStatement === 1 ? 0 : rows.length - (rows.length % rowsOfStatement)
    for (let at = 0; at < inStatements; at += rowsOfStatement)
      several.run(...rows.slice(at, at + rowsOfStatement).flatMap(inForm))
    for (let at = inStatements; at < rows.length; at++) one.run(...inForm(rows[at] ?? []))
  }
}

/** Adds the sums of keys of one commit, all of one day. */
const makeAddSums = (db: Database, { hasSpendInOneRow = false }: Form) => {
  db.run(`CREATE TABLE spend_now (key INTEGER PRIMARY KEY, total INTEGER NOT NULL, day INTEGER NOT NULL, daily INTEGER NOT NULL,
    week INTEGER NOT NULL, weekly INTEGER NOT NULL, month INTEGER NOT NULL, monthly INTEGER NOT NULL) STRICT`)
  const add = db.query(
    hasSpendInOneRow
      ? `INSERT INTO spend_now VALUES (?1, ?2, ?3, ?2, ?4, ?2, ?5, ?2) ON CONFLICT (key) DO UPDATE
          SET total = total + ?2, daily = daily + ?2, weekly = weekly + ?2, monthly = monthly + ?2`
      : `INSERT INTO spend (key_id, amount, window_kind, window_start) VALUES ${windows}
          ON CONFLICT (key_id, window_kind, window_start) DO UPDATE SET amount = spend.amount + excluded.amount`,
  )
  const numberOf = makeNumbers()
  return (sums: ReadonlyMap<Stored, bigint>, day: number): void => {
    for (const [key, sum] of sums) {
      const owner = hasSpendInOneRow ? numberOf(key) : key
      add.run(owner, `${sum}`, day, windowStart("weekly", day), windowStart("monthly", day))
    }
  }
}

const sumsOf = (rows: Rows): ReadonlyMap<Stored, bigint> => {
  const sums = new Map<Stored, bigint>()
  for (const row of rows) {
    const key = row[keyAt] ?? null
    sums.set(key, (sums.get(key) ?? 0n) + BigInt(String(row[costAt])))
  }
  return sums
}

/** As `makeAppend`, but in another form, and without what happens on errors. */
const appendIn = (db: Database, form: Form): ((text: string) => void) => {
  const { hasIntegerKey = false, hasNumbers = false, hasSpend = true, hasDays = true } = form
  if (hasIntegerKey || hasNumbers) change(db, form)
  const begin = db.query("BEGIN IMMEDIATE")
  const commit = db.query("COMMIT")
  const addRows = makeAddRows(db, form)
  const addSums = makeAddSums(db, form)
  const addDays = db.query(hasNumbers ? asNumbers(advance) : advance)
  const daysAdded = db.query(advanced)
  let unsummed = 0
  return (text) => {
    // `encode` wrote it.
    const rows = JSON.parse(text) as Rows
    const sums = sumsOf(rows)
    const day = windowStart("daily", Number(rows[0]?.[admittedAt]))
    begin.run()
    addRows(rows)
    if (hasSpend) addSums(sums, day)
    unsummed += rows.length
    if (hasDays && unsummed >= mostUnsummed) {
      unsummed = 0
      addDays.run()
      daysAdded.run()
    }
    commit.run()
  }
}

const folder = mkdtempSync(join(tmpdir(), "headgate-rows-"))

/** A file with the tables of the migrations. */
const newFile = (name: string): Database => {
  const db = new Database(join(folder, `${name}.db`))
  db.run("PRAGMA journal_mode = WAL")
  Effect.runSync(Effect.provideServiceEffect(migrate, SqlClient, makeClient(db)))
  return db
}

/** Writes the rows that are there before, and the sums of keys of two months, which lie between those of now. */
const fill = (db: Database, append: (text: string) => void): void => {
  db.run("PRAGMA synchronous = OFF")
  const addSums = db.query(
    `INSERT INTO spend (key_id, amount, window_kind, window_start) VALUES ${windows} ON CONFLICT DO NOTHING`,
  )
  const today = windowStart("daily", Date.now())
  db.transaction(() => {
    for (const key of keys) {
      for (let day = today - 60 * 86_400_000; day <= today; day += 86_400_000)
        addSums.run(key, "5000000000", day, windowStart("weekly", day), windowStart("monthly", day))
    }
  })()
  for (let rows = 0; rows < present; rows += 1000)
    append(encode(Array.from({ length: Math.min(1000, present - rows) }, newRow)))
  db.run("PRAGMA synchronous = FULL")
}

/** Processor time of the process in µs: also that of the kernel, but not the time in which it waits for the disk. */
const cpu = (): number => {
  const { user, system } = process.cpuUsage()
  return user + system
}

interface Contender {
  readonly name: string
  readonly append: (text: string) => void
}

/** µs a row of adding all rows of a file to the sums by hour, which is done in between, and not with a commit. */
const hoursOf = (db: Database): number => {
  db.run("UPDATE hourly_ledger SET summed_from = 0, summed_to = 0")
  const { analytics } = Effect.runSync(
    Effect.provideServiceEffect(
      Effect.map(SqlClient, (sql) => sharedRepositories(sql, "bench")),
      SqlClient,
      makeClient(db),
    ),
  )
  const rows = () => db.query<{ readonly n: number }, []>("SELECT summed_to AS n FROM hourly_ledger").get()?.n ?? 0
  const start = cpu()
  while (Effect.runSync(analytics.addUp(Date.now()))) {
    // Part by part.
  }
  return (cpu() - start) / rows()
}

const contenders = (asItIs: Database): ReadonlyArray<Contender> => {
  const append = makeAppend(asItIs)
  fill(asItIs, append)
  return [
    { name: "as it is", append },
    { name: "JSON.parse alone", append: (text) => void JSON.parse(text) },
    ...forms.map((form) => {
      const db = newFile(form.name)
      const formed = appendIn(db, form)
      fill(db, formed)
      return { name: form.name, append: formed }
    }),
  ]
}

const middle = (values: ReadonlyArray<number>): number =>
  values.toSorted((a, b) => a - b)[Math.floor(values.length / 2)] ?? Number.NaN

try {
  const asItIs = newFile("as it is")
  const all = contenders(asItIs)
  const took = new Map<string, Array<number>>()
  const note = (name: string, batch: number, us: number) => {
    const place = `${name} ${batch}`
    took.set(place, [...(took.get(place) ?? []), us])
  }
  for (let round = 0; round < rounds; round++) {
    for (const [batch, commits] of turns) {
      for (const { name, append } of round % 2 === 0 ? all : all.toReversed()) {
        const batches = Array.from({ length: commits }, () => Array.from({ length: batch }, newRow))
        const before = cpu()
        const texts = batches.map(encode)
        const encoded = cpu()
        if (name === "as it is") note("as JSON, by the sender", batch, (encoded - before) / batch / commits)
        Bun.gc(true)
        const start = cpu()
        for (const text of texts) append(text)
        note(name, batch, (cpu() - start) / batch / commits)
      }
    }
  }
  console.log(
    `${present} rows before, ${callers} keys, ${rounds} rounds: µs of processor time a row, median; ratio to "as it is"`,
  )
  console.log(`| rows of a commit | ${turns.map(([batch]) => batch).join(" | ")} |`)
  console.log(`| --- | ${turns.map(() => "---").join(" | ")} |`)
  for (const name of ["as JSON, by the sender", ...all.map((contender) => contender.name)]) {
    const cells = turns.map(([batch]) => {
      const own = took.get(`${name} ${batch}`) ?? []
      const base = took.get(`as it is ${batch}`) ?? []
      const ratio = middle(own.map((us, round) => us / (base[round] ?? Number.NaN)))
      return `${middle(own).toFixed(1)}${name === "as it is" ? "" : ` (${ratio.toFixed(2)})`}`
    })
    console.log(`| ${name} | ${cells.join(" | ")} |`)
  }
  console.log(`Sums by hour, beside that: ${hoursOf(asItIs).toFixed(1)} µs a row.`)
} finally {
  rmSync(folder, { recursive: true })
}
