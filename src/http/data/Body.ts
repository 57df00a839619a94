/** How the body of a request is read, and what it becomes: JSON, fields of a form, or the bytes as they are. */
import * as Effect from "effect/Effect"
import * as Either from "effect/Either"
import * as Exit from "effect/Exit"
import type { ResolvedConfig } from "../../catalogue/ResolvedConfig.ts"
import { BadRequest, type Failure } from "../../domain/failures/Failure.ts"
import type { JsonObject } from "../../domain/json/json.ts"
import { findingInFields } from "../../formats/payload/walk.ts"
import type { Target } from "../../formats/Target.ts"
import { wait } from "../../services/request/EffectRunner.ts"
import type { Lifetime } from "../../services/request/RequestContext.ts"
import { unscannedBytes } from "../../wire/JsonScan.ts"
import { parseBody } from "../parseBody.ts"
import { type OnePrompt, readBody } from "../readBody.ts"
import { type ContentType, jsonType } from "../readRequest.ts"

/** A body whose bytes have all come. */
export interface Arrived {
  readonly bytes: Uint8Array
  readonly headers: Headers
  readonly target: Target
  readonly lifetime: Lifetime
  readonly config: ResolvedConfig
}

/** A way to read a body as an `A`. */
export interface Body<A> {
  /** Checked before anything of it is read. */
  readonly type: ContentType
  readonly read: (arrived: Arrived) => Effect.Effect<A, Failure>
}

/**
 * What a form makes of a body. `headers` and `target`: of the request, where the form gives some of it a meaning. Files of a body may
 * have to be waited for.
 */
export type Decode<Sent, A> = (body: Sent, headers: Headers, target: Target) => Effect.Effect<A, BadRequest>

/** A JSON object. `prompt`: the member that has the prompt, where a body is one prompt (`OnePrompt`). */
export const jsonBody = <A>(decode: Decode<JsonObject, A>, prompt?: string): Body<A> => ({
  type: jsonType,
  read: (arrived) => {
    if (arrived.bytes.byteLength > unscannedBytes) return readLong(arrived, decode, prompt)
    const body = parseBody(arrived.bytes)
    return Either.isRight(body) ? decode(body.right, arrived.headers, arrived.target) : Either.left(body.left)
  },
})

/** A function of its own, since a closure on a rare branch would cost each call something. */
const readLong = <A>(
  { bytes, headers, target, lifetime, config }: Arrived,
  decode: Decode<JsonObject, A>,
  prompt: string | undefined,
): Effect.Effect<A, Failure> =>
  Effect.flatMap(readBody(bytes, lifetime, prompt === undefined ? undefined : onePrompt(prompt, config)), (body) =>
    decode(body, headers, target),
  )

/** The bytes as they came, of any type. */
export const bytesBody = <A>(decode: Decode<Uint8Array, A>): Body<A> => ({
  type: anyType,
  read: ({ bytes, headers, target }) => decode(bytes, headers, target),
})

/** Fields and files, as the runtime gives them. */
export type Fields = Awaited<ReturnType<Response["formData"]>>

/** Fields and files of `multipart/form-data`, judged as JSON is before it is decoded. */
export const multipartBody = <A>(decode: Decode<Fields, A>): Body<A> => ({
  type: multipartType,
  read: ({ bytes, headers, target }) =>
    Effect.flatMap(formDataOf(bytes, headers), (fields) => {
      const found = findingInFields(fields.entries())
      if (found === undefined) return decode(fields, headers, target)
      return Effect.fail(new BadRequest({ issues: [{ path: found.path, message: found.reason }] }))
    }),
})

const anyType: ContentType = { accepts: () => true, says: "" }

const multipartType: ContentType = {
  accepts: (type) => type !== null && /^multipart\/form-data\b/i.test(type),
  says: "must be multipart/form-data",
}

const formDataOf = (bytes: Uint8Array, headers: Headers) =>
  wait<Fields, BadRequest>((resume) => {
    const type = headers.get("content-type") ?? ""
    new Response(Buffer.from(bytes), { headers: { "content-type": type } }).formData().then(
      (fields) => resume(Exit.succeed(fields)),
      () => resume(noMultipart),
    )
  })

const noMultipart = Exit.fail(
  new BadRequest({ issues: [{ path: "", message: "The body is not valid multipart/form-data" }] }),
)

/** Only for long bodies, so it is not kept. */
const onePrompt = (path: string, { endpoints }: ResolvedConfig): OnePrompt => {
  let longestContext = 0
  // Hosts that can be called.
  for (const { contextLength } of endpoints.keys()) longestContext = Math.max(longestContext, contextLength)
  return { path, longestContext }
}
