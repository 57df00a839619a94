/**
 * What a request to a host says, wherever it stands: in the path, in a header, in the body; in a text that is itself JSON,
 * in base64, in bytes that are no text.
 */
import { isDeepStrictEqual } from "node:util"
import { isJsonObject, type JsonObject } from "../../domain/json/json.ts"
import type { Encoded } from "../../formats/Protocol.ts"

export interface Sent {
  /** The body parsed; `undefined` where it is no JSON. */
  readonly json: unknown
  /** Whether this text stands anywhere. */
  readonly hasText: (text: string) => boolean
  /** Whether the path has the name of this model, or a text elsewhere is that name, also as the end of a resource's name. */
  readonly hasModel: (model: string) => boolean
  /** Whether this number stands anywhere in JSON, also as text. */
  readonly hasNumber: (number: number) => boolean
  /** Whether a member with this name has this value anywhere in JSON. */
  readonly hasMember: (name: string, value: unknown) => boolean
  /** All objects in JSON, outer ones first. */
  readonly objects: ReadonlyArray<JsonObject>
  /** The text of the body, for the order of what it says. */
  readonly body: string
}

export const sentIn = ({ path, headers = {}, body }: Encoded): Sent => {
  const text = typeof body === "string" ? body : new TextDecoder().decode(body)
  const json = parsed(text)
  const found = new Found()
  found.text(unescaped(path))
  for (const value of Object.values(headers)) found.text(value)
  found.text(text)
  const texts = [...found.texts]
  return {
    json,
    hasText: (wanted) => texts.some((each) => each.includes(wanted)),
    hasModel: (model) => unescaped(path).includes(model) || texts.some((each) => isNameOf(each, model)),
    hasNumber: (wanted) => found.numbers.has(wanted) || found.texts.has(String(wanted)),
    hasMember: (name, value) =>
      found.objects.some((object) => Object.hasOwn(object, name) && isDeepStrictEqual(object[name], value)),
    objects: found.objects,
    body: text,
  }
}

/** All that is said anywhere in a request. */
export const textsIn = ({ path, headers = {}, body }: Encoded): ReadonlySet<string> => {
  const found = new Found()
  for (const text of [unescaped(path), ...Object.values(headers)]) found.text(text)
  found.text(typeof body === "string" ? body : new TextDecoder().decode(body))
  return found.texts
}

/** All that a value says, in its texts and in base64 too. */
export const saidWithin = (
  value: unknown,
): { readonly objects: ReadonlyArray<JsonObject>; readonly texts: ReadonlySet<string> } => {
  const found = new Found()
  found.value(value)
  return found
}

/** All objects in JSON, those within its texts left out. */
export const objectsWithin = (value: unknown): ReadonlyArray<JsonObject> => {
  if (Array.isArray(value)) return value.flatMap(objectsWithin)
  return isJsonObject(value) ? [value, ...Object.values(value).flatMap(objectsWithin)] : []
}

/** Whether `text` names the model: `publishers/acme/models/small` names `small`. */
export const isNameOf = (text: string, model: string): boolean => text === model || text.endsWith(`/${model}`)

/** Gathers all that a value says. */
class Found {
  readonly texts = new Set<string>()
  readonly numbers = new Set<number>()
  readonly objects: Array<JsonObject> = []

  value(value: unknown): void {
    if (typeof value === "string") this.text(value)
    else if (typeof value === "number") this.numbers.add(value)
    else if (Array.isArray(value)) for (const each of value) this.value(each)
    else if (isJsonObject(value)) {
      this.objects.push(value)
      for (const [name, member] of Object.entries(value)) {
        this.texts.add(name)
        this.value(member)
      }
    }
  }

  text(text: string): void {
    if (this.texts.has(text)) return
    this.texts.add(text)
    const within = /^\s*[[{"]/.test(text) ? parsed(text) : undefined
    if (within !== undefined) this.value(within)
    const encoded = text.slice(text.startsWith("data:") ? text.indexOf(",") + 1 : 0)
    if (/^[\w+/-]{8,}={0,2}$/.test(encoded)) this.text(Buffer.from(encoded, "base64").toString("utf8"))
  }
}

export const parsed = (text: string): unknown => {
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}

const unescaped = (path: string): string => {
  try {
    return decodeURIComponent(path)
  } catch {
    return path
  }
}
