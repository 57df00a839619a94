/** What is read of an answer that is there as a whole. */
import { describe, expect, test } from "bun:test"
import { answerBody, parsedBody, refusedBy } from "../../../src/services/calls/answerBody.ts"
import { closeServices } from "../../support/clocks/services.ts"
import { oneEndpoint } from "../../support/hosts/oneEndpoint.ts"

closeServices()

const endpoint = await oneEndpoint()

describe("a body", () => {
  const deep = "[".repeat(100_000)

  test("is JSON where it can be, else text", () => {
    expect([parsedBody('{"a":1}'), parsedBody("<html>"), answerBody("[1]"), answerBody("")]).toEqual([
      ...[{ a: 1 }, "<html>", [1], ""],
    ])
  })

  test("that is nested too deep is not parsed: text of a refusal, and a limit of ours in an answer", () => {
    expect(parsedBody(deep)).toBe(deep)
    expect(answerBody(deep)).toMatchObject({ reason: "limit" })
  })

  test("of a refusal is the provider's to judge, with its status and headers", () => {
    const head = { status: 429, headers: new Headers({ "retry-after": "9" }) }
    expect(refusedBy(endpoint, head, '{"error":{"message":"slow down"}}')).toMatchObject({
      ...{ reason: "rate-limited", status: 429, retryAfterSeconds: 9, detail: "slow down" },
    })
  })
})
