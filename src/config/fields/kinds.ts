/** Kinds of members and values that the parts of the configuration share. */
import * as Schema from "effect/Schema"
import { wholeNumber } from "../../catalogue/schema.ts"
import { absentOf, type Meaning, setting, writtenAs } from "../../catalogue/setting.ts"
import { isJsonObject, type JsonObject } from "../../domain/json/json.ts"
import { shownText } from "../../domain/json/Problem.ts"

/** A member that this version does not act on yet: any value but its default is refused. */
export const later = <const Name extends string, A, I>(
  written: Name,
  schema: Schema.Schema<A, I>,
  meaning: Meaning<NoInfer<I>>,
) => {
  const only = JSON.stringify(absentOf(meaning))
  const onlyDefault = schema.pipe(
    Schema.filter((value) => JSON.stringify(value) === only, {
      description: `${only} (anything else is not available in this version yet)`,
    }),
  )
  return setting(written, onlyDefault, meaning)
}

/** A whole number of at least 0. */
export const amount = wholeNumber(0)

/** From 0 to what a timer of JavaScript can wait at most. */
export const milliseconds = wholeNumber(0, 2 ** 31 - 1)

/** Text for which `holds`; `description` says in an error what was expected. */
export const text = (description: string, holds: (written: string) => boolean) =>
  Schema.String.pipe(Schema.filter(holds, { description }))

/** The same for a field that is not for secrets, so that the error may repeat a wrong value. */
export const publicText = (description: string, holds: (written: string) => boolean) =>
  text(description, holds).annotations({ description, [shownText]: true })

export const name = text("a text that is not empty", (written) => written !== "")

/** A number from 0 to 1. */
export const share = Schema.Number.pipe(
  Schema.filter((written) => written >= 0 && written <= 1, { description: "a number from 0 to 1" }),
)

export const notNegative = Schema.Number.pipe(
  Schema.filter((written) => written >= 0 && Number.isFinite(written), { description: "a number of at least 0" }),
)

export const anyObject = Schema.declare((value: unknown): value is JsonObject => isJsonObject(value), {
  identifier: "JsonObject",
  description: "an object",
  [writtenAs]: () => Schema.Record({ key: Schema.String, value: Schema.Unknown }),
})
