/** Ids. Each has its own brand, so that a model's id cannot be passed where a host's tag is expected. */
import * as Schema from "effect/Schema"

/** `<author>/<slug>`, possibly with a variant suffix such as `:free`. */
export const ModelId = Schema.NonEmptyString.pipe(Schema.brand("ModelId"))
export type ModelId = typeof ModelId.Type

/** Routing tag of a host: `<provider>` or `<provider>/<variant>`. */
export const HostTag = Schema.NonEmptyString.pipe(Schema.brand("HostTag"))
export type HostTag = typeof HostTag.Type

/** The id of a key: lower-case hex SHA-256 of the whole key, 64 characters. */
export const KeyId = Schema.NonEmptyString.pipe(Schema.brand("KeyId"))
export type KeyId = typeof KeyId.Type

// In the order of character codes, so that numbers of equal length sort as text.
const alphabet = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"
const base = alphabet.length

// Bytes at or above this are discarded, so that every character is equally likely.
const fair = 256 - (256 % base)

const pool = new Uint8Array(4096)
let poolAt = pool.length

/** `length` characters of [A-Za-z0-9], from the system's cryptographic random source. */
export const randomText = (length: number): string => {
  const text = Buffer.alloc(length)
  for (let at = 0; at < length; ) {
    if (poolAt === pool.length) {
      crypto.getRandomValues(pool)
      poolAt = 0
    }
    const byte = pool[poolAt] ?? 0
    pool[poolAt++] = 0
    if (byte < fair) text[at++] = alphabet.charCodeAt(byte % base)
  }
  return text.toString("latin1")
}

/** Random characters that were made ahead for ids, and how many of them are used. */
let idText = ""
let idTextAt = 0

/** The same, for ids only: made many at a time, and what is made ahead lies in memory, where no secret may lie. */
const idCharacters = (length: number): string => {
  if (idTextAt + length > idText.length) {
    idText = randomText(4096)
    idTextAt = 0
  }
  idTextAt += length
  return idText.slice(idTextAt - length, idTextAt)
}

/** A whole number in the last `length` of its base-62 digits, padded with zeros: [0-9A-Za-z] in this order. */
export const inBase62 = (number: number, length: number): string => {
  let text = ""
  for (let rest = number; text.length < length; rest = Math.floor(rest / base))
    text = alphabet.charAt(rest % base) + text
  return text
}

const counts = base ** 2

/**
 * The largest backward step of the clock, in milliseconds, that ids ignore, so that small corrections keep their
 * order. After a larger step, ids follow the clock back: requests are read by the times of their ids, and newer
 * requests must not hide behind a time in the future.
 */
const keptOrderMs = 1000

/**
 * Generates request ids from a clock (`now`, Unix milliseconds). The first ten characters sort by time: eight for
 * milliseconds and two for a counter. Each id sorts after the previous one, unless the clock stepped back by more
 * than a second. More than 3,844 ids in a millisecond, or a smaller step back, continue in the millisecond after the
 * last one used.
 */
export const requestIds = (now: () => number): (() => string) => {
  let lastMs = 0
  let lastMsText = ""
  let count = 0
  return () => {
    const nowMs = now()
    count += 1
    if (nowMs > lastMs || count === counts || nowMs < lastMs - keptOrderMs) {
      lastMs = nowMs < lastMs - keptOrderMs ? nowMs : Math.max(nowMs, lastMs + 1)
      lastMsText = inBase62(lastMs, 8)
      count = 0
    }
    return `req_${lastMsText}${alphabet.charAt(Math.floor(count / base))}${alphabet.charAt(count % base)}${idCharacters(14)}`
  }
}

/**
 * One id per HTTP request: `req_` and 24 characters. The first ten sort by time, so a database index over them grows
 * at its end, which takes half the time of inserts at random places. The other fourteen (83 bits) cannot be guessed,
 * and are enough to keep ids apart.
 */
export const requestId = requestIds(() => Date.now())

/** Whether a text can be the id of a request. */
export const isRequestId = (text: string): boolean => /^req_[0-9A-Za-z]{24}$/.test(text)

/** The last millisecond that an id can tell: in the year 8888. */
const lastIdMs = base ** 8 - 1

/** Ids of requests sort below it where they were made before this moment, Unix milliseconds, and above it elsewhere. */
export const requestIdAt = (ms: number): string => `req_${inBase62(Math.min(Math.max(0, Math.floor(ms)), lastIdMs), 8)}`

/**
 * One per inference: `gen-<unix seconds>-<20 characters>`. The characters are those of the request's id without the
 * last four. So both sort alike, and the request's rows can be found from either.
 */
export const generationId = (seconds: number, request: string): string => `gen-${seconds}-${request.slice(4, 24)}`

/** What the ids of a generation's rows begin with: those of its request. `undefined`: it is no id of a generation. */
export const requestOfGeneration = (id: string): string | undefined => {
  const characters = /^gen-\d{1,12}-([0-9A-Za-z]{20})$/.exec(id)?.[1]
  return characters === undefined ? undefined : `req_${characters}`
}
