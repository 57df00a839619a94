/** `headgate keys change`, `rename`, `disable`, `enable` and `rotate`. */
import * as Command from "@effect/cli/Command"
import * as Options from "@effect/cli/Options"
import * as Effect from "effect/Effect"
import type * as Option from "effect/Option"
import * as Schema from "effect/Schema"
import { wrongUse } from "../CommandFailed.ts"
import { connect } from "../gatewayClient.ts"
import { common, given, keyArgument, members, nameArgument } from "../keyFlags.ts"
import { plain, writeJson, writeRecord } from "../output.ts"
import { changeFlags, membersGiven } from "./fieldFlags.ts"
import { findHash, KeyAnswer, membersOf, readKey } from "./keyRecords.ts"

interface Where {
  readonly key: string
  readonly json: boolean
  readonly url: Option.Option<string>
}

/** Sends the members that are to be changed, and shows the key after that. */
const patched = ({ key, json, url }: Where, body: Readonly<Record<string, unknown>>) =>
  Effect.gen(function* () {
    const gateway = yield* connect(url)
    const path = `/keys/${yield* findHash(gateway, key)}`
    const { data } = yield* gateway.call({ method: "PATCH", path, body }, KeyAnswer)
    yield* json ? writeJson(data) : writeRecord(membersOf(yield* readKey(data)))
  })

export const change = Command.make(
  "change",
  { key: keyArgument, fields: changeFlags, ...common },
  ({ fields, ...where }) =>
    Effect.gen(function* () {
      const body = yield* membersGiven("atChange", fields)
      if (Object.keys(body).length === 0) return yield* wrongUse("nothing to change: name at least one flag")
      yield* patched(where, body)
    }),
).pipe(Command.withDescription("Changes what is named by flags: name, limit, rate, lists, expiry."))

export const rename = Command.make(
  "rename",
  { key: keyArgument, name: nameArgument, ...common },
  ({ name, ...where }) => patched(where, { name }),
).pipe(Command.withDescription("Gives a key another name."))

export const disable = Command.make("disable", { key: keyArgument, ...common }, (where) =>
  patched(where, { disabled: true }),
).pipe(Command.withDescription("Refuses a key until it is enabled again, and ends its running requests."))

export const enable = Command.make("enable", { key: keyArgument, ...common }, (where) =>
  patched(where, { disabled: false }),
).pipe(Command.withDescription("Accepts a disabled key again."))

const secondsIn = { s: 1, m: 60, h: 3600, d: 86_400 }

/** Seconds of `90s`, `15m`, `24h`, `7d`, or of a bare number of seconds. */
const overlapOf = (text: string) => {
  const [, count, unit = "s"] = /^(\d{1,9})([smhd])?$/.exec(text) ?? []
  const seconds = unit === "s" || unit === "m" || unit === "h" || unit === "d" ? secondsIn[unit] : 1
  return count === undefined
    ? Effect.fail(wrongUse(`--overlap: expected a time such as 90s, 15m, 24h or 7d, got "${plain(text)}"`))
    : Effect.succeed(Number(count) * seconds)
}

const Rotated = Schema.Struct({ data: Schema.Unknown, key: Schema.String, previous_ends_at: Schema.String })

export const rotate = Command.make(
  "rotate",
  {
    key: keyArgument,
    overlap: Options.text("overlap").pipe(
      Options.withDescription("for how long the secret before it is accepted, such as 15m, 24h (the default) or 0"),
      Options.optional,
    ),
    ...common,
  },
  ({ key, overlap, json, url }) =>
    Effect.gen(function* () {
      const body = members({ overlap_s: yield* given(overlap, overlapOf) })
      const gateway = yield* connect(url)
      const path = `/keys/${yield* findHash(gateway, key)}/rotate`
      const answer = yield* gateway.call({ method: "POST", path, body }, Rotated)
      if (json) return yield* writeJson(answer)
      const shown = membersOf(yield* readKey(answer.data))
      const others = shown.filter(([name]) => name !== "previous_ends_at")
      yield* writeRecord([["key", answer.key], ["previous_ends_at", answer.previous_ends_at], ...others])
    }),
).pipe(
  Command.withDescription(
    "Makes another secret for a key, with the same budget and hash, and shows it this once. The one before it ends after --overlap.",
  ),
)
