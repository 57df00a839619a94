/** Flags and arguments of the commands about keys. */
import * as Args from "@effect/cli/Args"
import * as Options from "@effect/cli/Options"
import * as Effect from "effect/Effect"
import * as Option from "effect/Option"
import { type CommandFailed, wrongUse } from "./CommandFailed.ts"
import { urlOption } from "./gatewayClient.ts"
import { plain } from "./output.ts"

export const jsonOption = Options.boolean("json").pipe(Options.withDescription("write JSON"))

export const common = { json: jsonOption, url: urlOption }

export const nameArgument = Args.text({ name: "name" }).pipe(
  Args.withDescription("what the key is called in lists and bills"),
)

export const keyArgument = Args.text({ name: "key" }).pipe(
  Args.withDescription("its hash, or at least 6 characters of the beginning"),
)

/** An amount of USD; `none`: no limit. */
export const limitOf = (text: string): Effect.Effect<number | null, CommandFailed> => {
  if (text === "none") return Effect.succeed(null)
  return /^\d+(\.\d+)?$/.test(text)
    ? Effect.succeed(Number(text))
    : Effect.fail(wrongUse(`expected an amount of USD such as 12.50, or none, got "${plain(text)}"`))
}

/** `100/60`: so many requests in so many seconds. */
export const rateOf = (text: string) => {
  const [, requests, seconds] = /^(\d+)\/(\d+)$/.exec(text) ?? []
  return requests === undefined
    ? Effect.fail(wrongUse(`--rate: expected requests/seconds such as 100/60, got "${plain(text)}"`))
    : Effect.succeed({ requests: Number(requests), interval_s: Number(seconds) })
}

/** The value of a flag that was given. */
export const given = <A, B, E>(flag: Option.Option<A>, read: (value: A) => Effect.Effect<B, E>) =>
  Option.isSome(flag) ? Effect.asSome(read(flag.value)) : Effect.succeed(Option.none<B>())

/** The members of a body that were given. */
export const members = (all: Readonly<Record<string, Option.Option<unknown>>>) =>
  Object.fromEntries(
    Object.entries(all).flatMap(([name, value]) => (Option.isSome(value) ? [[name, value.value]] : [])),
  )

/** Patterns as a member of a body; none, if no pattern was given. */
export const some = (patterns: ReadonlyArray<string>) => Option.liftPredicate(patterns, ({ length }) => length > 0)
