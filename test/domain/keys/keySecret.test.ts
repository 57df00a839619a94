import { expect, test } from "bun:test"
import { hasChecksum, makeSecret } from "../../../src/domain/keys/keySecret.ts"

/** Made by an earlier version. Its checksum begins with the digit 0. */
const issued = "sk-gw-0123456789abcdefghijklmnopqrstuvwxyzABCDEFG0YyfYx"

test("a key that was issued before is still accepted", () => {
  expect(hasChecksum(issued)).toBe(true)
  expect(hasChecksum(issued.replace("0123", "1123"))).toBe(false)
})

test("new keys have their checksum", () => {
  for (const kind of ["ordinary", "management"] as const) expect(hasChecksum(makeSecret(kind))).toBe(true)
})

// Seen with one random key in ten: those whose checksum has the same letters in another case.
test("a key whose checksum is written in another case is refused", () => {
  let changed = 0
  for (let at = 0; at < 50; at++) {
    const secret = makeSecret("ordinary")
    const checksum = secret.slice(-6)
    for (const other of [checksum.toLowerCase(), checksum.toUpperCase()]) {
      if (other === checksum) continue
      changed += 1
      expect(hasChecksum(secret.slice(0, -6) + other)).toBe(false)
    }
  }
  expect(changed).toBeGreaterThan(50)
})
