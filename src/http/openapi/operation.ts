/** An operation of the data plane, as OpenAPI describes it. */

import type { JsonSchema } from "../../domain/json/checks.ts"
import type { JsonObject } from "../../domain/json/json.ts"
import { mapped } from "./mapped.ts"
import { described, errorBody, exampleOf, type Shown, text } from "./schemas.ts"

/** Operations by path and method. */
export type Paths = Readonly<Record<string, Readonly<Record<string, JsonObject>>>>

export interface Described {
  readonly name: string
  /** Its first sentence is the summary. */
  readonly description: string
  /** The name of the parameter in the path. Absent: there is none. */
  readonly parameter?: string
  /** Absent: a `GET`. */
  readonly request?: { readonly schema: JsonSchema; readonly example: JsonObject }
  readonly answer: Shown
  /** The data of one event of a stream; absent: it does not stream. */
  readonly event?: Shown
  /** Default: the body of the chat form. */
  readonly error?: JsonSchema
}

/** The failures of every operation of the data plane; each has the error body of its form. */
const failures: Readonly<Record<string, string>> = {
  "400": "The request is at fault; the message names the members.",
  "401": "No key, or one that is not accepted.",
  "402":
    "The key's limit does not allow this request. affordable_tokens in metadata: the largest bound that it allows.",
  "403": "A key or host does not permit it.",
  "404": "No host is left, for the reasons given.",
  "408": "It took too long.",
  "413": "The body is too large.",
  "429": "Too many requests, here or at every host.",
  "500": "A defect of the gateway.",
  "502": "The last host failed.",
  "503": "No host can be called now, or the gateway takes no requests.",
}

const header = (description: string): JsonObject => ({ description, schema: text })

const answerHeaders: JsonObject = {
  "X-GW-Request-Id": header("The id of the request."),
  "X-Generation-Id": header("The id of the answer, for GET /generation."),
  "X-GW-Host": header("The tag of the host that answered."),
  "X-GW-Cost-USD": header("What the key pays, as a decimal of USD. Not with streams."),
  "Server-Timing": header("What the time was spent on, where `server.server_timing` is on. Not with streams."),
  "X-GW-Dropped": header("Members of the request that the host was not sent, because it does not support them."),
}

const common = ({
  name,
  description,
  parameter,
}: Pick<Described, "name" | "description" | "parameter">): JsonObject => ({
  tags: ["inference"],
  operationId: `inference.${name}`,
  description,
  parameters: parameter === undefined ? [] : [{ name: parameter, in: "path", required: true, schema: text }],
  security: [{ bearer: [] }],
})

const refusals = (
  statuses: Readonly<Record<string, string>>,
  schema: JsonSchema,
  examples: Readonly<Record<string, JsonObject>> = {},
): JsonObject =>
  mapped(statuses, (description, status) => {
    const example = examples[status]
    return {
      description,
      content: { "application/json": example === undefined ? { schema } : { schema, example } },
    }
  })

const shown = (schema: Shown): JsonObject => ({ schema, example: exampleOf(schema) })

export const operation = ({ request, answer, event, error = errorBody, ...about }: Described): JsonObject => ({
  ...common(about),
  ...(request === undefined ? {} : { requestBody: { required: true, content: { "application/json": request } } }),
  responses: {
    "200": {
      description: "Success",
      headers: answerHeaders,
      content: {
        "application/json": shown(answer),
        ...(event === undefined ? {} : { "text/event-stream": shown(described("The data of each event.", event)) }),
      },
    },
    ...refusals(failures, error),
  },
})

export const post = (path: string, described: Described): Paths => ({ [path]: { post: operation(described) } })

export const get = (path: string, described: Described): Paths => ({ [path]: { get: operation(described) } })

/** A `GET` that never succeeds. `statuses` say what they mean. `examples`: by status. */
export const refusedGet = (
  about: Pick<Described, "name" | "description">,
  statuses: Readonly<Record<string, string>>,
  examples: Readonly<Record<string, JsonObject>>,
): JsonObject => ({ ...common(about), responses: refusals(statuses, errorBody, examples) })
