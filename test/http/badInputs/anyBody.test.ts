/** Whatever a body is, decoding it gives a request or issues. */
import { describe, expect, test } from "bun:test"
import * as Either from "effect/Either"
import * as FastCheck from "effect/FastCheck"
import type { BadRequest } from "../../../src/domain/failures/Failure.ts"
import { isJsonObject, type JsonObject } from "../../../src/domain/json/json.ts"
import { firstFault } from "../../../src/domain/json/jsonFault.ts"
import type { ChatRequest } from "../../../src/domain/request/request.ts"
import { decodeChat } from "../../../src/formats/chat/chatRequest.ts"
import { parseBody } from "../../../src/http/parseBody.ts"
import { accepted, bytesOf, decode, decodeBytes, decodeText, minimal } from "./decoding.ts"

describe("whatever comes", () => {
  const known = (
    "model models messages provider tools tool_choice response_format reasoning reasoning_effort stream stop metadata logit_bias " +
    "max_tokens temperature prediction usage role content type text image_url function name tool_calls tool_call_id max_price sort " +
    "prompt order __proto__ constructor toString headers"
  ).split(" ")
  const words = "user assistant tool system function text image_url json_schema a/b price low 1e5".split(" ")
  const { value } = FastCheck.letrec<{ value: unknown }>((tie) => ({
    value: FastCheck.oneof(
      { maxDepth: 6 },
      FastCheck.constantFrom<unknown>(null, true, 0, -1, 1, 1e308, "", ...words),
      FastCheck.string(),
      FastCheck.array(tie("value"), { maxLength: 4 }),
      FastCheck.array(FastCheck.tuple(FastCheck.constantFrom(...known), tie("value")), { maxLength: 6 }).map(
        Object.fromEntries,
      ),
    ),
  }))

  const settles = (result: Either.Either<ChatRequest, BadRequest>): void => {
    if (Either.isLeft(result)) {
      expect(result.left.issues.length).toBeLessThanOrEqual(10)
      expect(result.left.message).toEndWith(".")
    } else expect(result.right.routing.models.length).toBeGreaterThan(0)
    expect("polluted" in {}).toBe(false)
  }

  test("any JSON gives a request or issues", () => {
    FastCheck.assert(
      FastCheck.property(FastCheck.oneof(FastCheck.jsonValue(), value), (json) =>
        settles(decodeText(JSON.stringify(json))),
      ),
      { numRuns: 1000 },
    )
  })

  test("any value of any member gives a request or issues", () => {
    FastCheck.assert(
      FastCheck.property(FastCheck.constantFrom(...known), value, (name, json) => settles(decode({ [name]: json }))),
      { numRuns: 2000 },
    )
  })

  test("any members in messages give a request or issues", () => {
    FastCheck.assert(
      FastCheck.property(FastCheck.array(value), (turns) => settles(decode({ messages: turns }))),
      { numRuns: 500 },
    )
  })

  test("any bytes give a request or issues", () => {
    FastCheck.assert(
      FastCheck.property(FastCheck.uint8Array({ maxLength: 200 }), (bytes) => settles(decodeBytes(bytes))),
      { numRuns: 1000 },
    )
  })

  test("any depth gives a request or issues, and 64 is the deepest that passes", () => {
    FastCheck.assert(
      FastCheck.property(
        FastCheck.integer({ min: 1, max: 5000 }),
        FastCheck.constantFrom("[", '{"__proto__":', '{"a":'),
        (levels, opening) => {
          const close = opening === "[" ? "]" : "}"
          const text = `{"a":${opening.repeat(levels - 1)}{"polluted":1}${close.repeat(levels - 1)}}`
          expect(Either.isRight(parseBody(bytesOf(text)))).toBe(levels + 1 <= 64)
          settles(decodeText(text))
        },
      ),
      { numRuns: 200 },
    )
  })

  test("the fault finder and the parser agree on what is JSON", () => {
    const text = FastCheck.oneof(
      FastCheck.json(),
      FastCheck.tuple(FastCheck.json(), FastCheck.nat(), FastCheck.constantFrom(...'{}[],:"\\0-.e \u0001t\u00e9')).map(
        ([json, at, sign]) => {
          const cut = at % (json.length + 1)
          return json.slice(0, cut) + sign + json.slice(cut + (at % 2))
        },
      ),
      FastCheck.string({ unit: FastCheck.constantFrom(...'{}[],:"\\01-+.eEu tfn', "true", "null"), maxLength: 12 }),
    )
    const isJson = (candidate: string): boolean => {
      try {
        JSON.parse(candidate)
        return true
      } catch {
        return false
      }
    }
    FastCheck.assert(
      FastCheck.property(text, (candidate) => {
        const at = firstFault(candidate)
        if (at < candidate.length) expect(isJson(candidate)).toBe(false)
        if (isJson(candidate)) expect(at).toBe(candidate.length)
        // Nothing before the fault is at fault.
        expect(firstFault(candidate.slice(0, at))).toBe(at)
      }),
      { numRuns: 5000 },
    )
  })

  test("names are not looked up in the prototype of objects", () => {
    for (const name of Object.getOwnPropertyNames(Object.prototype)) {
      const body: JsonObject = { ...minimal, ...Object.fromEntries([[name, 1]]) }
      expect(isJsonObject(accepted(decodeChat(body)).payload)).toBe(true)
    }
  })
})
