import { describe, expect, test } from "bun:test"
import * as FastCheck from "effect/FastCheck"
import { HostFailed } from "../../src/domain/failures/Failure.ts"
import type { HostReason } from "../../src/domain/failures/HostReason.ts"
import { errorInBody, httpError } from "../../src/formats/httpError.ts"

const none = new Headers()
const waits = (value: string, date?: string) =>
  httpError(429, new Headers({ "retry-after": value, ...(date === undefined ? {} : { date }) }), null).retryAfterSeconds

describe("httpError", () => {
  test.each<[number, HostReason]>([
    [204, "malformed"],
    [301, "malformed"],
    [307, "malformed"],
    [400, "request"],
    [401, "account"],
    [402, "account"],
    [403, "forbidden"],
    [404, "not-found"],
    [405, "malformed"],
    [408, "timeout"],
    [413, "request"],
    [418, "malformed"],
    [422, "request"],
    [429, "rate-limited"],
    [500, "overloaded"],
    [503, "overloaded"],
    [529, "overloaded"],
    [599, "overloaded"],
  ])("%d means %s", (status, reason) => {
    const failed = httpError(status, none, { error: { message: "no" } })
    expect(failed).toBeInstanceOf(HostFailed)
    expect([failed.reason, failed.status]).toEqual([reason, status])
  })

  test("503 with Retry-After says how long to wait", () => {
    const failed = httpError(503, new Headers({ "retry-after": "7" }), null)
    expect([failed.reason, failed.retryAfterSeconds]).toEqual(["overloaded", 7])
  })

  test("503 with a Retry-After that cannot be read asks for some time, 503 without one for none", () => {
    expect(httpError(503, new Headers({ "retry-after": "soon" }), null).retryAfterSeconds).toBe(5)
    expect(httpError(503, new Headers(), null).retryAfterSeconds).toBeUndefined()
  })

  test("Retry-After of a request that is itself at fault is not a wait", () => {
    expect(httpError(400, new Headers({ "retry-after": "7" }), null).retryAfterSeconds).toBeUndefined()
  })

  test("Retry-After in seconds, not clamped here", () => {
    expect(waits("0")).toBe(0)
    expect(waits(" 12 ")).toBe(12)
    expect(waits("86400")).toBe(86_400)
    expect(waits("9".repeat(400))).toBe(Number.MAX_SAFE_INTEGER)
  })

  test("Retry-After as a date says nothing without the host's clock", () => {
    expect(waits("Wed, 21 Oct 2026 07:28:30 GMT")).toBeUndefined()
    expect(waits("Wed, 21 Oct 2026 07:28:30 GMT", "yesterday")).toBeUndefined()
  })

  test("Retry-After as a date is held against the host's clock", () => {
    expect(waits("Wed, 21 Oct 2026 07:28:30 GMT", "Wed, 21 Oct 2026 07:28:00 GMT")).toBe(30)
    expect(waits("Wed, 21 Oct 2026 07:28:00 GMT", "Wed, 21 Oct 2026 07:28:30 GMT")).toBe(0)
  })

  test.each(["", "soon", "-5", "1.5", "1e3", "0x10", "2026-10-21", "Wed, 99 Oct 2026 07:28:00 GMT", "5 s"])(
    "Retry-After %p is no wait",
    (value) => expect(waits(value)).toBeUndefined(),
  )

  test.each<[string, unknown, string | undefined, string | undefined]>([
    ["a word as code", { error: { code: "a_b", type: "t", message: "m" } }, "a_b", "m"],
    ["a number as code, a word as type", { error: { code: 400, type: "too_long", message: "m" } }, "too_long", "m"],
    ["only a number", { error: { code: 400, message: "m" } }, "400", "m"],
    ["code null", { error: { code: null, type: "t", message: "m" } }, "t", "m"],
    ["no error member", { code: "77", type: "bad_args", message: "m" }, "bad_args", "m"],
    ["detail as text", { detail: "m" }, undefined, "m"],
    ["detail as a list", { detail: [{ loc: ["body"], msg: "m", type: "missing" }] }, undefined, "m"],
    ["error as text", { error: "m" }, undefined, "m"],
    ["a status in words", { error: { code: 400, status: "INVALID_ARGUMENT", message: "m" } }, "INVALID_ARGUMENT", "m"],
    ["plain text", "m", undefined, "m"],
    ["a page", " <html>m</html>", undefined, undefined],
    ["nothing", null, undefined, undefined],
    ["a list", [1], undefined, undefined],
    ["a message that is none", { error: { message: 5 } }, undefined, undefined],
  ])("reads code and text of: %s", (_, body, code, detail) => {
    const failed = httpError(400, none, body)
    expect([failed.code, failed.detail]).toEqual([code, detail])
  })

  test("the host's text is shown only where it is about the request", () => {
    const body = { error: { message: "key sk-1 of org-2 is wrong" } }
    const shown = [400, 401, 402, 403, 404, 408, 409, 413, 422, 429, 500, 503].filter(
      (status) => httpError(status, none, body).detail !== undefined,
    )
    expect(shown).toEqual([400, 413, 422, 429])
  })

  test("text is cut to 1,024 characters and loses control characters, whatever it was", () => {
    FastCheck.assert(
      FastCheck.property(FastCheck.string({ unit: "binary", maxLength: 3000, size: "max" }), (message) => {
        const { detail = "" } = httpError(400, none, { error: { message } })
        expect(detail.length).toBeLessThanOrEqual(1024)
        expect(/\p{Cc}/u.test(detail)).toBe(false)
        expect(detail.isWellFormed()).toBe(true)
      }),
      { numRuns: 100 },
    )
    expect(httpError(400, none, { error: { message: "a\r\n\u0000b\u001b[31m" } }).detail).toBe("a b [31m")
    expect(httpError(400, none, { error: { message: `${"x".repeat(1023)}😀` } }).detail).toBe(
      `${"x".repeat(1023)}\ufffd`,
    )
  })

  test("never throws, whatever the body", () => {
    FastCheck.assert(
      FastCheck.property(FastCheck.integer({ min: 100, max: 599 }), FastCheck.jsonValue(), (status, body) => {
        expect(httpError(status, none, body)).toBeInstanceOf(HostFailed)
        expect(errorInBody(body)).toBeInstanceOf(HostFailed)
      }),
    )
  })
})

