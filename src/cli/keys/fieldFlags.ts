/** Flags that set fields of a key: `keys create` and `keys change` have those of the table in `domain/keys/key.ts`. */
import * as Options from "@effect/cli/Options"
import * as Effect from "effect/Effect"
import * as Option from "effect/Option"
import { factsOf, isChangeable, isSettable, type KeyFlag, keyMembers } from "../../domain/keys/key.ts"
import { type CommandFailed, wrongUse } from "../CommandFailed.ts"
import { plain } from "../output.ts"

type Written = string | ReadonlyArray<string>

/** Whether the key is made or changed. The words of a flag differ, and only a change can take a value away. */
type When = "atCreation" | "atChange"

interface FieldFlag extends KeyFlag {
  /** The member of the request. */
  readonly wire: string
}

const flagsAt = (when: When): ReadonlyArray<FieldFlag> =>
  keyMembers.flatMap((member) => {
    const { wire, flag } = factsOf(member)
    const isSet = when === "atChange" ? isChangeable(member) : isSettable(member) && flag?.atCreation !== undefined
    return flag === undefined || !isSet ? [] : [{ ...flag, wire }]
  })

const optionOf = (flag: FieldFlag, when: When): Options.Options<Option.Option<Written>> => {
  const { name, takes, none } = flag
  const words =
    takes === undefined || takes === "several" || when === "atCreation" || none === undefined ? takes : [...takes, none]
  const bare = words === undefined || words === "several" ? Options.text(name) : Options.choice(name, words)
  const about = flag[when]
  const option = about === undefined ? bare : Options.withDescription(bare, about)
  return words === "several"
    ? Options.map(
        Options.repeated(option),
        Option.liftPredicate((all) => all.length > 0),
      )
    : Options.optional(option)
}

const optionsAt = (when: When) =>
  Object.fromEntries(flagsAt(when).map((flag) => [flag.wire, optionOf(flag, when)] as const))

export const creationFlags = optionsAt("atCreation")
export const changeFlags = optionsAt("atChange")

/** What was written, as the member of a request. */
export const valueOf = (flag: KeyFlag, written: Written, none?: string): Effect.Effect<unknown, CommandFailed> => {
  const { empty = null } = flag
  if (typeof written !== "string") return Effect.succeed(written.length === 1 && written[0] === none ? empty : written)
  if (written === none) return Effect.succeed(empty)
  const value = flag.read === undefined ? written : flag.read(written)
  return value === undefined ? Effect.fail(wrongUse(`${flag.refusal}, got "${plain(written)}"`)) : Effect.succeed(value)
}

/** The members of a request that were given by flags. */
export const membersGiven = (
  when: When,
  given: Readonly<Record<string, Option.Option<Written>>>,
): Effect.Effect<Readonly<Record<string, unknown>>, CommandFailed> =>
  Effect.gen(function* () {
    const body: Record<string, unknown> = {}
    for (const flag of flagsAt(when)) {
      const written = given[flag.wire] ?? Option.none()
      if (Option.isSome(written))
        body[flag.wire] = yield* valueOf(flag, written.value, when === "atChange" ? flag.none : undefined)
    }
    return body
  })
