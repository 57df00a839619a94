/**
 * Kinds of values that the fields of keys have: how each is written in requests and answers, kept in a database, and read and
 * shown by a terminal. `key.ts` has the fields.
 */
import * as Clock from "effect/Clock"
import * as Effect from "effect/Effect"
import * as ParseResult from "effect/ParseResult"
import * as Schema from "effect/Schema"
import { readRange } from "../addresses/ipRange.ts"
import { formatUsd, type Picodollars, picodollarsPerUsd, roundUsd, toUsd } from "../price/money.ts"
import { mostRequests, mostSeconds, type RateLimit } from "../structures/SlidingWindow.ts"

/** A column of text, of booleans, of 64-bit integers, of picodollars, or of lists and records as JSON. */
export type StoredAs = "text" | "flag" | "number" | "money" | "json"

/** `A`: in a record. `Wire`: in requests and answers. */
export interface KeyValue<A, Wire> {
  /** What a row of the database may hold: looser than what a request may, since rows have other authors too. */
  readonly value: Schema.Schema<A>
  readonly stored: StoredAs
  /** Decodes the member of a request. Its description says what is expected. */
  readonly request: Schema.Schema<A, Wire>
  readonly answer: Schema.Schema<Wire>
  readonly written: (value: A) => Wire
  /** The member of an answer, for a terminal. */
  readonly shown: (wire: Wire) => string
}

const same = <A>(value: A): A => value

/** A kind that is written as it is. `request`: where a request may not have every such value. */
const plain = <A>(
  value: Schema.Schema<A>,
  { stored, request = value }: { readonly stored: StoredAs; readonly request?: Schema.Schema<A> },
): KeyValue<A, A> => ({ value, stored, request, answer: value, written: same, shown: String })

/** The same, or `null`. `none`: what a terminal shows for that. */
export const optional = <A, Wire>(kind: KeyValue<A, Wire>, none = "-"): KeyValue<A | null, Wire | null> => ({
  value: Schema.NullOr(kind.value),
  stored: kind.stored,
  request: Schema.NullOr(kind.request),
  answer: Schema.NullOr(kind.answer),
  written: (value) => (value === null ? null : kind.written(value)),
  shown: (wire) => (wire === null ? none : kind.shown(wire)),
})

export const yesOrNo = plain(Schema.Boolean, { stored: "flag" })

/** Any text. */
export const text = plain(Schema.String, { stored: "text" })

const Name = Schema.String.pipe(
  Schema.filter((written) => written.length >= 1 && written.length <= 200, {
    description: "a text of 1 to 200 characters",
  }),
)

export const name = plain(Schema.String, { stored: "text", request: Name })

/** A text of a form of its own, or one of some words. */
export const textThat = <A>(value: Schema.Schema<A>): KeyValue<A, A> => plain(value, { stored: "text" })

// The ledger's 64-bit columns hold at most 9.2 million USD.
const mostUsd = 9_000_000

const limitRule = `an amount of USD from 0 to ${mostUsd}`

/** A JSON number of USD, rounded to the nearest picodollar. */
const Usd = Schema.transformOrFail(Schema.Number, Schema.BigIntFromSelf, {
  strict: true,
  decode: (usd, _options, ast) => {
    const rounded = roundUsd(usd)
    return rounded === undefined || rounded > BigInt(mostUsd) * picodollarsPerUsd
      ? ParseResult.fail(new ParseResult.Type(ast, usd, `expected ${limitRule}, got ${usd}`))
      : ParseResult.succeed(rounded)
  },
  encode: (rounded) => ParseResult.succeed(toUsd(rounded)),
}).annotations({ description: limitRule })

export const amount: KeyValue<Picodollars, number> = {
  value: Schema.BigIntFromSelf,
  stored: "money",
  request: Usd,
  answer: Schema.Number,
  written: toUsd,
  shown: (usd) => formatUsd(roundUsd(usd) ?? 0n),
}

/** Unix milliseconds as the API writes them. */
export const isoTime = (at: number): string => new Date(at).toISOString()

const utc = /^(\d{4}-\d{2}-\d{2}T\d{2}:\d{2}):\d{2}(?:\.\d{1,9})?(?:Z|[+-]00:00)$/

const futureRule = "an ISO 8601 date-time in UTC that lies in the future"

