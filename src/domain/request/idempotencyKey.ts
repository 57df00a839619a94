/** The `Idempotency-Key` of a request: which values it may have, and what is kept in its place. See docs/guarantees.md#g9 */
import type { KeyId } from "../ids.ts"

/** How long a value stands for its first request, milliseconds. */
export const keptForMs = 86_400_000

/** Characters of a value. */
export const longestIdempotencyKey = 255

const visible = new RegExp(`^[\\x21-\\x7e]{1,${longestIdempotencyKey}}$`)

/** Visible ASCII, without spaces. */
export const isIdempotencyKey = (value: string): boolean => visible.test(value)

const hashOf = (...parts: ReadonlyArray<string | Uint8Array>): string => {
  const hasher = new Bun.CryptoHasher("sha256")
  for (const part of parts) hasher.update(part)
  return hasher.digest("hex")
}

/** What the value stands for: the same value under another key or on another route is another one. */
export const idempotencyId = (key: KeyId, route: string, value: string): string => hashOf(key, "\n", route, "\n", value)

/**
 * Tells bodies apart. The value is hashed too, and kept nowhere else: where it cannot be guessed, neither can a short prompt
 * be found by trying.
 */
export const bodyHash = (value: string, body: Uint8Array): string => hashOf(value, "\n", body)
