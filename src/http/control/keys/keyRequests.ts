/** Decoding of key management requests. Every field is checked, and all problems are reported at once. */
import * as Clock from "effect/Clock"
import * as Effect from "effect/Effect"
import * as ParseResult from "effect/ParseResult"
import * as Schema from "effect/Schema"
import * as AST from "effect/SchemaAST"
import { BadRequest } from "../../../domain/failures/Failure.ts"
import type { Issue } from "../../../domain/json/checks.ts"
import { problemsOf } from "../../../domain/json/Problem.ts"
import { picodollarsPerUsd, roundUsd, toUsd } from "../../../domain/price/Money.ts"
import { mostRequests, mostSeconds } from "../../../domain/structures/SlidingWindow.ts"
import { OwnWorkspace } from "../Installation.ts"
import { offset, wholeNumber } from "../query.ts"
import { isoTime, LimitReset } from "./keyFigures.ts"

/** Absent means unchanged, or the default; where null is allowed, it means none. */
const optional = <A, I, R>(schema: Schema.Schema<A, I, R>) => Schema.optionalWith(schema, { exact: true })

const Name = Schema.String.pipe(
  Schema.filter((text) => text.length >= 1 && text.length <= 200, { description: "a text of 1 to 200 characters" }),
)

// The ledger's 64-bit columns hold at most 9.2 million USD.
const mostUsd = 9_000_000

const limitRule = `an amount of USD from 0 to ${mostUsd}`

/** A JSON number of USD, rounded to the nearest picodollar. */
const Limit = Schema.transformOrFail(Schema.Number, Schema.BigIntFromSelf, {
  strict: true,
  decode: (usd, _options, ast) => {
    const amount = roundUsd(usd)
    return amount === undefined || amount > BigInt(mostUsd) * picodollarsPerUsd
      ? ParseResult.fail(new ParseResult.Type(ast, usd, `expected ${limitRule}, got ${usd}`))
      : ParseResult.succeed(amount)
  },
  encode: (amount) => ParseResult.succeed(toUsd(amount)),
}).annotations({ description: limitRule })

/** A whole number in a body. */
const wholeAmount = (from: number, to: number) =>
  Schema.Number.pipe(
    Schema.filter((value) => Number.isInteger(value) && value >= from && value <= to, {
      description: `a whole number from ${from} to ${to}`,
    }),
  )

const utc = /^(\d{4}-\d{2}-\d{2}T\d{2}:\d{2}):\d{2}(?:\.\d{1,9})?(?:Z|[+-]00:00)$/

const expiryRule = "an ISO 8601 date-time in UTC that lies in the future"

/** An ISO date, as Unix milliseconds. An invalid date such as 30 February is refused, not moved into March. */
const ExpiresAt = Schema.transformOrFail(Schema.String, Schema.Number, {
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
}).annotations({ description: expiryRule })

const RateLimit = Schema.Struct({
  requests: wholeAmount(1, mostRequests),
  intervalSeconds: wholeAmount(1, mostSeconds).pipe(Schema.propertySignature, Schema.fromKey("interval_s")),
})

const mostPatterns = 100

/** Patterns of models or providers. An empty list, which would allow nothing, is refused. */
const Patterns = Schema.Array(Name).pipe(
  // No description, which would take the place of what is wrong with one pattern.
  Schema.filter(
    ({ length }) =>
      (length >= 1 && length <= mostPatterns) || `expected a list of 1 to ${mostPatterns} patterns, got ${length}`,
  ),
)

const rules = {
  rateLimit: optional(Schema.NullOr(RateLimit)).pipe(Schema.fromKey("rate_limit")),
  allowedModels: optional(Schema.NullOr(Patterns)).pipe(Schema.fromKey("allowed_models")),
  allowedProviders: optional(Schema.NullOr(Patterns)).pipe(Schema.fromKey("allowed_providers")),
}

const expiry = { expiresAt: optional(Schema.NullOr(ExpiresAt)).pipe(Schema.fromKey("expires_at")) }

const limits = {
  limit: optional(Schema.NullOr(Limit)),
  limitReset: optional(Schema.NullOr(LimitReset)).pipe(Schema.fromKey("limit_reset")),
  includeByokInLimit: optional(Schema.Boolean).pipe(Schema.fromKey("include_byok_in_limit")),
}

export const NewKey = Schema.Struct({
  name: Name,
  ...limits,
  ...expiry,
  creatorUserId: optional(Schema.NullOr(Name)).pipe(Schema.fromKey("creator_user_id")),
  workspaceId: optional(OwnWorkspace).pipe(Schema.fromKey("workspace_id")),
  ...rules,
}).annotations({ identifier: "NewKey" })

export const KeyChange = Schema.Struct({
  name: optional(Name),
  disabled: optional(Schema.Boolean),
  ...limits,
  ...expiry,
  ...rules,
}).annotations({ identifier: "KeyChange" })

/** `overlap_s`: for how many seconds the earlier secrets are still accepted, 30 days at most. Default: a day. */
export const Rotation = Schema.Struct({
  overlapSeconds: Schema.optionalWith(wholeAmount(0, 30 * 86_400), { exact: true, default: () => 86_400 }).pipe(
    Schema.fromKey("overlap_s"),
  ),
}).annotations({ identifier: "Rotation" })

/** Query of the list. A page has 100 keys at most. */
export const KeyQuery = Schema.Struct({
  offset: Schema.optionalWith(offset, { exact: true, default: () => 0 }),
  limit: Schema.optionalWith(wholeNumber(1, 100), { exact: true, default: () => 100 }),
  include_disabled: optional(
    Schema.Literal("true", "false").annotations({
      message: () => ({ message: 'expected "true" or "false"', override: true }),
    }),
  ),
  workspace_id: optional(OwnWorkspace),
}).annotations({ parseOptions: { errors: "all" } })

/**
 * Decodes a body strictly. `known`: all members of a key. One that a caller may not set gets another message than an
 * unknown one.
 */
export const decodeBody = <A, I, R>(schema: Schema.Schema<A, I, R>, known: ReadonlySet<string>) => {
  const decode = ParseResult.decodeUnknown(schema, { errors: "all", onExcessProperty: "error" })
  const settable = new Set(AST.getPropertySignatures(Schema.encodedSchema(schema).ast).map(({ name }) => String(name)))
  const worded = ({ path, message }: Issue): Issue =>
    known.has(path) && !settable.has(path) ? { path, message: "this field cannot be set" } : { path, message }
  return (body: unknown): Effect.Effect<A, BadRequest, R> =>
    Effect.mapError(decode(body), (issue) => {
      const [first = { path: "", message: "not a valid body" }, ...more] = problemsOf(issue).map(worded)
      return new BadRequest({ issues: [first, ...more] })
    })
}