describe("errorInBody", () => {
  test.each<[unknown, HostReason]>([
    [{ code: 429, message: "slow down" }, "rate-limited"],
    [{ code: "429" }, "rate-limited"],
    [{ code: 401 }, "account"],
    [{ code: 502 }, "overloaded"],
    [{ status: 400, code: "content_filter" }, "request"],
    [{ code: "DataInspectionFailed" }, "request"],
    [{ code: "invalid_api_key", type: "invalid_request_error" }, "account"],
    [{ code: "model_not_found", type: "invalid_request_error" }, "not-found"],
    [{ code: "insufficient_quota", type: "insufficient_quota" }, "account"],
    [{ code: "context_length_exceeded" }, "request"],
    [{ code: "rate_limit_exceeded", type: "tokens" }, "rate-limited"],
    [{ type: "invalid_request_error" }, "request"],
    [{ type: "authentication_error" }, "account"],
    [{ type: "permission_error" }, "forbidden"],
    [{ type: "overloaded_error" }, "overloaded"],
    [{ type: "server_error" }, "overloaded"],
    [{ type: "timeout_error" }, "timeout"],
    [{ status: "RESOURCE_EXHAUSTED" }, "rate-limited"],
    [{ code: 7, message: "what" }, "overloaded"],
    [{ code: 200 }, "overloaded"],
    [{}, "overloaded"],
    ["Rate_limit reached", "rate-limited"],
    ["boom", "overloaded"],
    [null, "overloaded"],
    [[], "overloaded"],
  ])("%j means %s", (error, reason) => expect(errorInBody(error).reason).toBe(reason))

  test("keeps the text of what is about the request, and no other", () => {
    expect(errorInBody({ code: 400, message: "too long" }).detail).toBe("too long")
    expect(errorInBody({ code: 500, message: "stack at /srv/app" }).detail).toBeUndefined()
  })
})

describe("odd bodies", () => {
  const read = (status: number, body: unknown, reasons = {}) => {
    const { reason, code, detail } = httpError(status, new Headers(), body, reasons)
    return [reason, code, detail]
  }

  test.each<[string, number, unknown, ReadonlyArray<string | undefined>]>([
    ["a text as the error", 400, { error: "no" }, ["request", undefined, "no"]],
    ["a text beside its code", 400, { code: "bad-thing", error: "no" }, ["request", "bad-thing", "no"]],
    ["a list of errors", 400, { errors: [{ code: 5004, message: "no" }] }, ["request", "5004", "no"]],
    ["a reason for a code", 422, { code: 422, reason: "BAD", message: "no" }, ["request", "BAD", "no"]],
    ["an error in the detail", 422, { detail: { error: "no" } }, ["request", undefined, "no"]],
  ])("%s", (_what, status, body, expected) => expect(read(status, body)).toEqual([...expected]))

  test("own codes and statuses decide, a code before a status; what is the account's shows nothing", () => {
    const reasons = { poor: "account", "418": "overloaded", fine: "request" }
    expect(read(429, { error: { code: "poor", message: "no" } }, reasons)).toEqual(["account", "poor", undefined])
    expect(read(418, { error: { message: "no" } }, reasons)).toEqual(["overloaded", undefined, undefined])
    expect(read(418, { error: { code: "fine", message: "no" } }, reasons)).toEqual(["request", "fine", "no"])
    expect(read(400, { error: { code: "constructor", message: "no" } }, reasons)).toEqual([
      "request",
      "constructor",
      "no",
    ])
  })
})
