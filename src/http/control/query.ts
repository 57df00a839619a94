/** Numbers in a query string. */
import * as ParseResult from "effect/ParseResult"
import * as Schema from "effect/Schema"

/** A whole number within bounds. A repeated parameter is refused. */
export const wholeNumber = (least: number, most: number) => {
  const description = `a whole number from ${least} to ${most}`
  return Schema.transformOrFail(Schema.String, Schema.Number, {
    strict: true,
    decode: (written, _options, ast) => {
      const number = /^\d{1,15}$/.test(written) ? Number(written) : Number.NaN
      return number >= least && number <= most
        ? ParseResult.succeed(number)
        : ParseResult.fail(new ParseResult.Type(ast, written))
    },
    encode: (number) => ParseResult.succeed(String(number)),
  }).annotations({
    description,
    message: () => ({ message: `expected ${description}`, override: true }),
    jsonSchema: { type: "integer", minimum: least, maximum: most },
  })
}

/** Number of entries before the page. */
export const offset = wholeNumber(0, 1_000_000_000)
