/** Keys in a database, in SQL that SQLite and PostgreSQL share. */
import type { SqlClient } from "@effect/sql/SqlClient"
import type { Fragment } from "@effect/sql/Statement"
import * as Effect from "effect/Effect"
import { KeyId } from "../../domain/ids.ts"
import { changesBetween } from "../../domain/keys/audit.ts"
import { factsOf, type KeyMember, type KeyRecord, keyMembers, kindOf } from "../../domain/keys/key.ts"
import { isLastingManager } from "../../domain/keys/roles.ts"
import {
  type KeyFilter,
  type KeyPatch,
  type KeyRepository,
  type LastManager,
  mostKeysSearched,
  type NewSecret,
} from "../../services/storage/Storage.ts"
import type { StorageUnavailable } from "../../services/storage/StorageUnavailable.ts"
import { firstRowOf, query, rowsOf } from "../tables/query.ts"
import { type Column, originalText, type Stored, storedColumn, storedText, table } from "../tables/table.ts"
import { type Audited, audited } from "./auditLog.ts"

const columnOf = <M extends KeyMember>(member: M): Column<KeyRecord[M]> => {
  const { stored, value } = kindOf(member)
  const { wire, column = wire } = factsOf(member)
  return storedColumn(column, stored, value)
}

// A column for each row of the table. Object.fromEntries loses that type.
const keys = table<KeyRecord>(
  Object.fromEntries(keyMembers.map((member) => [member, columnOf(member)])) as {
    readonly [M in KeyMember]: Column<KeyRecord[M]>
  },
)

/** The columns that a text is looked for in. */
const searched = ["name", "label", "owner"]

/** A pattern of LIKE that stands for this text. */
const likeLiteral = (text: string): string => text.replace(/[!%_]/g, "!$&")

interface SecretRow {
  readonly key: string
  readonly endsAt: number | null
}

const unchanged: Effect.Effect<Audited<boolean>> = Effect.succeed({ result: false })

const lastManager: Audited<LastManager> = { result: "last manager" }

/** A change is what it does within a transaction, and what is logged of it. */
type Change<A> = Effect.Effect<Audited<A>, StorageUnavailable>

/** What is read of keys and their secrets, and their changes. */
class KeyTables {
  /** Number of management keys. */
  readonly managementKeys: Effect.Effect<number, StorageUnavailable>
  private readonly sql: SqlClient
  private readonly selection: Fragment

  constructor(sql: SqlClient) {
    this.sql = sql
    this.selection = sql.literal(keys.selection)
    this.managementKeys = Effect.map(
      query(sql<{ readonly n: number }>`SELECT COUNT(*) AS n FROM keys WHERE kind = 'management'`),
      ([row]) => row?.n ?? 0,
    )
  }

  readonly findBySecret: KeyRepository["find"] = (secret) =>
    Effect.gen(this, function* () {
      const { sql } = this
      const [row] = yield* query(
        sql<SecretRow>`SELECT key_id AS "key", ends_at AS "endsAt" FROM key_secrets WHERE id = ${storedText(secret)}`,
      )
      const key = yield* this.find(row === undefined ? secret : KeyId.make(originalText(row.key)))
      return key === undefined || row?.endsAt == null ? key : { ...key, secretEndsAt: row.endsAt }
    })

  readonly list: KeyRepository["list"] = ({ offset, limit, ...filter }) => {
    const { sql, selection } = this
    const { source, matching } = this.filtered(filter)
    return rowsOf(
      keys,
      sql`SELECT ${selection} FROM ${source} WHERE ${sql.and(matching)}
        ORDER BY created_at DESC, seq DESC LIMIT ${limit} OFFSET ${offset}`,
    )
  }

  readonly count: KeyRepository["count"] = (filter) => {
    const { sql } = this
    const { newest, matching } = this.filtered(filter)
    const counted = sql<{ readonly n: number | string }>`
      SELECT COUNT(*) AS n FROM ${newest} WHERE ${sql.and(matching)}`
    return Effect.map(query(counted), ([row]) => Number(row?.n ?? 0))
  }

  /** What is looked through and counted. A list of all keys looks at no more than its page and what is before it. */
  private newest(kind: KeyRecord["kind"]): Fragment {
    return this
      .sql`(SELECT * FROM keys WHERE kind = ${kind} ORDER BY created_at DESC, seq DESC LIMIT ${mostKeysSearched}) AS newest`
  }