/** An ISO date, as Unix milliseconds. An invalid date such as 30 February is refused, not moved into March. */
const Future = Schema.transformOrFail(Schema.String, Schema.Number, {
  strict: true,
  decode: (written, _options, ast) =>
    Effect.flatMap(Clock.currentTimeMillis, (now) => {
      const at = Date.parse(written)
      const minute = utc.exec(written)?.[1]
      return minute !== undefined && at > now && isoTime(at).startsWith(minute)
        ? ParseResult.succeed(at)
        : ParseResult.fail(new ParseResult.Type(ast, written))
    }),
  encode: (at) => ParseResult.succeed(isoTime(at)),
}).annotations({ description: futureRule })

/** A moment, as Unix milliseconds; in a request one that is still to come. */
export const time: KeyValue<number, string> = {
  value: Schema.Number,
  stored: "number",
  request: Future,
  answer: Schema.String,
  written: isoTime,
  shown: same,
}

/** A whole number in a body. */
export const wholeAmount = (from: number, to: number) =>
  Schema.Number.pipe(
    Schema.filter((value) => Number.isInteger(value) && value >= from && value <= to, {
      description: `a whole number from ${from} to ${to}`,
    }),
  )

export interface WrittenRate {
  readonly requests: number
  readonly interval_s: number
}

export const rate: KeyValue<RateLimit, WrittenRate> = {
  value: Schema.Struct({ requests: Schema.Number, intervalSeconds: Schema.Number }),
  stored: "json",
  request: Schema.Struct({
    requests: wholeAmount(1, mostRequests),
    intervalSeconds: wholeAmount(1, mostSeconds).pipe(Schema.propertySignature, Schema.fromKey("interval_s")),
  }),
  answer: Schema.Struct({ requests: Schema.Int, interval_s: Schema.Int }),
  written: ({ requests, intervalSeconds }) => ({ requests, interval_s: intervalSeconds }),
  shown: ({ requests, interval_s: seconds }) => `${requests}/${seconds}`,
}

const mostPatterns = 100

/** Patterns of models or providers. In a request an empty list, which would allow nothing, is refused. */
export const patterns: KeyValue<ReadonlyArray<string>, ReadonlyArray<string>> = {
  ...plain(Schema.Array(Schema.String), {
    stored: "json",
    request: Schema.Array(Name).pipe(
      // No description, which would take the place of what is wrong with one pattern.
      Schema.filter(
        ({ length }) =>
          (length >= 1 && length <= mostPatterns) || `expected a list of 1 to ${mostPatterns} patterns, got ${length}`,
      ),
    ),
  }),
  shown: (list) => list.join(", "),
}

/** Tags of a key, and the characters of one. */
const mostTags = 16
const longestTag = 64

/** Whether a key may have this tag. A comma would divide it from another in a list. */
export const isTag = (written: string): boolean =>
  written.length <= longestTag && /^[^\s,\p{Cc}]([^,\p{Cc}]*[^\s,\p{Cc}])?$/u.test(written)

export const tagRule = `a tag: 1 to ${longestTag} characters without commas, and without spaces at its ends`

const Tag = Schema.String.pipe(Schema.filter(isTag, { description: tagRule }))

/** Words by which keys are found. One that is written twice counts once. */
export const tags: KeyValue<ReadonlyArray<string>, ReadonlyArray<string>> = {
  ...plain(Schema.Array(Schema.String), { stored: "json" }),
  request: Schema.transform(
    Schema.Array(Tag).pipe(
      Schema.filter(({ length }) => length <= mostTags || `expected at most ${mostTags} tags, got ${length}`),
    ),
    Schema.Array(Schema.String),
    { strict: true, decode: (list) => [...new Set(list)], encode: same },
  ),
  shown: (list) => (list.length === 0 ? "-" : list.join(", ")),
}

const mostRanges = 100

const Range = Schema.String.pipe(
  Schema.filter((written) => {
    const range = readRange(written)
    return typeof range !== "string" || range
  }),
)

/** Ranges of IP addresses, as they were written; `null`: every address. In a request an empty list is `null`, too. */
export const addressRanges: KeyValue<ReadonlyArray<string> | null, ReadonlyArray<string> | null> = {
  ...optional({ ...plain(Schema.Array(Schema.String), { stored: "json" }), shown: (list) => list.join(", ") }, "all"),
  request: Schema.transform(
    Schema.NullOr(
      Schema.Array(Range).pipe(
        Schema.filter(({ length }) => length <= mostRanges || `expected at most ${mostRanges} ranges, got ${length}`),
      ),
    ),
    Schema.NullOr(Schema.Array(Schema.String)),
    { strict: true, decode: (list) => (list?.length === 0 ? null : list), encode: same },
  ),
}
