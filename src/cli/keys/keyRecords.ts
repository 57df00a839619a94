/** Keys as the gateway lists them, and how commands find and show them. */
import * as Effect from "effect/Effect"
import * as Schema from "effect/Schema"
import { inOrder } from "../../domain/json/inOrder.ts"
import {
  hasTitle,
  type KeyFields,
  type KeyMember,
  type KeyRecord,
  keyFields,
  keyMembers,
  kindOf,
  type TitledMember,
  type WireOf,
} from "../../domain/keys/key.ts"
import { CommandFailed, exitCodes } from "../CommandFailed.ts"
import type { Gateway } from "../gatewayClient.ts"
import { plain } from "../output.ts"

type ShownMember = TitledMember | "disabled"

/** Fields that are shown as they are; `disabled` is a part of the state. */
export const shownMembers = keyMembers.filter(hasTitle)

/** A field that may be null may also be absent, and so may the tags: answers of earlier versions have no later fields. */
const schemaOf = (member: KeyMember) => {
  if (member === "tags") return Schema.optionalWith(keyFields.tags.kind.answer, { default: () => [] })
  const { answer } = kindOf(member)
  return Schema.is(Schema.typeSchema(answer))(null)
    ? Schema.optionalWith(Schema.NullOr(answer), { default: () => null })
    : answer
}

// A member for each field. Object.fromEntries loses that type.
const fields = Object.fromEntries(
  [...shownMembers, "disabled" as const].map((member) => [keyFields[member].wire, schemaOf(member)]),
) as unknown as {
  readonly [M in ShownMember as KeyFields[M]["wire"]]: Schema.Schema<WireOf<M>>
}

export const Key = Schema.Struct({
  ...fields,
  hash: Schema.String,
  limit_remaining: Schema.NullOr(Schema.Number),
  usage: Schema.Number,
  usage_daily: Schema.Number,
  usage_weekly: Schema.Number,
  usage_monthly: Schema.Number,
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

/** All keys of a kind (default: ordinary ones), newest first, as the gateway sent them. */
export const listKeys = (
  gateway: Gateway,
  options: { readonly includeDisabled: boolean; readonly tag?: string; readonly kind?: KeyRecord["kind"] },
): Effect.Effect<ReadonlyArray<unknown>, CommandFailed> =>
  Effect.gen(function* () {
    const all: Array<unknown> = []
    const tag = options.tag === undefined ? "" : `&tag=${encodeURIComponent(options.tag)}`
    for (;;) {
      const { kind = "ordinary", includeDisabled } = options
      const path = `/keys?kind=${kind}&limit=${pageKeys}&offset=${all.length}&include_disabled=${includeDisabled}${tag}`
      const { data } = yield* gateway.call(
        { method: "GET", path },
        Schema.Struct({ data: Schema.Array(Schema.Unknown) }),
      )
      all.push(...data)
      if (data.length < pageKeys) return all
    }
  })

/**
 * The hash of the one key that has this name, this hash, or where no key has the name, a hash that begins with these 6 or more characters.
 * Fails where there is none, or more than one. A whole hash is not looked up. `kinds`: of these keys.
 */
export const findHash = (
  gateway: Gateway,
  given: string,
  kinds: ReadonlyArray<KeyRecord["kind"]> = ["ordinary", "management"],
): Effect.Effect<string, CommandFailed> =>
  Effect.gen(function* () {
    const start = given.toLowerCase()
    if (/^[0-9a-f]{64}$/.test(start)) return start
    const lists = yield* Effect.forEach(kinds, (kind) => listKeys(gateway, { includeDisabled: true, kind }))
    const keys = yield* Effect.forEach(lists.flat(), readKey)
    // An earlier version lists ordinary keys, whatever is asked for.
    const hashesOf = (isMeant: (key: Key) => boolean) => [...new Set(keys.filter(isMeant).map(({ hash }) => hash))]
    const named = hashesOf(({ name }) => name === given)
    if (named.length > 0) return yield* onlyOne(named, `have the name "${plain(given)}"`)
    const mayBegin = /^[0-9a-f]{6,63}$/.test(start)
    const beginning = mayBegin ? hashesOf(({ hash }) => hash.startsWith(start)) : []
    if (beginning.length > 0) return yield* onlyOne(beginning, `have a hash that begins with ${start}`)
    const noHash = mayBegin ? ", and no hash begins with it" : ""
    return yield* failed(`no key has the name "${plain(given)}"${noHash}`)
  })

/** `which`: what they have in common, for the refusal. */
const onlyOne = (hashes: ReadonlyArray<string>, which: string): Effect.Effect<string, CommandFailed> => {
  const [first = "", ...others] = hashes
  return others.length === 0
    ? Effect.succeed(first)
    : failed(`${hashes.length} keys ${which}: give the hash of one of them`)
}

const failed = (message: string) => Effect.fail(new CommandFailed({ code: exitCodes.failed, message }))

/** A JSON number of USD as a plain decimal. */
export const usd = kindOf("limit").shown

/** A field as a terminal shows it. */
export const shownOf = <M extends ShownMember>(key: Key, member: M): string =>
  // The member of that name has the type of that row; TypeScript sees the union over all rows.
  kindOf(member).shown(key[keyFields[member].wire] as WireOf<M>)

export const shortHash = ({ hash }: Key): string => hash.slice(0, 12)

export const stateOf = ({ disabled, expires_at }: Key): string => {
  if (disabled) return "disabled"
  return expires_at !== null && Date.parse(expires_at) <= Date.now() ? "expired" : "active"
}

/** Every shown member of a key, with its name. */
export const membersOf = (key: Key): ReadonlyArray<readonly [name: string, value: string]> =>
  Object.entries(
    inOrder<Record<string, string>>(
      {
        ...Object.fromEntries(shownMembers.map((member) => [keyFields[member].title, shownOf(key, member)])),
        state: stateOf(key),
        limit_remaining: usd(key.limit_remaining),
        usage_daily: usd(key.usage_daily),
        usage_weekly: usd(key.usage_weekly),
        usage_monthly: usd(key.usage_monthly),
        usage: usd(key.usage),
        previous_ends_at: key.previous_ends_at ?? "-",
      },
      {
        label: ["state"],
        limit_reset: ["limit_remaining"],
        providers: ["usage_daily", "usage_weekly", "usage_monthly", "usage"],
        created_at: ["expires_at", "previous_ends_at"],
      },
    ),
  )
