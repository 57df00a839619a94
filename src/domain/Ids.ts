/** Names of things. A brand each, so that a model's id cannot be handed over where a host's tag is meant. */
import * as Schema from "effect/Schema"

/** `<author>/<slug>`, possibly with a variant suffix such as `:free`. */
export const ModelId = Schema.NonEmptyString.pipe(Schema.brand("ModelId"))
export type ModelId = typeof ModelId.Type

/** Routing tag of a host: `<provider>` or `<provider>/<variant>`. Spec 2.4. */
export const HostTag = Schema.NonEmptyString.pipe(Schema.brand("HostTag"))
export type HostTag = typeof HostTag.Type

/** What a key is known by: lower-case hex SHA-256 of the whole key, 64 characters. Reference 2. */
export const KeyId = Schema.NonEmptyString.pipe(Schema.brand("KeyId"))
export type KeyId = typeof KeyId.Type

const alphabet = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789"

// Bytes at or above this are thrown away, so that every character is equally likely.
const fair = 256 - (256 % alphabet.length)

const pool = new Uint8Array(4096)
let poolAt = pool.length

/** `length` characters of [A-Za-z0-9], from the system's cryptographic random source. */
export const randomText = (length: number): string => {
  let text = ""
  while (text.length < length) {
    if (poolAt === pool.length) {
      crypto.getRandomValues(pool)
      poolAt = 0
    }
    const byte = pool[poolAt] ?? 0
    pool[poolAt++] = 0
    if (byte < fair) text += alphabet[byte % alphabet.length]
  }
  return text
}

/** One per HTTP request: `req_` and 24 characters. Reference 4. */
export const requestId = (): string => `req_${randomText(24)}`

/** One per inference: `gen-<unix seconds>-<20 characters>`. Reference 2. */
export const generationId = (seconds: number): string => `gen-${seconds}-${randomText(20)}`
