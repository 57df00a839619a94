/** Parses the bytes of a request body to an object. Plain functions, since it runs on every request. */
import * as Either from "effect/Either"
import { BadRequest } from "../domain/failures/Failure.ts"
import { isJsonObject, type JsonObject } from "../domain/json/json.ts"
import { firstFault, placeIn } from "../domain/json/jsonFault.ts"
import { type Excess, mostMembers, mostValues } from "../wire/JsonScan.ts"
import { deepest, parseJson, tooDeep } from "../wire/jsonDepth.ts"

/** A dangerous name: assigning it sets an object's prototype. */
const unsafeName = "__proto__"

/**
 * Names that are removed from the body itself. In nested objects a caller may use them, such as for a property in a
 * tool's schema.
 */
const unsafeInBody = ["constructor", "prototype"]

const decoder = new TextDecoder("utf-8", { fatal: true })

const refuse = (message: string) => Either.left(new BadRequest({ issues: [{ path: "", message }] }))

const textOf = (bytes: Uint8Array): string | undefined => {
  try {
    return decoder.decode(bytes)
  } catch {
    return undefined
  }
}

/** How a body may be too much, as its `JsonScan` says it. */
export const excessive: Readonly<Record<Excess, Either.Either<never, BadRequest>>> = {
  depth: refuse(`The body is nested too deep: the limit is ${deepest} levels`),
  values: refuse(`The body has too many JSON values: the limit is ${mostValues}`),
  members: refuse(`The body has too many members of objects: the limit is ${mostMembers}`),
}

/**
 * The object of a body without unsafe names. Of duplicate members the last one counts. For a body that may be longer than
 * `unscannedBytes` use `readBody`.
 */
export const parseBody = (bytes: Uint8Array): Either.Either<JsonObject, BadRequest> => {
  const text = textOf(bytes)
  if (text === undefined) return refuse("The body is not UTF-8")
  return parseText(text, parseJson)
}

/** The same for one that was scanned. */
export const parseScanned = (bytes: Uint8Array): Either.Either<JsonObject, BadRequest> => {
  const text = textOf(bytes)
  return text === undefined ? refuse("The body is not UTF-8") : parseText(text, JSON.parse)
}

const parseText = (text: string, parse: (text: string) => unknown): Either.Either<JsonObject, BadRequest> => {
  let value: unknown
  try {
    value = parse(text)
  } catch {
    return refuse(whyNoJson(text))
  }
  if (value === tooDeep) return excessive.depth
  if (!isJsonObject(value)) return refuse("The body must be a JSON object")
  // A name can also be written with escapes.
  if (text.includes(unsafeName) || text.includes("\\u00")) dropUnsafeName(value)
  for (const name of unsafeInBody) drop(value, name)
  return Either.right(value)
}

const drop = (value: JsonObject, name: string): void => {
  if (Object.hasOwn(value, name)) Reflect.deleteProperty(value, name)
}

/** Changes `value` in place, which nothing else refers to yet. Recurses at most `deepest` times. */
const dropUnsafeName = (value: unknown): void => {
  if (Array.isArray(value)) {
    for (const item of value) dropUnsafeName(item)
  } else if (isJsonObject(value)) {
    drop(value, unsafeName)
    for (const name in value) dropUnsafeName(value[name])
  }
}

// Finding a fault takes about 30 ns per character and blocks the thread, so longer texts get no position.
const longestExplained = 1_048_576

/** Called only after the text was refused. */
const whyNoJson = (text: string): string => {
  if (text.trim() === "") return "The body is empty: a JSON object is expected"
  // UTF-16 without a byte order mark is valid UTF-8 with many zeros.
  if (text.charCodeAt(0) === 0 || text.charCodeAt(1) === 0) return "The body is not UTF-8"
  if (text.length > longestExplained) return "The body is not valid JSON"
  const at = firstFault(text)
  const place = placeIn(text, at)
  return at < text.length
    ? `The body is not valid JSON: see ${place}`
    : `The body is not valid JSON: it ends too early, at ${place}`
}
