/** The meaning of Google's errors. */
import { describe, expect, test } from "bun:test"
import type { JsonObject } from "../../../src/domain/json/json.ts"
import { gemini } from "./build.ts"

const failed = (status: number, error: JsonObject, asList = false) =>
  gemini.error(status, new Headers(), asList ? [{ error }] : { error })

const errorInfo = (reason: string) => ({
  "@type": "type.googleapis.com/google.rpc.ErrorInfo",
  reason,
  domain: "googleapis.com",
})
const retryInfo = (retryDelay: string) => ({ "@type": "type.googleapis.com/google.rpc.RetryInfo", retryDelay })

describe("errors", () => {
  test.each<[number, string, string]>([
    [400, "INVALID_ARGUMENT", "request"],
    [400, "FAILED_PRECONDITION", "request"],
    [401, "UNAUTHENTICATED", "account"],
    [403, "PERMISSION_DENIED", "account"],
    [404, "NOT_FOUND", "not-found"],
    [429, "RESOURCE_EXHAUSTED", "rate-limited"],
    [499, "CANCELLED", "overloaded"],
    [500, "INTERNAL", "overloaded"],
    [503, "UNAVAILABLE", "overloaded"],
    [504, "DEADLINE_EXCEEDED", "timeout"],
  ])("%d %s is %s, also in a list", (code, status, reason) => {
    for (const asList of [false, true]) {
      const failure = failed(code, { code, status, message: "Said." }, asList)
      expect(failure.reason as string).toBe(reason)
      expect([failure.status, failure.code]).toEqual([code, status])
      const isShown = reason === "rate-limited" || reason === "request"
      if (isShown && [400, 429].includes(code)) expect(failure.detail).toBe("Said.")
      else expect(failure.detail).toBeUndefined()
    }
  })

  test.each<[number, string, ReadonlyArray<JsonObject>, string]>([
    [400, "API key not valid. Please pass a valid API key.", [errorInfo("API_KEY_INVALID")], "account"],
    [400, "API key expired. Please renew the API key.", [], "account"],
    [400, "Free tier is not available in your country. Please enable billing.", [], "account"],
    [400, "User location is not supported for the API use.", [], "forbidden"],
    [
      403,
      "Vertex AI API has not been used in project 1 before or it is disabled.",
      [errorInfo("SERVICE_DISABLED")],
      "account",
    ],
    [429, "Your prepayment credits are depleted.", [], "account"],
  ])("%d %s", (code, message, details, reason) => {
    const failure = failed(code, {
      code,
      status: code === 429 ? "RESOURCE_EXHAUSTED" : "INVALID_ARGUMENT",
      message,
      details,
    })
    expect([failure.reason as string, failure.detail]).toEqual([reason, undefined])
  })

  test("a prompt that is too long has the code that callers know", () => {
    const message = "The input token count (1200000) exceeds the maximum number of tokens allowed (1048576)."
    const failure = failed(400, { code: 400, status: "INVALID_ARGUMENT", message })
    expect([failure.reason as string, failure.code, failure.detail]).toEqual([
      "request",
      "context_length_exceeded",
      message,
    ])
  })

  test.each<[string, number | undefined]>([
    ["34.4s", 35],
    ["7s", 7],
    ["0s", 0],
    ["soon", undefined],
    ["-1s", undefined],
  ])("a wait of %s", (delay, expected) => {
    for (const code of [429, 503]) {
      const status = code === 429 ? "RESOURCE_EXHAUSTED" : "UNAVAILABLE"
      expect(failed(code, { code, status, message: "m", details: [retryInfo(delay)] }).retryAfterSeconds).toBe(expected)
    }
    expect(
      failed(400, { code: 400, status: "INVALID_ARGUMENT", details: [retryInfo(delay)] }).retryAfterSeconds,
    ).toBeUndefined()
  })
})
