import { expect, test } from "bun:test"
import * as FastCheck from "effect/FastCheck"
import { KeyId } from "../../../src/domain/ids.ts"
import { bodyHash, idempotencyId, isIdempotencyKey } from "../../../src/domain/request/idempotencyKey.ts"

const values = FastCheck.stringMatching(/^[\x21-\x7e]{1,255}$/)

test("a value is 1 to 255 visible ASCII characters", () => {
  FastCheck.assert(FastCheck.property(values, isIdempotencyKey))
  const any = FastCheck.fullUnicodeString({ maxLength: 300 })
  FastCheck.assert(
    FastCheck.property(any, (value) => {
      const isValid = value.length > 0 && value.length < 256 && [...value].every((char) => char > " " && char < "\x7f")
      expect(isIdempotencyKey(value)).toBe(isValid)
    }),
  )
})

test("the same value under another key or on another route stands for another request", () => {
  const part = FastCheck.constantFrom("a", "b", "ab", "chat", "chat-b")
  const scope = FastCheck.tuple(part, part, part)
  const idOf = ([key, route, value]: readonly [string, string, string]) => idempotencyId(KeyId.make(key), route, value)
  FastCheck.assert(
    FastCheck.property(scope, scope, (one, other) => {
      expect(idOf(one) === idOf(other)).toBe(JSON.stringify(one) === JSON.stringify(other))
    }),
  )
})

test("bodies are told apart, and their hash depends on the value", () => {
  const [one, other] = [new TextEncoder().encode("{}"), new TextEncoder().encode("{ }")]
  expect(bodyHash("a", one)).toBe(bodyHash("a", one))
  expect(new Set([bodyHash("a", one), bodyHash("a", other), bodyHash("b", one)]).size).toBe(3)
})
