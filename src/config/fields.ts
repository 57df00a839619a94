/** Kinds of fields that the parts of the configuration share. */
import * as Schema from "effect/Schema"
import { field, wholeNumber } from "../catalogue/schema.ts"
import { isJsonObject, type JsonObject } from "../domain/json/Json.ts"
import { shownText } from "../domain/json/Problem.ts"

/** A part of the configuration whose own fields have defaults, so that it may be left out. */
export const part = <A, I>(struct: Schema.Schema<A, I>) =>
  Schema.optionalWith(struct, { default: () => Schema.decodeUnknownSync(struct)({}) })

/** A field that this version does not act on yet: any value but its default is refused. */
export const later = <A>(schema: Schema.Schema<A>, fallback: A) =>
  field(
    schema.pipe(
      Schema.filter((written) => JSON.stringify(written) === JSON.stringify(fallback), {
        description: `${JSON.stringify(fallback)} (anything else is not available in this version yet)`,
      }),
    ),
    fallback,
  )

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
  description: "an object",
})
