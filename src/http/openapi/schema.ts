/**
 * JSON Schema (2020-12, as OpenAPI 3.1 has it) for the bodies of the data plane. They are written by hand beside the decoders,
 * which are plain functions for speed (decision 0005); tests compare the two.
 */
import { isJsonObject, type JsonObject } from "../../domain/json/Json.ts"

export type Schema = JsonObject

/** A form of requests, as the description has it. */
export interface DescribedForm {
  /** Of `POST`, by path. */
  readonly operations: Readonly<Record<string, JsonObject>>
  /** Of `GET`, for paths that are among the operations. */
  readonly getOperations?: Readonly<Record<string, JsonObject>>
  /** By the names that `named` refers to. */
  readonly schemas: Readonly<Record<string, Schema>>
}

export const text: Schema = { type: "string" }
export const filledText: Schema = { type: "string", minLength: 1 }
export const flag: Schema = { type: "boolean" }
export const anyObject: Schema = { type: "object" }
export const anything: Schema = {}
export const nothing: Schema = { type: "null" }
export const amount: Schema = { type: "number" }
export const notNegative: Schema = { type: "number", minimum: 0 }

export const integer = (minimum: number, maximum: number): Schema => ({ type: "integer", minimum, maximum })
export const count: Schema = { type: "integer", minimum: 0 }
export const within = (minimum: number, maximum: number): Schema => ({ type: "number", minimum, maximum })
export const shortText = (maxLength: number): Schema => ({ type: "string", maxLength })
export const matching = (pattern: string): Schema => ({ type: "string", pattern })
export const oneOf = (...words: ReadonlyArray<string>): Schema => ({ type: "string", enum: words })
export const only = (word: string): Schema => ({ type: "string", const: word })
export const listOf = (items: Schema, bounds: Schema = {}): Schema => ({ type: "array", items, ...bounds })
export const anyOf = (...schemas: ReadonlyArray<Schema>): Schema => ({ anyOf: schemas })
export const orNull = (schema: Schema): Schema => anyOf(schema, nothing)
export const named = (name: string): Schema => ({ $ref: `#/components/schemas/${name}` })
export const described = (description: string, schema: Schema): Schema => ({ ...schema, description })

/** An object of a request. Members that are not required may be null; other members pass. */
export const taken = (members: Readonly<Record<string, Schema>>, ...required: ReadonlyArray<string>): Schema =>
  objectOf(
    Object.fromEntries(
      Object.entries(members).map(([name, schema]) => [name, required.includes(name) ? schema : optional(schema)]),
    ),
    required,
  )

/** An object of an answer: null only where its schema says so. Other members may come. */
export const given = (members: Readonly<Record<string, Schema>>, ...sometimes: ReadonlyArray<string>): Schema =>
  objectOf(
    members,
    Object.keys(members).filter((name) => !sometimes.includes(name)),
  )

const objectOf = (properties: Schema, required: ReadonlyArray<string>): Schema => ({
  type: "object",
  properties,
  ...(required.length === 0 ? {} : { required }),
})

/** The description stays on the member, where readers look for it. */
const optional = ({ description, ...schema }: Schema): Schema => ({
  ...(schema["type"] === "null" || Object.keys(schema).length === 0 ? schema : orNull(schema)),
  ...(description === undefined ? {} : { description }),
})

/** An object whose member `type` says which it is. */
export const typed = (type: string, members: Readonly<Record<string, Schema>>, ...required: ReadonlyArray<string>) =>
  taken({ type: only(type), ...members }, "type", ...required)

/** The failures of every operation of the data plane; each has the error body of its form. */
const failures: ReadonlyArray<readonly [status: string, about: string]> = [
  ["400", "The request is at fault; the message names the members."],
  ["401", "No key, or one that is not accepted."],
  [
    "402",
    "The key's limit does not allow this request. affordable_tokens in metadata: the largest bound that it allows.",
  ],
  ["403", "A key or host does not permit it."],
  ["404", "No host is left, for the reasons given."],
  ["408", "It took too long."],
  ["413", "The body is too large."],
  ["429", "Too many requests, here or at every host."],
  ["500", "A defect of the gateway."],
  ["502", "The last host failed."],
  ["503", "No host can be called now, or the gateway takes no requests."],
]

const jsonOf = (schema: Schema): Schema => ({ "application/json": { schema } })

const header = (description: string): JsonObject => ({ description, schema: text })

const answerHeaders: JsonObject = {
  "X-GW-Request-Id": header("The id of the request."),
  "X-Generation-Id": header("The id of the answer, for GET /generation."),
  "X-GW-Host": header("The tag of the host that answered."),
  "X-GW-Cost-USD": header("What the key pays, as a decimal of USD. Not with streams."),
  "X-GW-Dropped": header("Members of the request that the host was not sent, because it does not support them."),
}

export interface Described {
  readonly name: string
  readonly description: string
  readonly request: Schema
  readonly answer: Schema
  /** Of one event of a stream; absent: it does not stream. */
  readonly event?: Schema
  readonly error: Schema
}

export const operation = ({ name, description, request, answer, event, error }: Described): JsonObject => ({
  tags: ["inference"],
  operationId: `inference.${name}`,
  description,
  parameters: [],
  security: [{ bearer: [] }],
  requestBody: { required: true, content: jsonOf(request) },
  responses: {
    "200": {
      description: "Success",
      headers: answerHeaders,
      content: {
        ...jsonOf(answer),
        ...(event === undefined
          ? {}
          : { "text/event-stream": { schema: described("The data of each event.", event) } }),
      },
    },
    ...Object.fromEntries(failures.map(([status, about]) => [status, { description: about, content: jsonOf(error) }])),
  },
})

/** A `GET` that never succeeds. `error`: the body of all of `refusals`, which are statuses with what they mean. */
export const refusedGet = (
  { name, description, error }: Pick<Described, "name" | "description" | "error">,
  refusals: Readonly<Record<string, string>>,
): JsonObject => ({
  tags: ["inference"],
  operationId: `inference.${name}`,
  description,
  parameters: [],
  security: [{ bearer: [] }],
  responses: Object.fromEntries(
    Object.entries(refusals).map(([status, about]) => [status, { description: about, content: jsonOf(error) }]),
  ),
})

/** The description with these forms in it. `common`: schemas that several of them refer to. */
export const withForms =
  (common: Readonly<Record<string, Schema>>, ...forms: ReadonlyArray<DescribedForm>) =>
  (document: JsonObject): JsonObject => {
    const { paths, components, tags } = document
    const { schemas, ...others } = isJsonObject(components) ? components : {}
    const operations = forms.flatMap(({ operations, getOperations = {} }) =>
      Object.entries(operations).map(([path, post]) => {
        const get = getOperations[path]
        return [path, get === undefined ? { post } : { post, get }] as const
      }),
    )
    return {
      ...document,
      paths: {
        ...Object.fromEntries(operations),
        ...(isJsonObject(paths) ? paths : {}),
      },
      components: {
        ...others,
        schemas: Object.assign({}, schemas, common, ...forms.map((form) => form.schemas)),
      },
      tags: [{ name: "inference" }, ...(Array.isArray(tags) ? tags : [])],
    }
  }

/** Puts a prefix in front of every path of a document. */
export const at = (prefix: string, document: JsonObject): JsonObject => {
  const { paths } = document
  if (prefix === "" || !isJsonObject(paths)) return document
  return { ...document, paths: Object.fromEntries(Object.entries(paths).map(([path, item]) => [prefix + path, item])) }
}
