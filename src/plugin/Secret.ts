/** A secret in the configuration: `{ "env": "NAME" }` in the file, a `Redacted` in the program. */
import * as Config from "effect/Config"
import * as Effect from "effect/Effect"
import * as ParseResult from "effect/ParseResult"
import * as Redacted from "effect/Redacted"
import * as Schema from "effect/Schema"
import type * as AST from "effect/SchemaAST"

const Reference = Schema.Struct({ env: Schema.NonEmptyString })

/** Where the secrets that are read now are gathered. A configuration is decoded synchronously. */
let readInto: Set<string> | undefined

/** Runs `work`, and adds each secret that it reads meanwhile to `into`. */
export const gatheringSecrets = <A>(into: Set<string>, work: () => A): A => {
  const outer = readInto
  readInto = into
  try {
    return work()
  } finally {
    readInto = outer
  }
}

const made = (secret: string): Redacted.Redacted => {
  readInto?.add(secret)
  return Redacted.make(secret)
}

/** Gathers what a decoded configuration has as `Redacted`, whichever schema made it, to any depth. */
export const gatherRedacted = (config: unknown): void => {
  const into = readInto
  if (into === undefined) return
  const seen = new Set<object>()
  const search = (value: unknown): void => {
    if (typeof value !== "object" || value === null || seen.has(value)) return
    seen.add(value)
    if (Redacted.isRedacted(value)) {
      const secret = Redacted.value(value)
      if (typeof secret === "string") into.add(secret)
    } else if (value instanceof Map || value instanceof Set || Array.isArray(value))
      for (const each of value) search(each)
    else for (const member of Object.values(value)) search(member)
  }
  search(config)
}

const variableOf = (written: string | typeof Reference.Type, ast: AST.AST) =>
  typeof written === "string"
    ? ParseResult.succeed(made(written))
    : Config.nonEmptyString(written.env).pipe(
        Effect.map(made),
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
