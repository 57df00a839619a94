/**
 * How records become rows and rows become records: one table of columns per record, from which statements take their
 * column lists. What databases store differently is settled here and nowhere else: money and booleans.
 */
import type * as Either from "effect/Either"
import * as Schema from "effect/Schema"
import * as Struct from "effect/Struct"

/** A value as it is handed to the driver. */
export type Stored = string | number | boolean | null

/** Where a member of a record is stored, and how it is read from there. */
export interface Column<A> {
  readonly name: string
  /** What a SELECT asks for. */
  readonly expression: string
  // The encoded side is the database's: it is never written through the schema.
  // biome-ignore lint/suspicious/noExplicitAny: any stored form will do.
  readonly value: Schema.Schema<A, any>
}

export const column = <A, I>(name: string, value: Schema.Schema<A, I>): Column<A> => ({
  name,
  expression: name,
  value,
})

/** SQLite has no booleans and gives 0 or 1. */
const Flag = Schema.transform(Schema.Union(Schema.Boolean, Schema.Literal(0, 1)), Schema.Boolean, {
  strict: true,
  decode: (stored) => stored === true || stored === 1,
  encode: (flag) => flag,
})

export const flag = (name: string): Column<boolean> => column(name, Flag)

/**
 * Picodollars. They go in as decimal text, which a 64-bit integer column converts or refuses, and come out cast to text:
 * drivers give numbers, which are wrong above 2^53.
 */
export const money = (name: string): Column<bigint> => ({
  ...column(name, Schema.BigInt),
  expression: castToText(name),
})

export const optionalMoney = (name: string): Column<bigint | null> => ({
  ...column(name, Schema.NullOr(Schema.BigInt)),
  expression: castToText(name),
})

export const castToText = (name: string): string => `CAST(${name} AS TEXT)`

export interface Table<A> {
  readonly members: ReadonlyArray<keyof A>
  /** Column names in the order of `members`. */
  readonly names: ReadonlyArray<string>
  /** What a SELECT asks for, so that `decode` understands the answer. */
  readonly selection: string
  readonly decode: (rows: ReadonlyArray<unknown>) => Either.Either<ReadonlyArray<A>, Error>
  /** Values by column name. Absent members are left out, so that they keep their values in an UPDATE. */
  readonly columnsOf: (record: Partial<A>) => Record<string, Stored>
  /** The values in the order of `members`. */
  readonly valuesOf: (record: A) => ReadonlyArray<Stored>
}

type Storable = Stored | bigint

const storedForm = (value: Storable): Stored => (typeof value === "bigint" ? value.toString() : value)

/** The table of a record: every member has a column of its type. */
export const table = <A extends { readonly [M in keyof A]: Storable }>(
  columns: {
    readonly [M in keyof A]-?: Column<A[M]>
  },
): Table<A> => {
  const members = Struct.keys(columns)
  const values = Object.fromEntries(members.map((member) => [member, columns[member].value]))
  // The members' schemas are those of A, one by one: see the type of `columns`.
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
