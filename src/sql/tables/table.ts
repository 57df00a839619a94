/**
 * Converts records to rows and back, by one table of columns per record. Statements take their column lists from it.
 * Differences between databases (money, booleans, text) are handled only here.
 */
import type * as Either from "effect/Either"
import * as Schema from "effect/Schema"
import * as Struct from "effect/Struct"
import { KeyId } from "../../domain/ids.ts"
import type { StoredAs } from "../../domain/keys/keyValues.ts"

/** A value as it is passed to the driver. */
export type Stored = string | number | boolean | null

/** The column of a member, and how its value is read. */
export interface Column<A> {
  readonly name: string
  /** The expression for a SELECT. */
  readonly expression: string
  // The encoded type is the database's. Values are never written through the schema.
  // biome-ignore lint/suspicious/noExplicitAny: the stored form can be of any type.
  readonly value: Schema.Schema<A, any>
}

export const column = <A, I>(name: string, value: Schema.Schema<A, I>): Column<A> => ({
  name,
  expression: name,
  value,
})

/**
 * Text from outside. PostgreSQL stores neither U+0000 nor lone surrogates, so U+0000 is written as U+001A "0" (and U+001A
 * itself as U+001A "1"), in either database; a lone surrogate becomes U+FFFD, as UTF-8 has it.
 */
export const storedText = (text: string): string => (unusual.test(text) ? escaped(text) : text)

// biome-ignore lint/suspicious/noControlCharactersInRegex: it is these characters that must not be stored.
const unusual = /[\0\x1a\ud800-\udfff]/

const escaped = (text: string): string => text.toWellFormed().replaceAll("\x1a", "\x1a1").replaceAll("\0", "\x1a0")

/** The text that `storedText` stored. */
export const originalText = (stored: string): string =>
  stored.includes("\x1a") ? stored.replaceAll("\x1a0", "\0").replaceAll("\x1a1", "\x1a") : stored

const StoredText = Schema.transform(Schema.String, Schema.String, {
  strict: true,
  decode: originalText,
  encode: storedText,
})

export const text = (name: string): Column<string> => column(name, StoredText)

/** In a WHERE, pass the id through `storedText`. */
export const keyIdText = (name: string): Column<KeyId> => column(name, Schema.compose(StoredText, KeyId))

export const optionalText = (name: string): Column<string | null> => column(name, Schema.NullOr(StoredText))

/** SQLite has no booleans and returns 0 or 1. */
const Flag = Schema.transform(Schema.Union(Schema.Boolean, Schema.Literal(0, 1)), Schema.Boolean, {
  strict: true,
  decode: (stored) => stored === true || stored === 1,
  encode: (flag) => flag,
})

export const flag = (name: string): Column<boolean> => column(name, Flag)

/**
 * Picodollars. They are written as decimal text, which a 64-bit integer column converts or refuses, and read with a
 * cast to text, because drivers return numbers, which are inexact above 2^53.
 */
export const money = (name: string): Column<bigint> => ({
  ...column(name, Schema.BigInt),
  expression: castToText(name),
})

export const castToText = (name: string): string => `CAST(${name} AS TEXT)`

/** A list or a record, stored as JSON text. */
export const optionalJson = <A extends object>(name: string, value: Schema.Schema<A>): Column<A | null> =>
  column(name, Schema.NullOr(Schema.parseJson(value)))

const forms = {
  text: StoredText,
  flag: Flag,
  number: Schema.Number,
  money: Schema.BigInt,
  json: Schema.parseJson(),
} satisfies Record<StoredAs, unknown>

/** A column of a form, whose values are further bounded by a schema; without null where that has none. */
export const storedColumn = <A>(name: string, stored: StoredAs, value: Schema.Schema<A>): Column<A> => ({
  // What the form gives can be anything: `value` says what it has to be.
  ...column(name, Schema.compose(Schema.NullOr(forms[stored]), value, { strict: false })),
  ...(stored === "money" ? { expression: castToText(name) } : {}),
})

export interface Table<A> {
  readonly members: ReadonlyArray<keyof A>
  /** Column names in the order of `members`. */
  readonly names: ReadonlyArray<string>
  /** The list of expressions for a SELECT whose rows `decode` reads. */
  readonly selection: string
  readonly decode: (rows: ReadonlyArray<unknown>) => Either.Either<ReadonlyArray<A>, Error>
  /** Values by column name. Absent members are left out, so that an UPDATE does not change them. */
  readonly columnsOf: (record: Partial<A>) => Record<string, Stored>
  /** The values in the order of `members`. */
  readonly valuesOf: (record: A) => ReadonlyArray<Stored>
}

type Storable = Stored | bigint | object

const storedForm = (value: Storable): Stored => {
  if (typeof value === "string") return storedText(value)
  if (typeof value === "bigint") return value.toString()
  return typeof value === "object" && value !== null ? JSON.stringify(value) : value
}

/** Makes the table of a record, with a column for each member. */
export const table = <A extends { readonly [M in keyof A]: Storable }>(
  columns: {
    readonly [M in keyof A]-?: Column<A[M]>
  },
): Table<A> => {
  const members = Struct.keys(columns)
  const values = Object.fromEntries(members.map((member) => [member, columns[member].value]))
  // The type of `columns` guarantees that each member's schema is that of A.
  const rows = Schema.Array(Schema.Struct(values)) as unknown as Schema.Schema<ReadonlyArray<A>, unknown>
  return {
    members,
    names: members.map((member) => columns[member].name),
    selection: members.map((member) => `${columns[member].expression} AS "${member}"`).join(", "),
    decode: Schema.decodeUnknownEither(rows),
    columnsOf: (record) => {
      const stored: Record<string, Stored> = {}
      for (const member of members) {
        const value = record[member]
        if (value !== undefined) stored[columns[member].name] = storedForm(value)
      }
      return stored
    },
    valuesOf: (record) => members.map((member) => storedForm(record[member])),
  }
}
