/** The API's own description, and checks of values against its schemas. */
import * as OpenApi from "@effect/platform/OpenApi"
import Ajv2020 from "ajv/dist/2020"
import { Api } from "../../src/http/control/Api.ts"

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
export const faultsIn = (schema: string, value: unknown): ReadonlyArray<string> => {
  const validate = compiled(`/components/schemas/${schema}`)
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
