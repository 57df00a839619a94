/** The API's own description, and checks of values against its schemas. */
import * as OpenApi from "@effect/platform/OpenApi"
import Ajv2020 from "ajv/dist/2020"
import * as Either from "effect/Either"
import type { BadRequest } from "../../../src/domain/failures/Failure.ts"
import type { JsonObject } from "../../../src/domain/json/json.ts"
import { Api } from "../../../src/http/control/Api.ts"

export const document = OpenApi.fromApi(Api)

// Names of other vocabularies, such as those of OpenAPI, are no mistake.
const ajv = new Ajv2020({ strict: false, strictNumbers: true, validateFormats: false })
ajv.addSchema(document, "headgate")

const compiled = (ref: string) => {
  const validate = ajv.getSchema(`headgate#${ref}`)
  if (validate === undefined) throw new Error(`the description has no ${ref}`)
  return validate
}

/** What a value breaks of a schema of the description, as one line each; empty: nothing. */
export const faultsIn = (schema: string, value: unknown): ReadonlyArray<string> =>
  faultsAt(`/components/schemas/${schema}`, value)

/** The same of a schema that stands elsewhere. `pointer`: RFC 6901, as a part of a URL. */
export const faultsAt = (pointer: string, value: unknown): ReadonlyArray<string> => {
  const validate = compiled(pointer)
  if (validate(value) === true) return []
  return (validate.errors ?? []).map(({ instancePath, message }) => `${instancePath} ${message}`)
}

export const fits = (schema: string, value: unknown): boolean =>
  compiled(`/components/schemas/${schema}`)(value) === true

/** Every reference within the description. */
export const references = (value: unknown): ReadonlyArray<string> => {
  if (typeof value !== "object" || value === null) return []
  return Object.entries(value).flatMap(([name, member]) =>
    name === "$ref" && typeof member === "string" ? [member] : references(member),
  )
}

/** What a decoder refuses, as one line each; empty: nothing. */
export const problemsIn = (decoded: Either.Either<unknown, BadRequest>): ReadonlyArray<string> =>
  Either.isLeft(decoded) ? decoded.left.issues.map(({ path, message }) => `${path} ${message}`) : []

/** A check that schema and decoder both accept a body or both refuse it. Fails with the reasons of the one that refuses. */
export const agreement =
  (schema: string, decode: (body: JsonObject) => Either.Either<unknown, BadRequest>) =>
  (body: JsonObject): void => {
    const problems = problemsIn(decode(body))
    const isRefused = problems.length > 0
    if (fits(schema, body) !== isRefused) return
    const faults = isRefused ? problems : faultsIn(schema, body)
    const who = isRefused ? "decoder" : "schema"
    throw new Error(`only the ${who} refuses ${JSON.stringify(body)}: ${faults.join("; ")}`)
  }

/** Values of any kind, some of which fit some member. */
export const values: ReadonlyArray<unknown> = [
  ...[null, true, false, 0, 1, -1, 0.5, 2, 2.5, 8, 9, 20, 21, 256, -100, 101, 2 ** 31 - 1, 2 ** 31, 1e300],
  ...["", "x", "auto", "none", "required", "low", "max", "fallback", "middle-out", "x".repeat(300), "a\u0000", "../b"],
  ...[[], [""], ["x"], ["text", "audio"], ["a", "b", "c", "d", "e"], [1], [{}], [null], ["middle-out"], {}],
  ...[{ type: "function" }, { type: "ephemeral", ttl: "1h" }, { include_usage: null }, { include: "yes" }],
  { "50256": -100, "1": 100 },
  { "1": 101 },
  { a: "b", c: "x".repeat(513) },
]
