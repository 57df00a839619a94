/**
 * The answer for paths that do not exist. A client that calls one usually has a wrong base URL. Most agents show the message as it is, so
 * it names what to set.
 */

import { NotFound } from "../domain/failures/Failure.ts"
import { formRoutes } from "../domain/request/forms.ts"
import { chatErrorBody } from "../formats/errorBody.ts"
import { generateContentErrorBody } from "../formats/generateContent/generateContentError.ts"
import { messagesErrorBody } from "../formats/messages/messagesError.ts"
import type { Rendered } from "../formats/Rendered.ts"
import { countTokensPath } from "./dataPaths.ts"
import type { Prefix } from "./Mount.ts"

/** No such path, method or spelling. 405 is never sent. */
export const noSuchRoute = new NotFound({ what: "This route" })

/** A path that does not exist, in the form that its client speaks. */
export interface WrongPath {
  readonly failure: NotFound
  readonly body: (rendered: Rendered, requestId: string) => object
}

const known = [...[...formRoutes.values()].flat().map(({ path }) => path), countTokensPath]
/** What clients of the forms add to their base URL, without a parameter. */
const paths = known.flatMap((path) => /^\/api\/v1\/([^{]+)$/.exec(path)?.[1] ?? [])
const operation = `(?:${paths.join("|")})`
/** What else may stand before it: of other vendors' base URLs, of a base URL that has an operation already, and a doubled slash. */
const base = `(?:|v1|api|openai|anthropic|${operation})`

/** An operation below another base URL, or below the right one with something in between. */
const misplaced = new RegExp(`^/(?:(?!api/v1/)(?:.*/)?|api/v1/(?:${base}/)+)${operation}/?$`)
const trailing = new RegExp(`^/api/v1/${operation}/$`)
const firstParts = new Set(paths.map((path) => path.split("/")[0]))
/** Other paths that clients of vendors and of other gateways call, and the root. */
const elsewhere = new RegExp(
  `^/(?:(?:api|api/v1|v1|openai|models|${[...firstParts].join("|")})/?|(?:v1|openai|chat|models)/.*)?$`,
)

/** `url`: the path, and the query. `prefix`: where the gateway's routes are. Nothing of the URL is repeated. */
export const wrongPathAt = (prefix: Prefix, url: string): WrongPath => {
  const path = url.split("?", 1)[0] ?? ""
  const below = path.startsWith(`${prefix}/`) ? path.slice(prefix.length) : path
  const isMisplaced = misplaced.test(below) || trailing.test(below)
  // Anthropic's clients also call paths below /messages, such as /messages/batches. OpenAI's threads have messages too.
  const isOfMessages =
    /^(?:\/api)?(?:\/v1)?\/messages\//.test(below) ||
    (isMisplaced && /\/messages(?:\/count_tokens)?\/?$/.test(below) && !below.includes("/threads/"))
  const isOfGoogle = /\/v1beta\/|:(?:stream)?[gG]enerateContent$/.test(below)
  const body = isOfMessages ? messagesErrorBody : isOfGoogle ? generateContentErrorBody : chatErrorBody
  if (!isMisplaced && !elsewhere.test(below)) return { failure: noSuchRoute, body }
  const where = `The API is at ${prefix}/api/v1, its description at ${prefix}/docs.`
  if (!isMisplaced) return { failure: new NotFound({ what: "This route", hint: where }), body }
  // Anthropic's own clients add /v1/messages, others /messages.
  const isAnthropics = isOfMessages && /\/v1\/messages(?:\/count_tokens)?\/?$/.test(below)
  const right = isAnthropics
    ? `${prefix}/api, or with ${prefix}/api/v1 if the client adds only /messages to it`
    : `${prefix}/api/v1`
  const hint = `${where} Set the base URL of the client to one that ends with ${right}.`
  return { failure: new NotFound({ what: "This route", hint }), body }
}
