/** Flags and arguments of the commands about keys. */
import * as Args from "@effect/cli/Args"
import * as Options from "@effect/cli/Options"
import * as Effect from "effect/Effect"
import * as Option from "effect/Option"
import { urlOption } from "./gatewayClient.ts"

export const jsonOption = Options.boolean("json").pipe(Options.withDescription("write JSON"))

export const common = { json: jsonOption, url: urlOption }

export const nameArgument = Args.text({ name: "name" }).pipe(
  Args.withDescription("what the key is called in lists and bills"),
)

export const keyArgument = Args.text({ name: "key" }).pipe(
  Args.withDescription("its name, its hash, or at least 6 characters of the hash's beginning"),
)

/** The value of a flag that was given. */
export const given = <A, B, E>(flag: Option.Option<A>, read: (value: A) => Effect.Effect<B, E>) =>
  Option.isSome(flag) ? Effect.asSome(read(flag.value)) : Effect.succeed(Option.none<B>())

/** The members of a body that were given. */
export const members = (all: Readonly<Record<string, Option.Option<unknown>>>) =>
  Object.fromEntries(
    Object.entries(all).flatMap(([name, value]) => (Option.isSome(value) ? [[name, value.value]] : [])),
  )
