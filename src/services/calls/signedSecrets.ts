/**
 * Finds the credentials in a signed request, and in the calls that were made to sign it, so that they can be redacted. A plugin does not
 * declare them: an access token that it fetched, or a signature that it made, is recognised by the name of its header, parameter or member.
 * Pure.
 */
import { isJsonObject } from "../../domain/json/json.ts"
import type { Encoded } from "../../formats/Protocol.ts"
import type { SideAnswer, SideRequest } from "../../plugin/Provider.ts"

/** A shorter value is no credential: a version, a region, a scheme. */
export const shortestCredential = 8

/** Names of headers and parameters that describe a request. What stands in any other one that `sign` adds is a credential. */
const describing =
  /(?:^|[-_.])(?:accept|agent|algorithm|beta|date|digest|encoding|expires|headers|host|language|length|md5|project|region|sha256|type|version)$/i

/** Values of headers and of parameters of the query that `sign` added or changed, as they are sent. */
export const addedBySign = (before: Encoded, after: Encoded): ReadonlyArray<string> => {
  if (before === after) return none
  const added: Array<string> = []
  const { headers = {} } = after
  for (const name in headers) {
    const value = headers[name]
    if (value !== undefined && value !== before.headers?.[name] && !describing.test(name)) added.push(value)
  }
  if (after.path !== before.path) added.push(...addedToPath(before.path, after.path))
  return added
}

const none: ReadonlyArray<string> = []

/** A segment of a path that is shorter is a name. */
const shortestSegment = 16

const addedToPath = (before: string, after: string): ReadonlyArray<string> => {
  const [pathBefore = "", queryBefore = ""] = before.split("?", 2)
  const [path = "", query = ""] = after.split("?", 2)
  const known = new Set(pathBefore.split("/"))
  const segments = path.split("/").filter((segment) => !known.has(segment) && segment.length >= shortestSegment)
  const old = new Set(new URLSearchParams(queryBefore).values())
  const values = Array.from(new URLSearchParams(query)).filter(
    ([name, value]) => !describing.test(name) && !old.has(value),
  )
  return [...segments, ...values.map(([, value]) => value)]
}

/**
 * The secrets in what `addedBySign` found: a value without its scheme (`Bearer`), each parameter of one that has several
 * (`Signature=…`), and user and password of `Basic`.
 */
export const secretsIn = (added: ReadonlyArray<string>): ReadonlyArray<string> =>
  added
    .flatMap((value) => {
      const words = value.trim().split(/[\s,]+/)
      const [scheme = ""] = words
      const parts = (words.length > 1 ? words.slice(1) : words).flatMap(partsOf)
      return /^basic$/i.test(scheme) ? [...parts, ...parts.flatMap(userAndPassword)] : parts
    })
    .filter(({ length }) => length >= shortestCredential)

/** `name=value` and `name="value"` are their value; a value may end with `=`. */
const partsOf = (word: string): ReadonlyArray<string> => {
  const [, name, value] = /^([\w-]+)="?([^"]*[^"=])"?;?$/.exec(word) ?? []
  if (name === undefined || value === undefined) return [word]
  return describing.test(name) || name.endsWith("Headers") ? [] : [value]
}

const userAndPassword = (encoded: string): ReadonlyArray<string> => {
  const text = Buffer.from(encoded, "base64").toString()
  const colon = text.indexOf(":")
  return colon < 0 ? [text] : [text, text.slice(0, colon), text.slice(colon + 1)]
}

/** Names of members that hold a credential, such as `access_token`, `client_secret`, `SecretAccessKey`, `assertion`. */
const secretMember = /assertion|credential|jwt|key|password|secret|session|signature|token/i
const descriptiveMember = /(?:type|expir\w*|in|at|id|ur[il]|endpoint|scope)$/i

/** The credentials of a request that was made in order to sign. */
export const sentToSign = ({ url, headers = {}, body = "" }: SideRequest): ReadonlyArray<string> => {
  const query = url.includes("?") ? url.slice(url.indexOf("?")) : ""
  return [...secretsIn(addedBySign(nothing, { path: query, headers, body: "" })), ...credentialsIn(body)]
}

const nothing: Encoded = { path: "", body: "" }

/** The credentials in its answer. */
export const gotToSign = ({ status, body }: SideAnswer): ReadonlyArray<string> =>
  status >= 200 && status < 300 ? credentialsIn(body) : none

/** A text that is nothing but a token is at least as long. */
const shortestToken = 16

/** The values of members that hold a credential, in JSON or a form; a text without blanks is a token itself. */
const credentialsIn = (text: string): ReadonlyArray<string> => {
  const json = jsonIn(text)
  if (json !== undefined) return membersOf(json).filter(({ length }) => length >= shortestCredential)
  if (/\s|[<>]/.test(text.trim())) return none
  if (/^[\w.-]+=/.test(text))
    return Array.from(new URLSearchParams(text)).flatMap(([name, value]) => (isSecret(name, value) ? [value] : []))
  return text.length >= shortestToken ? [text.trim()] : none
}

const isSecret = (name: string, value: string): boolean =>
  value.length >= shortestCredential && secretMember.test(name) && !descriptiveMember.test(name)

const jsonIn = (text: string): unknown => {
  if (!/^\s*[[{"]/.test(text)) return undefined
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}

/** No answer to a request for a token is nested more deeply. */
const deepest = 8

const membersOf = (value: unknown, depth = 0): ReadonlyArray<string> => {
  if (typeof value === "string") return depth === 0 ? [value] : none
  if (depth > deepest) return none
  if (Array.isArray(value)) return value.flatMap((each: unknown) => membersOf(each, depth + 1))
  if (!isJsonObject(value)) return none
  return Object.entries(value).flatMap(([name, member]) =>
    typeof member === "string" ? (isSecret(name, member) ? [member] : none) : membersOf(member, depth + 1),
  )
}
