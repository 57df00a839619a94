import { expect, test } from "bun:test"
import { hasChecksum, makeSecret } from "../../src/domain/KeySecret.ts"

/** Made by an earlier version. Its checksum begins with the digit 0. */
const issued = "sk-gw-0123456789abcdefghijklmnopqrstuvwxyzABCDEFG0YyfYx"

test("a key that was issued before is still accepted", () => {
  expect(hasChecksum(issued)).toBe(true)
  expect(hasChecksum(issued.replace("0123", "1123"))).toBe(false)
})

test("new keys have their checksum", () => {
  for (const kind of ["ordinary", "management"] as const) expect(hasChecksum(makeSecret(kind))).toBe(true)
})
