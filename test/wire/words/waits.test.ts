/** How long a host asks us to wait, in the spellings of the vendors. */
import { describe, expect, test } from "bun:test"
import { errorInBody, httpError } from "../../../src/formats/httpError.ts"

const date = "Wed, 21 Oct 2026 07:28:00 GMT"
const unix = Date.parse(date) / 1000

const waitOf = (headers: Readonly<Record<string, string>>, error: unknown = { message: "slow down" }) =>
  httpError(429, new Headers({ date, ...headers }), { error }).retryAfterSeconds

describe("a wait that is not in Retry-After was five seconds:", () => {
  test.each<[string, Readonly<Record<string, string>>, number | undefined]>([
    ["retry-after-ms", { "retry-after-ms": "1500" }, 2],
    ["retry-after-ms beside the whole seconds", { "retry-after-ms": "400", "retry-after": "1" }, 1],
    ["a duration", { "x-ratelimit-reset-tokens": "1m26.4s" }, 87],
    ["milliseconds", { "x-ratelimit-reset-requests": "6ms" }, 1],
    ["seconds of a day", { "x-ratelimit-reset-requests-day": "33011.382867" }, 33_012],
    ["Unix seconds", { "x-ratelimit-reset": String(unix + 42) }, 42],
    ["Unix milliseconds", { "x-ratelimit-reset": String((unix + 42) * 1000) }, 42],
    ["RFC 3339", { "anthropic-ratelimit-tokens-reset": "2026-10-21T07:29:10Z" }, 70],
    [
      "the bucket that is used up",
      {
        "anthropic-ratelimit-requests-remaining": "49",
        "anthropic-ratelimit-requests-reset": "2026-10-21T07:28:01Z",
        "anthropic-ratelimit-input-tokens-remaining": "0",
        "anthropic-ratelimit-input-tokens-reset": "2026-10-21T07:28:30Z",
      },
      30,
    ],
    [
      "the later of two that are used up",
      {
        "x-ratelimit-remaining-requests": "0",
        "x-ratelimit-reset-requests": "8s",
        "x-ratelimit-remaining-tokens": "0",
        "x-ratelimit-reset-tokens": "20s",
      },
      20,
    ],
    [
      "the earlier of two of which it is not known",
      { "x-ratelimit-reset-requests": "8s", "x-ratelimit-reset-tokens": "20s" },
      8,
    ],
    [
      "garbage",
      { "retry-after-ms": "soon", "x-ratelimit-reset": "later", "anthropic-ratelimit-tokens-reset": "x" },
      undefined,
    ],
    ["a time that has passed", { "x-ratelimit-reset": String(unix - 9) }, undefined],
    ["nothing", {}, undefined],
  ])("%s", (_name, headers, seconds) => expect(waitOf(headers)).toBe(seconds))

  test.each<[string, number | undefined]>([
    ["Rate limit reached for gpt-5. Please try again in 1m26.4s. Visit https://example.com.", 87],
    ["Please retry after 27 seconds.", 27],
    ["Please retry in 34.4s.", 35],
    ["Please try again in 6ms.", 1],
    ["Try again in 2 minutes.", 120],
    ["Try again in 1h2m3s", 3723],
    ["Try again in a moment.", undefined],
    ["Try again in 5 parsecs.", undefined],
    ["You have 5s to try again", undefined],
  ])("%s", (message, seconds) => {
    expect(waitOf({}, { message })).toBe(seconds)
    expect(errorInBody({ code: 429, message }).retryAfterSeconds).toBe(seconds)
  })

  test("a retryDelay of Google's, at its address for OpenAI's clients too, which answers with a list", () => {
    const error = { code: 429, status: "RESOURCE_EXHAUSTED", message: "no", details: [{ retryDelay: "34.4s" }] }
    expect(waitOf({}, error)).toBe(35)
    expect(httpError(429, new Headers(), [{ error }]).retryAfterSeconds).toBe(35)
    expect(httpError(503, new Headers(), { error: { ...error, code: 503 } }).retryAfterSeconds).toBe(35)
  })

  test("without the host's clock a time of day says nothing", () => {
    const headers = new Headers({ "x-ratelimit-reset": String(unix + 42) })
    expect(httpError(429, headers, null).retryAfterSeconds).toBeUndefined()
  })
})
