/** Keys as the gateway lists them, and how commands find and show them. */
import * as Effect from "effect/Effect"
import * as Schema from "effect/Schema"
import { formatUsd, roundUsd } from "../../domain/price/Money.ts"
import { CommandFailed, exitCodes, wrongUse } from "../CommandFailed.ts"
import type { Gateway } from "../gatewayClient.ts"

/** The members that are shown. */
export const Key = Schema.Struct({
  hash: Schema.String,
  name: Schema.String,
  label: Schema.String,
  disabled: Schema.Boolean,
  limit: Schema.NullOr(Schema.Number),
  limit_remaining: Schema.NullOr(Schema.Number),
  limit_reset: Schema.NullOr(Schema.String),
  usage: Schema.Number,
  usage_daily: Schema.Number,
  usage_weekly: Schema.Number,
  usage_monthly: Schema.Number,
  rate_limit: Schema.NullOr(Schema.Struct({ requests: Schema.Number, interval_s: Schema.Number })),
  allowed_models: Schema.NullOr(Schema.Array(Schema.String)),
  allowed_providers: Schema.NullOr(Schema.Array(Schema.String)),
  created_at: Schema.String,
  expires_at: Schema.NullOr(Schema.String),
  /** Absent in answers of earlier versions. */
  previous_ends_at: Schema.optionalWith(Schema.NullOr(Schema.String), { default: () => null }),
})

export type Key = typeof Key.Type

/** An answer with one key: what is shown of it, and the whole of it for `--json`. */
export const KeyAnswer = Schema.Struct({ data: Schema.Unknown })

const decodeKey = Schema.decodeUnknown(Key)

export const readKey = (data: unknown): Effect.Effect<Key, CommandFailed> =>
  Effect.mapError(
    decodeKey(data),
    () => new CommandFailed({ code: exitCodes.failed, message: "the gateway did not answer with a key" }),
  )

const pageKeys = 100

/** All ordinary keys, newest first, as the gateway sent them. */
export const listKeys = (
  gateway: Gateway,
  options: { readonly includeDisabled: boolean },
): Effect.Effect<ReadonlyArray<unknown>, CommandFailed> =>
  Effect.gen(function* () {
    const all: Array<unknown> = []
    for (;;) {
      const path = `/keys?limit=${pageKeys}&offset=${all.length}&include_disabled=${options.includeDisabled}`
      const { data } = yield* gateway.call(
        { method: "GET", path },
        Schema.Struct({ data: Schema.Array(Schema.Unknown) }),
      )
      all.push(...data)
      if (data.length < pageKeys) return all
    }
  })

/** The hash that a command was given: whole, or its first characters. */
export const findHash = (gateway: Gateway, given: string): Effect.Effect<string, CommandFailed> =>
  Effect.gen(function* () {
    const start = given.toLowerCase()
    if (/^[0-9a-f]{64}$/.test(start)) return start
    if (!/^[0-9a-f]{6,63}$/.test(start))
      return yield* wrongUse(
        "expected the hash of a key, or at least 6 characters of its beginning, as `keys list` shows it",
      )
    const keys = yield* Effect.forEach(yield* listKeys(gateway, { includeDisabled: true }), readKey)
    const [found, ...others] = keys.filter(({ hash }) => hash.startsWith(start))
    if (found !== undefined && others.length === 0) return found.hash
    const message =
      found === undefined ? `no key begins with ${start}` : `${others.length + 1} keys begin with ${start}`
    return yield* new CommandFailed({ code: exitCodes.failed, message })
  })

/** A JSON number of USD as a plain decimal. */
export const usd = (amount: number | null): string => (amount === null ? "-" : formatUsd(roundUsd(amount) ?? 0n))

export const shortHash = ({ hash }: Key): string => hash.slice(0, 12)

export const stateOf = ({ disabled, expires_at }: Key): string => {
  if (disabled) return "disabled"
  return expires_at !== null && Date.parse(expires_at) <= Date.now() ? "expired" : "active"
}

const list = (patterns: ReadonlyArray<string> | null): string => patterns?.join(", ") ?? "all"

/** Every shown member of a key, with its name. */
export const membersOf = (key: Key): ReadonlyArray<readonly [name: string, value: string]> => [
  ["hash", key.hash],
  ["name", key.name],
  ["label", key.label],
  ["state", stateOf(key)],
  ["limit", usd(key.limit)],
  ["limit_reset", key.limit_reset ?? "-"],
  ["limit_remaining", usd(key.limit_remaining)],
  ["rate_limit", key.rate_limit === null ? "-" : `${key.rate_limit.requests}/${key.rate_limit.interval_s}`],
  ["models", list(key.allowed_models)],
  ["providers", list(key.allowed_providers)],
  ["usage_daily", usd(key.usage_daily)],
  ["usage_weekly", usd(key.usage_weekly)],
  ["usage_monthly", usd(key.usage_monthly)],
  ["usage", usd(key.usage)],
  ["created_at", key.created_at],
  ["expires_at", key.expires_at ?? "-"],
  ["previous_ends_at", key.previous_ends_at ?? "-"],
]
