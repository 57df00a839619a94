/**
 * Reads how long a host asks us to wait, in every spelling that vendors use. The result is in seconds and not
 * clamped; `undefined`: the host does not say it, or not in a known form. A time of day is compared with the host's
 * own clock, and ignored if the answer has no `Date`. Pure.
 */
import { isJsonObject, objectsIn } from "../../domain/json/json.ts"
import type { ResponseHeaders } from "../head.ts"
import { messageOf } from "./errorWords.ts"

const httpDate = /^(?:Mon|Tue|Wed|Thu|Fri|Sat|Sun), \d\d [A-Z][a-z]{2} \d{4} \d\d:\d\d:\d\d GMT$/
const isoDate = /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(?:\.\d+)?(?:Z|[+-]\d\d:\d\d)$/

/** The wait of `retry-after-ms` (OpenAI, Azure), else of `Retry-After`, which is in seconds or an HTTP date. */
export const retryAfter = (headers: ResponseHeaders): number | undefined => {
  const milliseconds = headers.get("retry-after-ms")?.trim() ?? ""
  if (/^\d+(?:\.\d+)?$/.test(milliseconds)) return whole(Number(milliseconds) / 1000)
  const value = headers.get("retry-after")?.trim() ?? ""
  if (/^\d+$/.test(value)) return whole(Number(value))
  return httpDate.test(value) ? untilTime(Date.parse(value), headers) : undefined
}

/**
 * The wait of a rate limit: the one that the answer requests, else the latest reset of a used-up bucket, else the one
 * in the error, else the earliest reset.
 */
export const waitUntilReset = (headers: ResponseHeaders, error: unknown): number | undefined => {
  const asked = retryAfter(headers)
  if (asked !== undefined) return asked
  let [latestUsedUp, earliest] = [0, Number.POSITIVE_INFINITY]
  for (const [remaining, reset] of buckets) {
    const wait = resetIn(headers.get(reset), headers)
    if (wait === undefined || wait <= 0) continue
    if (isNone(headers.get(remaining))) latestUsedUp = Math.max(latestUsedUp, wait)
    else earliest = Math.min(earliest, wait)
  }
  if (latestUsedUp > 0) return latestUsedUp
  return waitInError(error) ?? (earliest === Number.POSITIVE_INFINITY ? undefined : earliest)
}

/**
 * Headers with the remaining quota of a limit and the time of its reset: Anthropic; OpenAI, Groq and Azure; Cerebras;
 * GitHub, Together and many others.
 */
const buckets: ReadonlyArray<readonly [remaining: string, reset: string]> = [
  ...["requests", "tokens", "input-tokens", "output-tokens"].map(
    (of) => [`anthropic-ratelimit-${of}-remaining`, `anthropic-ratelimit-${of}-reset`] as const,
  ),
  ...[
    ...["-requests", "-tokens", ""],
    ...["-requests-minute", "-tokens-minute", "-requests-hour", "-tokens-hour", "-requests-day", "-tokens-day"],
  ].map((of) => [`x-ratelimit-remaining${of}`, `x-ratelimit-reset${of}`] as const),
  ["ratelimit-remaining", "ratelimit-reset"],
]

const isNone = (remaining: string | null): boolean => remaining !== null && /^0+(?:\.0+)?$/.test(remaining.trim())

/** Larger numbers are times, not waits: above the first in Unix seconds, above the second in milliseconds. */
const leastUnixSeconds = 1_000_000_000
const leastUnixMilliseconds = 1_000_000_000_000

/** Parses a duration (`1m26.4s`, `6ms`), seconds, a time in Unix seconds or milliseconds, or RFC 3339. */
const resetIn = (value: string | null, headers: ResponseHeaders): number | undefined => {
  const text = value?.trim() ?? ""
  if (isoDate.test(text)) return untilTime(Date.parse(text), headers)
  if (!/^\d+(?:\.\d+)?$/.test(text)) return durationIn(text)
  const number = Number(text)
  if (number >= leastUnixMilliseconds) return untilTime(number, headers)
  return number >= leastUnixSeconds ? untilTime(number * 1000, headers) : whole(number)
}

/** The wait in the error itself: Google's `retryDelay`, else "try again in 1m26.4s". */
export const waitInError = (error: unknown): number | undefined =>
  waitInDetails(error) ?? waitInSentence(messageOf(error))

/** The `retryDelay` of Google's `RetryInfo`, such as `34.4s`. */
export const waitInDetails = (error: unknown): number | undefined => {
  if (!isJsonObject(error)) return undefined
  for (const { retryDelay } of objectsIn(error["details"])) {
    const wait = typeof retryDelay === "string" ? durationIn(retryDelay) : undefined
    if (wait !== undefined) return wait
  }
  return undefined
}

/**
 * OpenAI and Groq: "Please try again in 1m26.4s."; Azure: "Please retry after 27 seconds."; Google: "Please retry in
 * 34.4s."
 */
const askedFor = /\b(?:try again|retry)(?: your request)? (?:in|after) (\d[\d.a-z ]{0,40})/i

const waitInSentence = (sentence: string | undefined): number | undefined => {
  const found = sentence === undefined ? undefined : askedFor.exec(sentence.slice(0, longestSentence))?.[1]
  return found === undefined ? undefined : durationIn(duration.exec(found)?.[0] ?? "")
}

/** Characters of a message in which to look for a wait. */
const longestSentence = 2000

const part = String.raw`(\d{1,9}(?:\.\d{1,9})?) ?(ms|milliseconds?|s|secs?|seconds?|m|mins?|minutes?|h|hours?|d|days?)(?![a-z])`
const parts = new RegExp(part, "g")
const duration = new RegExp(`^(?:${part} ?)+`, "i")

const inSeconds: Readonly<Record<string, number>> = { m: 60, h: 3600, d: 86_400 }

/** Seconds of a duration with units: `1m26.4s`, `20 seconds`. */
const durationIn = (text: string): number | undefined => {
  const small = text.toLowerCase().trim()
  if (duration.exec(small)?.[0] !== small) return undefined
  let seconds = 0
  for (const [, number, unit = ""] of small.matchAll(parts)) {
    const isMilliseconds = unit === "ms" || unit.startsWith("milli")
    seconds += Number(number) * (isMilliseconds ? 0.001 : (inSeconds[unit.charAt(0)] ?? 1))
  }
  return whole(seconds)
}

const untilTime = (time: number, headers: ResponseHeaders): number | undefined => {
  const sent = headers.get("date") ?? ""
  if (!httpDate.test(sent)) return undefined
  const seconds = (time - Date.parse(sent)) / 1000
  return Number.isNaN(seconds) ? undefined : whole(Math.max(0, seconds))
}

/** Whole seconds, rounded up: a host that is called too early refuses again. */
const whole = (seconds: number): number => Math.min(Math.ceil(seconds), Number.MAX_SAFE_INTEGER)
