/** Parameters of a query string. A parameter that is written twice is refused. */
import * as ParseResult from "effect/ParseResult"
import * as Schema from "effect/Schema"
import { BadRequest } from "../../domain/failures/Failure.ts"
import type { JsonObject } from "../../domain/json/json.ts"

/** A parameter that is read by a function. `rule`: what is expected, for the refusal and the API's description. */
export const parameter = <A>(
  to: Schema.Schema<A>,
  { rule, jsonSchema }: { readonly rule: string; readonly jsonSchema: JsonObject },
  read: (written: string) => A | undefined,
) =>
  Schema.transformOrFail(Schema.String, to, {
    strict: true,
    decode: (written, _options, ast) => {
      const value = read(written)
      return value === undefined ? ParseResult.fail(new ParseResult.Type(ast, written)) : ParseResult.succeed(value)
    },
    encode: (value) => ParseResult.succeed(String(value)),
  }).annotations({
    description: rule,
    message: () => ({ message: `expected ${rule}`, override: true }),
    jsonSchema,
  })

/** A parameter, or a member of a body, that may be left out. */
export const optional = <A, I, R>(schema: Schema.Schema<A, I, R>) => Schema.optionalWith(schema, { exact: true })

/** Refuses a query for one of its parameters. */
export const refused = (path: string, message: string): BadRequest => new BadRequest({ issues: [{ path, message }] })

/** Lower-case hexadecimal digits. `what`: the name of the thing that they are. */
const hexDigits = (count: number, what: string) => {
  const pattern = `^[0-9a-f]{${count}}$`
  return parameter(
    Schema.String,
    { rule: `${what}: ${count} lower-case hex digits`, jsonSchema: { type: "string", pattern } },
    (written) => (new RegExp(pattern).test(written) ? written : undefined),
  )
}

export const keyHash = hexDigits(64, "the hash of a key")

export const hashOfUser = hexDigits(16, "the hash of a user")

/** A whole number within bounds. */
export const wholeNumber = (least: number, most: number) =>
  parameter(
    Schema.Number,
    {
      rule: `a whole number from ${least} to ${most}`,
      jsonSchema: { type: "integer", minimum: least, maximum: most },
    },
    (written) => within(/^\d{1,15}$/, written, least, most),
  )

/** A number in plain decimals. */
export const decimal = (least: number, most: number) =>
  parameter(
    Schema.Number,
    { rule: `a number from ${least} to ${most}`, jsonSchema: { type: "number", minimum: least, maximum: most } },
    (written) => within(/^\d{1,15}(\.\d{1,15})?$/, written, least, most),
  )

const within = (form: RegExp, written: string, least: number, most: number): number | undefined => {
  const number = form.test(written) ? Number(written) : Number.NaN
  return number >= least && number <= most ? number : undefined
}

const time = /^\d{4}-\d\d-\d\d(T\d\d:\d\d(:\d\d(\.\d{1,9})?)?(Z|[+-]\d\d:\d\d))?$/

/** A moment, as Unix milliseconds. */
export const instant = parameter(
  Schema.Number,
  {
    rule: "a time such as 2026-07-15T09:30:00Z, or a UTC day such as 2026-07-15",
    jsonSchema: { type: "string", pattern: time.source },
  },
  (written) => {
    const ms = time.test(written) ? Date.parse(written) : Number.NaN
    return ms >= 0 ? ms : undefined
  },
)

/** Number of entries before the page. */
export const offset = wholeNumber(0, 1_000_000_000)

/** One of some words. */
export const word = <Word extends string>(words: ReadonlyArray<Word>, note = "") =>
  parameter(
    Schema.Literal(...words),
    { rule: `${words.join(", ").replace(/, ([^,]*)$/, " or $1")}${note}`, jsonSchema: { type: "string", enum: words } },
    (written) => words.find((known) => known === written),
  )

/** Texts divided by commas, at least one and at most 64. */
export const list = (what: string) =>
  parameter(
    Schema.Array(Schema.String),
    { rule: `${what}, divided by commas`, jsonSchema: { type: "string", maxLength: longestList } },
    listIn,
  )

/** The same of some words alone. */
export const wordList = <Word extends string>(words: ReadonlyArray<Word>) =>
  parameter(
    Schema.Array(Schema.Literal(...words)),
    { rule: `some of ${words.join(", ")}, divided by commas`, jsonSchema: { type: "string", maxLength: longestList } },
    (written) => {
      const texts = listIn(written) ?? []
      const known = words.filter((one) => texts.includes(one))
      return texts.length > 0 && texts.every((one) => words.some((other) => other === one)) ? known : undefined
    },
  )

const longestList = 2000

const listIn = (written: string): ReadonlyArray<string> | undefined => {
  const texts = written.length > longestList ? [] : written.split(",").map((one) => one.trim())
  return texts.length >= 1 && texts.length <= 64 && texts.every((one) => one !== "") ? texts : undefined
}

/** A text for a search. */
export const searched = parameter(
  Schema.String,
  { rule: "a text of 1 to 200 characters", jsonSchema: { type: "string", minLength: 1, maxLength: 200 } },
  (written) => (written.trim() !== "" && written.length <= 200 ? written : undefined),
)

/** A parameter of other routers for which this gateway has no data. It is refused, since ignoring it would give a wrong list. */
export const unavailable = (why: string) =>
  Schema.String.pipe(
    Schema.filter(() => false, {
      description: `Refused: ${why}`,
      message: () => ({ message: `cannot be used: ${why}`, override: true }),
      jsonSchema: {},
    }),
  )
