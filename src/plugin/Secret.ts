/** A secret in the configuration: `{ "env": "NAME" }` in the file, a `Redacted` in the program. */
import * as Config from "effect/Config"
import * as Effect from "effect/Effect"
import * as ParseResult from "effect/ParseResult"
import * as Redacted from "effect/Redacted"
import * as Schema from "effect/Schema"
import type * as AST from "effect/SchemaAST"

const Reference = Schema.Struct({ env: Schema.NonEmptyString })

const variableOf = (written: string | typeof Reference.Type, ast: AST.AST) =>
  typeof written === "string"
    ? ParseResult.succeed(Redacted.make(written))
    : Config.nonEmptyString(written.env).pipe(
        Effect.map((value) => Redacted.make(value)),
        Effect.mapError(() => new ParseResult.Type(ast, written, `environment variable ${written.env} is not set`)),
      )

/**
 * Reads `{ env }` from the environment when it is decoded. An unset variable is a configuration error that names it.
 */
export const Secret = Schema.transformOrFail(
  Schema.Union(Reference, Schema.NonEmptyString),
  Schema.RedactedFromSelf(Schema.String),
  {
    strict: true,
    decode: (written, _options, ast) => variableOf(written, ast),
    encode: (_secret, _options, ast) =>
      ParseResult.fail(new ParseResult.Forbidden(ast, _secret, "secrets are not written")),
  },
).annotations({ identifier: "Secret", description: 'a secret: { "env": "NAME" }' })

/** A secret, and the environment variable that has it; `null`: it stands in the file. */
export interface NamedSecret {
  readonly secret: Redacted.Redacted
  readonly variable: string | null
}

/** The same, with the name of its variable. */
export const NamedSecret = Schema.transformOrFail(
  Schema.Union(Reference, Schema.NonEmptyString),
  Schema.declare((value: unknown): value is NamedSecret => typeof value === "object" && value !== null),
  {
    strict: true,
    decode: (written, _options, ast) =>
      ParseResult.map(variableOf(written, ast), (secret) => ({
        secret,
        variable: typeof written === "string" ? null : written.env,
      })),
    encode: (_secret, _options, ast) =>
      ParseResult.fail(new ParseResult.Forbidden(ast, _secret, "secrets are not written")),
  },
).annotations({ identifier: "Secret", description: 'a secret: { "env": "NAME" }' })
