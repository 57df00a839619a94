/** Heads of requests that are kept: they are what they would be if each were written anew. */
import { expect, test } from "bun:test"
import * as fc from "effect/FastCheck"
import { RequestHeads } from "../../src/upstream/http1/RequestHeads.ts"

const start = " /v1 HTTP/1.1\r\nhost: acme.example\r\n"

test("those with the same method and headers are one, whatever object the headers are", () => {
  const heads = new RequestHeads(start)
  const head = heads.of("POST", { "x-a": "1", "x-b": "2" })
  expect(head.text).toBe(`POST${start}x-a: 1\r\nx-b: 2\r\naccept-encoding: identity\r\n`)
  expect(heads.of("POST", { "x-a": "1", "x-b": "2" })).toBe(head)
})

test.each([
  ["another method", "GET", { "x-a": "1", "x-b": "2" }],
  ["another value", "POST", { "x-a": "1", "x-b": "3" }],
  ["another name", "POST", { "x-a": "1", "x-c": "2" }],
  ["another order", "POST", { "x-b": "2", "x-a": "1" }],
  ["one header less", "POST", { "x-a": "1" }],
  ["one header more", "POST", { "x-a": "1", "x-b": "2", "x-c": "3" }],
] as const)("those with %s are others", (_, method, headers) => {
  const heads = new RequestHeads(start)
  heads.of("POST", { "x-a": "1", "x-b": "2" })
  expect(heads.of(method, headers).text).toBe(new RequestHeads(start).of(method, headers).text)
})

test("those whose headers are changed afterwards are written anew", () => {
  const heads = new RequestHeads(start)
  const headers = { authorization: "Bearer one" }
  heads.of("POST", headers)
  headers.authorization = "Bearer two"
  expect(heads.of("POST", headers).text).toContain("Bearer two")
})

test("no more than eight are kept, the latest", () => {
  const heads = new RequestHeads(start)
  const made = [0, 1, 2, 3, 4, 5, 6, 7, 8].map((n) => heads.of("POST", { "x-n": `${n}` }))
  const isKept = (n: number) => heads.of("POST", { "x-n": `${n}` }) === made[n]
  expect([8, 7, 6, 5, 4, 3, 2, 1].filter(isKept).length).toBe(8)
  expect(heads.of("POST", { "x-n": "0" })).not.toBe(made[0])
})

test("a head that cannot be sent is refused each time, and its value not named", () => {
  const heads = new RequestHeads(start)
  for (let times = 0; times < 2; times++) {
    expect(() => heads.of("POST", { "x-a": "secret\n" })).toThrow("the value of the header x-a cannot be sent")
  }
})

test("any sequence of methods and headers gives the heads of a new client each time", () => {
  const name = fc.constantFrom("x-a", "x-b", "authorization", "accept-encoding", "host")
  const headers = fc.dictionary(name, fc.constantFrom("1", "2", "Müller", ""))
  const call = fc.tuple(fc.constantFrom("GET" as const, "POST" as const), headers)
  fc.assert(
    fc.property(fc.array(call, { maxLength: 30 }), (calls) => {
      const heads = new RequestHeads(start)
      for (const [method, given] of calls) {
        const { text, isAscii } = new RequestHeads(start).of(method, given)
        expect(heads.of(method, given)).toMatchObject({ text, isAscii })
      }
    }),
  )
})
