/** Where keys and ledger are kept: as it is written, and as the program has it. */
import { accessSync, constants } from "node:fs"
import * as ParseResult from "effect/ParseResult"
import * as Redacted from "effect/Redacted"
import * as Schema from "effect/Schema"
import { isJsonObject } from "../domain/json/json.ts"
import { kindOf } from "../domain/json/Problem.ts"
import { parametersFault } from "../domain/json/postgresUrl.ts"

export type StorageChoice =
  | { readonly _tag: "Memory" }
  | { readonly _tag: "Sqlite"; readonly path: string }
  | { readonly _tag: "Postgres"; readonly url: Redacted.Redacted }

const storageForms = '"memory:", "sqlite:PATH" or "postgres://USER@HOST/DATABASE"'

const storageOf = (written: string): StorageChoice | undefined => {
  if (written === "memory:") return { _tag: "Memory" }
  const path = /^sqlite:([^:].*)$/.exec(written)?.[1]
  if (path !== undefined) return { _tag: "Sqlite", path }
  const isPostgres =
    /^postgres(ql)?:\/\//.test(written) && URL.canParse(written) && new URL(written).pathname.length > 1
  return isPostgres ? { _tag: "Postgres", url: Redacted.make(written) } : undefined
}

const isReadable = (path: string): boolean => {
  try {
    accessSync(path, constants.R_OK)
    return true
  } catch {
    return false
  }
}

/** `memory:`, `sqlite:PATH`, or the URL of a database of PostgreSQL. */
export const StorageText = Schema.transformOrFail(
  Schema.String,
  Schema.declare((value: unknown): value is StorageChoice => isJsonObject(value)),
  {
    strict: true,
    decode: (written, _options, ast) => {
      const choice = storageOf(written)
      const fault =
        choice === undefined
          ? `expected ${storageForms}, got ${kindOf(written)}`
          : choice._tag === "Postgres"
            ? parametersFault(written, isReadable)
            : undefined
      return choice === undefined || fault !== undefined
        ? ParseResult.fail(new ParseResult.Type(ast, written, fault))
        : ParseResult.succeed(choice)
    },
    encode: (choice, _options, ast) =>
      ParseResult.fail(new ParseResult.Forbidden(ast, choice, "a configuration is not written")),
  },
).annotations({ description: storageForms })