  private filtered({ kind = "ordinary", includeDisabled, tag, search, isLimited }: KeyFilter) {
    const { sql } = this
    const newest = this.newest(kind)
    const matching: Array<Fragment> = [sql`kind = ${kind}`]
    if (!includeDisabled) matching.push(sql`disabled = ${false}`)
    const source = tag === undefined && search === undefined && isLimited === undefined ? sql`keys` : newest
    if (isLimited === true) matching.push(sql`limit_amount IS NOT NULL`)
    // As JSON has it, between its quotation marks: no tag has a comma, so no text between two tags is one.
    if (tag !== undefined) matching.push(this.contains("tags", JSON.stringify(tag)))
    if (search !== undefined) {
      // Neither looks at the case of letters of ASCII, and both at that of all others.
      const like = sql.literal(sql.onDialectOrElse({ pg: () => 'COLLATE "C" ILIKE', orElse: () => "LIKE" }))
      const pattern = `%${likeLiteral(storedText(search))}%`
      matching.push(sql.or(searched.map((column) => sql`${sql.literal(column)} ${like} ${pattern} ESCAPE '!'`)))
    }
    return { source, newest, matching }
  }

  private contains(column: string, part: string): Fragment {
    const { sql } = this
    const position = sql.literal(sql.onDialectOrElse({ pg: () => "strpos", orElse: () => "instr" }))
    return sql`${position}(${sql.literal(column)}, ${part}) > 0`
  }

  readonly previousEnds: KeyRepository["previousEnds"] = (ids) => {
    if (ids.length === 0) return Effect.succeed(new Map())
    const { sql } = this
    const found = query(sql<{ readonly key: string; readonly endsAt: number | null }>`
      SELECT key_id AS "key", MAX(ends_at) AS "endsAt" FROM key_secrets
        WHERE ${sql.in("key_id", ids.map(storedText))} GROUP BY key_id`)
    return Effect.map(found, (rows) => {
      const ends = new Map<KeyId, number>()
      for (const { key, endsAt } of rows) if (endsAt !== null) ends.set(KeyId.make(originalText(key)), endsAt)
      return ends
    })
  }

  add(key: KeyRecord): Change<boolean> {
    return Effect.gen(this, function* () {
      const { sql } = this
      const after = keys.columnsOf(key)
      const added = yield* query(sql`INSERT INTO keys ${sql.insert(after)} ON CONFLICT (id) DO NOTHING RETURNING id`)
      if (added.length === 0) return { result: false }
      const changes = changesBetween({}, after)
      return { result: true, logged: { action: "key.create", object: key.id, changes } }
    })
  }

  update(id: KeyId, patch: KeyPatch, keepsManager: boolean): Change<KeyRecord | LastManager | undefined> {
    return Effect.gen(this, function* () {
      const columns = keys.columnsOf(patch)
      const before = yield* this.find(id)
      if (before === undefined || Object.keys(columns).length === 0) return { result: before }
      const isManager = isLastingManager({ ...before, ...patch })
      if (keepsManager && !isManager && (yield* this.isLastManager(before))) return lastManager
      const after = yield* this.set(id, columns)
      if (after === undefined) return { result: after }
      if (patch.disabled === true) yield* this.endSessions(id)
      const changes = changesBetween(keys.columnsOf(before), keys.columnsOf(after))
      return { result: after, logged: { action: "key.update", object: id, changes } }
    })
  }

  /** `now`: Unix milliseconds. */
  rotate(id: KeyId, secret: NewSecret, now: number): Change<KeyRecord | undefined> {
    return Effect.gen(this, function* () {
      const before = yield* this.find(id)
      if (before === undefined) return { result: undefined }
      yield* this.replaceSecrets(id, secret, now)
      const after = yield* this.set(id, keys.columnsOf({ label: secret.label, updatedAt: now }))
      if (after === undefined) return { result: undefined }
      const changes = changesBetween(keys.columnsOf(before), {
        ...keys.columnsOf(after),
        others_end_at: secret.othersEndAt,
      })
      return { result: after, logged: { action: "key.rotate", object: id, changes } }
    })
  }

