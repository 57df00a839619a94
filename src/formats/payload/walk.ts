/**
 * The one walk over JSON that judges what a host may be sent: references to what is stored in the operator's account, addresses,
 * and tools that the host runs. It runs over the caller's body, so that such a request is refused whatever host would serve it, and
 * over the payload that is about to be sent, whoever wrote it. A text costs nothing however long it is: only its name is looked
 * at. See docs/guarantees.md#g36.
 */

import { isJsonObject, type JsonObject, objectsIn } from "../../domain/json/json.ts"
import { reachesOut, runnerOf } from "../../domain/request/hostedTools.ts"
import { routerOnly } from "../../domain/request/request.ts"
import { innerJson } from "../../wire/jsonDepth.ts"
import { isFree } from "./free.ts"
import { ruleOf, stored, unusable } from "./names.ts"
import { remembered } from "./remembered.ts"

/** What may not be sent. */
export interface Finding {
  /** `messages[0].content[1].file_id`. */
  readonly path: string
  /** Follows the path in a sentence. */
  readonly reason: string
}

/** What the caller's own body has that no host may be sent. Members that are not sent at all are not looked at. */
export const findingInBody = (body: JsonObject, dropped: ReadonlyArray<string>): Finding | undefined => {
  const left = dropped.length === 0 ? undefined : new Set(dropped)
  for (const name in body) {
    if (routerOnly.has(name) || left?.has(name) === true) continue
    const found = member(body, name, body[name], "", undefined)
    if (found !== undefined) return found
  }
  return undefined
}

/**
 * What the fields of a multipart body have that no host may be sent. A list has one field for each entry, whose names may end with
 * `[]`; a field may be JSON. The bytes of files are not looked at.
 */
export const findingInFields = (fields: Iterable<readonly [name: string, value: unknown]>): Finding | undefined => {
  for (const [name, value] of fields) {
    if (typeof value !== "string") continue
    const plain = name.replace(/\[\w*\]$/, "")
    const inner = /^\s*[[{]/.test(value) ? innerJson(value) : undefined
    const found = member({}, plain, value, "", undefined) ?? member({}, plain, inner, "", undefined)
    if (found !== undefined) return { ...found, path: found.path === plain ? name : found.path }
  }
  return undefined
}

/** What of a payload may not be sent. `searches`: the host may be asked to search the web. */
export const findingInPayload = (payload: JsonObject, searches: boolean): Finding | undefined =>
  walk(payload, "", { searches })

/** Absent: tools that the host runs are decided on elsewhere, for each host. */
interface Tools {
  readonly searches: boolean
}

/** `inside`: the name of the member, or of the list, that the value is or stands in; "" for the payload itself. */
const walk = (value: unknown, inside: string, tools: Tools | undefined): Finding | undefined => {
  if (typeof value !== "object" || value === null) return undefined
  if (Array.isArray(value)) {
    for (let at = 0; at < value.length; at++) {
      // Of tokens, or a vector.
      if (typeof value[at] === "number") continue
      const found = typeof value[at] === "string" ? textIn(value[at], inside) : walk(value[at], inside, tools)
      if (found !== undefined) return within(`[${at}]`, found)
    }
    return undefined
  }
  if (!isJsonObject(value)) return undefined
  const wrong = objectFault(value, inside, tools)
  if (wrong !== undefined) return wrong
  for (const name in value) {
    const found = member(value, name, value[name], inside, tools)
    if (found !== undefined) return found
  }
  return undefined
}

/** `value`: of the member, which a loop over names reads faster than a function that is given the name. */
const member = (
  owner: JsonObject,
  name: string,
  value: unknown,
  inside: string,
  tools: Tools | undefined,
): Finding | undefined => {
  if (value === null || value === undefined) return undefined
  const rule = ruleOf(name, inside, owner)
  // Most members: a text whose name says nothing.
  if ((rule === null && typeof value !== "object") || isFree(name, owner, inside)) return undefined
  const reason = rule?.(value)
  if (reason !== undefined) return { path: name, reason }
  if (typeof value !== "object") return undefined
  const found = walk(value, name, tools)
  return found === undefined ? undefined : within(name, found)
}

/** A text of a list has the meaning of the list's name: `image_urls`. */
const textIn = (text: string, inside: string): Finding | undefined => {
  const reason = ruleOf(inside, "")?.(text)
  return reason === undefined ? undefined : { path: "", reason }
}

const within = (place: string, { path, reason }: Finding): Finding => ({
  path: path === "" || path.startsWith("[") ? place + path : `${place}.${path}`,
  reason,
})

/** What is wrong with an object by its type. */
const objectFault = (value: JsonObject, inside: string, tools: Tools | undefined): Finding | undefined => {
  const { type } = value
  if (typeof type === "string") {
    const meaning = meaningOf(type)
    if (meaning === "stored" || (meaning === "file" && inside === "source")) return { path: "", reason: stored }
    if (meaning === "reaching") return { path: "type", reason: `${JSON.stringify(type.slice(0, 64))} ${unusable}` }
  }
  if (inside === "tools" && type === "namespace") {
    const at = objectsIn(value["tools"]).findIndex((tool) => runnerOf(tool) !== "client")
    if (at !== -1) return { path: `tools[${at}]`, reason: spaced }
  }
  if (tools === undefined || inside !== "tools") return undefined
  const runner = runnerOf(value)
  if (runner === "unpriced" || (runner === "web_search" && !tools.searches)) return { path: "", reason: hosted }
  return typeof type === "string" ? undefined : googleTool(value, tools)
}

/** What a type means here, however it is spelled; `null`: nothing. */
const meaningOf = remembered((type): "stored" | "file" | "reaching" | null => {
  const plain = type.trim().toLowerCase()
  if (plain === "item_reference" || plain === "container_upload") return "stored"
  if (plain === "file") return "file"
  return reachesOut(type) ? "reaching" : null
})

const spaced = "is not supported: only tools that the caller runs may be in a namespace"
const hosted = "is a tool that this host is not to run, since it has no price for it"

/** Tools of forms without types, by their only member. */
const hostedMembers: ReadonlySet<string> = new Set([
  ...["googleSearchRetrieval", "codeExecution", "urlContext", "googleMaps", "fileSearch", "enterpriseWebSearch"],
  ...["retrieval", "systemTool", "computerUse"],
])

const googleTool = (tool: JsonObject, { searches }: Tools): Finding | undefined => {
  for (const name in tool) {
    if (hostedMembers.has(name) || (name === "googleSearch" && !searches)) return { path: name, reason: hosted }
  }
  return undefined
}
