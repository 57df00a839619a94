/**
 * How long it takes to find a key among few and among many: `bun bench/keys.ts [KEYS]`, by default 10 and 1,000,000.
 * history.md has the figures and what they mean. Everything is in a temporary folder that is removed at the end.
 */
import { Database } from "bun:sqlite"
import { mkdtempSync, rmSync, statSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as ManagedRuntime from "effect/ManagedRuntime"
import * as Redacted from "effect/Redacted"
import { mask } from "../src/domain/json/redaction.ts"
import { keyId, makeSecret } from "../src/domain/keys/keySecret.ts"
import { KeyStore } from "../src/services/keys/KeyStore.ts"
import { Storage } from "../src/services/storage/Storage.ts"
import { layer as sqliteStorage } from "../src/sql/sqlite/SqliteStorage.ts"

const counts = process.argv.length > 2 ? process.argv.slice(2).map(Number) : [10, 1_000_000]
const lookups = 2000

const median = (times: ReadonlyArray<number>): number => times.toSorted((a, b) => a - b)[times.length >> 1] ?? 0
const p99 = (times: ReadonlyArray<number>): number =>
  times.toSorted((a, b) => a - b)[Math.floor(times.length * 0.99)] ?? 0

/** Adds keys until there are so many, and returns the secrets of some. */
const fill = (path: string, count: number): ReadonlyArray<string> => {
  const db = new Database(path)
  const add = db.query(
    `INSERT INTO keys (id, kind, name, label, disabled, include_byok_in_limit, created_at, workspace_id)
      VALUES (?, 'ordinary', ?, ?, 0, 0, ?, 'w')`,
  )
  const secrets: Array<string> = []
  const every = Math.max(1, Math.floor(count / lookups))
  db.transaction(() => {
    for (let n = 0; n < count; n++) {
      const secret = makeSecret("ordinary")
      add.run(keyId(secret), `key ${n}`, mask(secret), 1_760_000_000_000 + n)
      if (n % every === 0) secrets.push(secret)
    }
  })()
  db.close()
  return secrets.toSorted((a, b) => Bun.hash.crc32(a) - Bun.hash.crc32(b))
}

const timed = async (work: () => Promise<unknown>): Promise<number> => {
  const start = Bun.nanoseconds()
  await work()
  return (Bun.nanoseconds() - start) / 1000
}

const timesOf = async (secrets: ReadonlyArray<string>, work: (secret: string) => Promise<unknown>) => {
  const times: Array<number> = []
  for (let n = 0; n < lookups; n++) {
    const secret = secrets[n % secrets.length]
    if (secret !== undefined) times.push(await timed(() => work(secret)))
  }
  return times
}

const figuresOf = async (
  layer: Layer.Layer<KeyStore | Storage, unknown>,
  secrets: ReadonlyArray<string>,
  count: number,
) => {
  const runtime = ManagedRuntime.make(layer)
  const { keys, storage } = await runtime.runPromise(Effect.all({ keys: KeyStore, storage: Storage }))
  const find = (secret: string) => Effect.runPromise(storage.keys.find(keyId(secret)))
  const authenticate = (secret: string) => Effect.runPromise(keys.authenticate(Redacted.make(secret)))
  const page = (offset: number) => Effect.runPromise(storage.keys.list({ offset, limit: 100, includeDisabled: false }))
  for (const secret of secrets.slice(0, 200)) await find(secret)
  const stored = await timesOf(secrets, find)
  const unknown = await timesOf([makeSecret("ordinary")], find)
  for (const secret of secrets) await authenticate(secret)
  const cached = await timesOf(secrets, authenticate)
  const first = await timed(() => page(0))
  const last = await timed(() => page(Math.max(0, count - 100)))
  await runtime.dispose()
  return { stored, unknown, cached, first, last }
}

const measure = async (count: number): Promise<string> => {
  const folder = mkdtempSync(join(tmpdir(), "headgate-keys-"))
  const path = join(folder, "headgate.db")
  const opening = { path, durability: "process" } as const
  try {
    // The first opening makes the tables.
    await Effect.runPromise(Effect.scoped(Layer.build(sqliteStorage(opening))))
    const secrets = fill(path, count)
    const bytes = statSync(path).size
    const figures = await figuresOf(Layer.provideMerge(KeyStore.layer(), sqliteStorage(opening)), secrets, count)
    const { stored, unknown, cached, first, last } = figures
    const both = (times: ReadonlyArray<number>) => `${median(times).toFixed(1)} (p99 ${p99(times).toFixed(0)})`
    const file = `${(bytes / 1e6).toFixed(1)} MB`
    const pages = `${(first / 1000).toFixed(1)}, ${(last / 1000).toFixed(1)}`
    return `| ${[count, file, both(stored), both(unknown), both(cached), pages].join(" | ")} |`
  } finally {
    rmSync(folder, { recursive: true })
  }
}

console.log("| keys | file | find, µs | find unknown, µs | authenticate from memory, µs | first and last page, ms |")
console.log("| ---- | ---- | -------- | ---------------- | ---------------------------- | ----------------------- |")
for (const count of counts) console.log(await measure(count))