  remove(id: KeyId, keepsManager: boolean): Change<boolean | LastManager> {
    return Effect.gen(this, function* () {
      const { sql, selection } = this
      const found = keepsManager ? yield* this.find(id) : undefined
      if (found !== undefined && (yield* this.isLastManager(found))) return lastManager
      yield* query(sql`DELETE FROM key_secrets WHERE key_id = ${storedText(id)}`)
      const before = yield* firstRowOf(keys, sql`DELETE FROM keys WHERE id = ${storedText(id)} RETURNING ${selection}`)
      if (before === undefined) return { result: false }
      const changes = changesBetween(keys.columnsOf(before), {})
      return { result: true, logged: { action: "key.delete", object: id, changes } }
    })
  }

  /** Whether it is a lasting manager, and there is no other one. */
  private isLastManager(key: KeyRecord): Effect.Effect<boolean, StorageUnavailable> {
    if (!isLastingManager(key)) return Effect.succeed(false)
    const { sql } = this
    const others = sql<{
      readonly n: number | string
    }>`SELECT COUNT(*) AS n FROM keys WHERE kind = 'management' AND role = 'all'
      AND disabled = ${false} AND expires_at IS NULL AND id <> ${storedText(key.id)}`
    return Effect.map(query(others), ([row]) => Number(row?.n) === 0)
  }

  private find(id: KeyId): Effect.Effect<KeyRecord | undefined, StorageUnavailable> {
    const { sql, selection } = this
    return firstRowOf(keys, sql`SELECT ${selection} FROM keys WHERE id = ${storedText(id)}`)
  }

  /** Of all its secrets: they would be open again once the key is enabled. */
  private endSessions(id: KeyId): Effect.Effect<unknown, StorageUnavailable> {
    const of = storedText(id)
    return query(
      this
        .sql`DELETE FROM sessions WHERE secret = ${of} OR secret IN (SELECT id FROM key_secrets WHERE key_id = ${of})`,
    )
  }

  /** The key after that. */
  private set(id: KeyId, columns: Record<string, Stored>): Effect.Effect<KeyRecord | undefined, StorageUnavailable> {
    const { sql, selection } = this
    return firstRowOf(
      keys,
      sql`UPDATE keys SET ${sql.update(columns)} WHERE id = ${storedText(id)} RETURNING ${selection}`,
    )
  }

  private replaceSecrets(
    id: KeyId,
    { id: secret, othersEndAt }: NewSecret,
    now: number,
  ): Effect.Effect<void, StorageUnavailable> {
    return Effect.gen(this, function* () {
      const { sql } = this
      const of = storedText(id)
      // The first secret has a row from now on, and keeps it: without one it would be accepted.
      yield* query(sql`INSERT INTO key_secrets ${sql.insert({ id: of, key_id: of, ends_at: othersEndAt })}
        ON CONFLICT (id) DO NOTHING`)
      yield* query(sql`UPDATE key_secrets SET ends_at = ${othersEndAt}
        WHERE key_id = ${of} AND (ends_at IS NULL OR ends_at > ${othersEndAt})`)
      yield* query(sql`DELETE FROM key_secrets WHERE key_id = ${of} AND id <> ${of} AND ends_at <= ${now}`)
      yield* query(sql`INSERT INTO key_secrets ${sql.insert({ id: storedText(secret), key_id: of })}`)
    })
  }
}

export const makeKeyRepository = (sql: SqlClient): KeyRepository => {
  const tables = new KeyTables(sql)
  const change = audited(sql)
  return {
    find: tables.findBySecret,
    list: tables.list,
    count: tables.count,
    countManagement: () => tables.managementKeys,
    insert: (key, author) => Effect.asVoid(change(author, tables.add(key))),
    insertFirst: (key, author) =>
      change(
        author,
        Effect.flatMap(tables.managementKeys, (count) => (count === 0 ? tables.add(key) : unchanged)),
      ),
    update: (id, patch, author, keepsManager = false) => change(author, tables.update(id, patch, keepsManager)),
    rotate: (id, secret, author) => change(author, tables.rotate(id, secret, author.at)),
    previousEnds: tables.previousEnds,
    remove: (id, author, keepsManager = false) => change(author, tables.remove(id, keepsManager)),
  }
}
