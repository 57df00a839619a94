/** A secret in the configuration: `{ "env": "NAME" }` in the file, a `Redacted` in the program. */
import * as Config from "effect/Config"
import * as Effect from "effect/Effect"
import * as ParseResult from "effect/ParseResult"
import * as Redacted from "effect/Redacted"
import * as Schema from "effect/Schema"
import type * as AST from "effect/SchemaAST"
import { shownVariable } from "../domain/json/variableName.ts"

const Reference = Schema.Struct({
  env: Schema.propertySignature(Schema.NonEmptyString).annotations({ description: "Name of the variable." }),
}).annotations({ identifier: "SecretReference" })

/** Collects the secrets that a decoder reads; set only within `gatheringSecrets`. Decoding is synchronous, so no other one can interfere. */
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

/** Whether `unset` stands for the secrets whose variables are not set. */
let takesUnset = false

/** Runs `work`, for which the values of secrets do not matter: variables that are not set are no error meanwhile. */
export const withUnsetSecrets = <A, E, R>(work: Effect.Effect<A, E, R>): Effect.Effect<A, E, R> =>
  Effect.acquireUseRelease(
    Effect.sync(() => {
      const before = takesUnset
      takesUnset = true
      return before
    }),
    () => work,
    (before) =>
      Effect.sync(() => {
        takesUnset = before
      }),
  )

/** Adds every `Redacted` text in a decoded configuration, at any depth, whichever schema made it. */
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

/** Whether it is the content of a key file, in JSON or PEM, which may have several lines. */
const isFile = (secret: string): boolean => secret.startsWith("{") || secret.startsWith("-----BEGIN ")

/** The secret without blanks and line breaks around it, which come from files that secrets are read from. */
export const trimmedSecret = (written: string): Redacted.Redacted => Redacted.make(written.trim())

/**
 * What is wrong with a secret that cannot be sent; `undefined`: nothing. Each call would fail, and none would say why.
 * `inHeader`: it is sent as it is; else a plugin may make something of it, and it may be the path of a file.
 */
export const secretFault = (secret: Redacted.Redacted, inHeader: boolean): string | undefined => {
  const text = Redacted.value(secret)
  if (isFile(text)) return undefined
  if (/[^\t\P{Cc}]/u.test(text))
    return "has a line break or another control character within: no HTTP header can have it"
  return inHeader && /\P{ASCII}/u.test(text)
    ? "has a character that is not ASCII: no HTTP header can have it"
    : undefined
}

const secretOf = (written: string | typeof Reference.Type, ast: AST.AST, inHeader: boolean) => {
  const wrong = (message: string) => new ParseResult.Type(ast, written, message)
  const checked = (secret: Redacted.Redacted, what: string) => {
    const fault = secretFault(secret, inHeader)
    if (fault !== undefined) return ParseResult.fail(wrong(`${what} ${fault}`))
    readInto?.add(Redacted.value(secret))
    return ParseResult.succeed(secret)
  }
  if (typeof written === "string") {
    return written.trim() === ""
      ? ParseResult.fail(wrong("expected a secret, got nothing but blanks"))
      : checked(trimmedSecret(written), "the secret")
  }
  const variable = `environment variable ${shownVariable(written.env)}`
  return Config.string(written.env).pipe(
    Effect.filterOrFail((value) => value.trim() !== ""),
    Effect.matchEffect({
      onSuccess: (value) => checked(trimmedSecret(value), variable),
      // Each its own, since a provider's keys have to differ.
      onFailure: () =>
        takesUnset
          ? Effect.succeed(Redacted.make(`unset ${written.env}`))
          : Effect.fail(wrong(`${variable} is not set`)),
    }),
  )
}

const secret = (inHeader: boolean) =>
  Schema.transformOrFail(Schema.Union(Reference, Schema.NonEmptyString), Schema.RedactedFromSelf(Schema.String), {
    strict: true,
    decode: (written, _options, ast) => secretOf(written, ast, inHeader),
    encode: (_secret, _options, ast) =>
      ParseResult.fail(new ParseResult.Forbidden(ast, _secret, "secrets are not written")),
  }).annotations({ identifier: "Secret", description: 'a secret: { "env": "NAME" }' })

/**
 * Reads `{ env }` from the environment when it is decoded, without blanks and line breaks around it. An unset variable is a
 * configuration error that names it, and so is one that no HTTP header can have.
 */
export const Secret = secret(false)

/** The same for a secret that is sent in a header as it is, such as a key. */
export const HeaderSecret = secret(true)

/** A secret, and the environment variable that has it, as it may be shown; `null`: it stands in the file. */
export interface NamedSecret {
  readonly secret: Redacted.Redacted
  readonly variable: string | null
}

/** A key, with the name of its variable. */
export const NamedSecret = Schema.transformOrFail(
  Schema.Union(Reference, Schema.NonEmptyString),
  Schema.declare((value: unknown): value is NamedSecret => typeof value === "object" && value !== null),
  {
    strict: true,
    decode: (written, _options, ast) =>
      ParseResult.map(secretOf(written, ast, true), (secret) => ({
        secret,
        variable: typeof written === "string" ? null : shownVariable(written.env),
      })),
    encode: (_secret, _options, ast) =>
      ParseResult.fail(new ParseResult.Forbidden(ast, _secret, "secrets are not written")),
  },
).annotations({ identifier: "Secret", description: 'a secret: { "env": "NAME" }' })
