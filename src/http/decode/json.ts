/** Bytes of a request body to the object in them. Plain functions, since it runs on every request. Bad inputs 1 to 11. */
import * as Either from "effect/Either"
import { BadRequest } from "../../domain/Failure.ts"
import { isJsonObject, type JsonObject } from "../../domain/Json.ts"
import { count, deepest, isTooDeep } from "../../wire/jsonDepth.ts"

/** A name that is dangerous to copy: assigning it sets an object's prototype. */
const unsafeName = "__proto__"

/** Names that have no business in the body itself. Further down they may be a caller's own: a property in a tool's schema. */
const unsafeInBody = ["constructor", "prototype"]

// The last one: any name can also be spelled with escapes.
const unsafeBytes = [unsafeName, ...unsafeInBody, "\\u00"].map((word) => Buffer.from(word))

const decoder = new TextDecoder("utf-8", { fatal: true })

const refuse = (message: string) => Either.left(new BadRequest({ issues: [{ path: "", message }] }))

const textOf = (bytes: Uint8Array): string | undefined => {
  try {
    return decoder.decode(bytes)
  } catch {
    return undefined
  }
}

/** The body's object, without unsafe names. Of members of one name the last one counts. */
export const parseBody = (bytes: Uint8Array): Either.Either<JsonObject, BadRequest> => {
  const text = textOf(bytes)
  if (text === undefined) return refuse("The body is not UTF-8")
  if (isTooDeep(text)) return refuse(`The body is nested too deep: the limit is ${deepest} levels`)
  let value: unknown
  try {
    value = JSON.parse(text)
  } catch {
    return refuse(whyNoJson(text))
  }
  if (!isJsonObject(value)) return refuse("The body must be a JSON object")
  if (mayHoldUnsafeNames(bytes)) {
    dropUnsafeName(value)
    for (const name of unsafeInBody) drop(value, name)
  }
  return Either.right(value)
}

const mayHoldUnsafeNames = (bytes: Uint8Array): boolean => {
  const view = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength)
  return unsafeBytes.some((word) => view.includes(word))
}

const drop = (value: JsonObject, name: string): void => {
  if (Object.hasOwn(value, name)) Reflect.deleteProperty(value, name)
}

/** Changes `value`, which is nobody else's yet. It calls itself at most `deepest` times. */
const dropUnsafeName = (value: unknown): void => {
  if (Array.isArray(value)) {
    for (const item of value) dropUnsafeName(item)
  } else if (isJsonObject(value)) {
    drop(value, unsafeName)
    for (const name in value) dropUnsafeName(value[name])
  }
}

const quote = 0x22
const backslash = 0x5c
// A fault is found at some 25 ns a character, during which nothing else runs.
const longestExplained = 1_048_576

/** JavaScriptCore does not say where JSON breaks off, so the text is read again; only after it was refused. */
const whyNoJson = (text: string): string => {
  if (text.trim() === "") return "The body is empty: a JSON object is expected"
  // UTF-16 without a mark passes as UTF-8 full of zeros.
  if (text.charCodeAt(0) === 0 || text.charCodeAt(1) === 0) return "The body is not UTF-8"
  if (text.length > longestExplained) return "The body is not valid JSON"
  const at = firstFault(text)
  const before = text.slice(0, at)
  const place = `line ${count(before, "\n", at) + 1}, column ${at - before.lastIndexOf("\n")}`
  return at < text.length
    ? `The body is not valid JSON: see ${place}`
    : `The body is not valid JSON: it ends too early, at ${place}`
}

// White space, then a sign, a word, a number or the quote that begins a string.
const token = /[ \t\n\r]*(?:[{}[\]:,"]|true|false|null|-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][+-]?\d+)?)/y
const spaces = /[ \t\n\r]*/y
const escape = /\\(?:["\\/bfnrt]|u[0-9a-fA-F]{4})/y

/** How many characters `pattern` takes at `at`; -1 if it does not fit there. */
const taken = (pattern: RegExp, text: string, at: number): number => {
  pattern.lastIndex = at
  return pattern.test(text) ? pattern.lastIndex - at : -1
}

/** Index behind the closing quote of a string, or `~index` of what is wrong in it. `start`: behind its opening quote. */
const skipString = (text: string, start: number): number => {
  let at = start
  while (at < text.length) {
    const code = text.charCodeAt(at)
    if (code === quote) return at + 1
    if (code < 0x20) return ~at
    if (code !== backslash) at++
    else {
      const length = taken(escape, text, at)
      if (length === -1) return ~at
      at += length
    }
  }
  return ~at
}

/** What the grammar of JSON allows next. `first` places may also close what was just opened. */
type Expected = "value" | "first value" | "name" | "first name" | "colon" | "comma" | "nothing"

/** Where `text` stops being JSON (RFC 8259): the index of the first character that cannot stand there, or its length. */
export const firstFault = (text: string): number => {
  const open: Array<"{" | "["> = []
  let expected: Expected = "value"
  let at = 0
  const afterValue = (): Expected => (open.length === 0 ? "nothing" : "comma")
  for (;;) {
    const start = at + taken(spaces, text, at)
    const length = taken(token, text, start)
    if (length === -1) return start
    const sign = text[start] ?? ""
    at = start + length
    const wantsValue: boolean = expected === "value" || expected === "first value"
    const wantsName: boolean = expected === "name" || expected === "first name"
    if (sign === '"' && (wantsValue || wantsName)) {
      at = skipString(text, at)
      if (at < 0) return ~at
      expected = wantsName ? "colon" : afterValue()
    } else if (sign === "{" && wantsValue) {
      open.push(sign)
      expected = "first name"
    } else if (sign === "[" && wantsValue) {
      open.push(sign)
      expected = "first value"
    } else if (sign === (open.at(-1) === "{" ? "}" : "]") && (expected === "comma" || expected.startsWith("first"))) {
      open.pop()
      expected = afterValue()
    } else if (sign === ":" && expected === "colon") expected = "value"
    else if (sign === "," && expected === "comma") expected = open.at(-1) === "{" ? "name" : "value"
    else if (wantsValue && !'{}[]:,"'.includes(sign)) expected = afterValue()
    else return start
  }
}
