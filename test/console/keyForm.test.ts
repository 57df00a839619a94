/** What the form of a key comes to, in the browser and in the body of the API. */
import { describe, expect, test } from "bun:test"
import { bodyOf, changesBetween, emptyForm, errorsOf, formOf } from "../../console/lib/keyForm.ts"
import { listOf } from "../../console/lib/lists.ts"

const now = new Date("2026-11-26T00:00:00Z")

describe("what was typed", () => {
  test("an empty form lacks a name, and nothing else", () => {
    expect(errorsOf(emptyForm, now)).toEqual({ name: "Give it a name: it stands in lists and in the log." })
  })

  test.each([
    [{ limit: "-1" }, "limit"],
    [{ limit: "12,50" }, "limit"],
    [{ limit: "1e3" }, "limit"],
    [{ reset: "monthly" as const }, "reset"],
    [{ requests: "0" }, "requests"],
    [{ requests: "1.5" }, "requests"],
    [{ requests: "10", seconds: "" }, "seconds"],
    [{ expires: "2020-01-01T00:00" }, "expires"],
    [{ tags: Array.from({ length: 17 }, (_, at) => `t${at}`).join(",") }, "tags"],
    [{ tags: "x".repeat(65) }, "tags"],
  ])("%p is told before it is sent", (typed, field) => {
    expect(Object.keys(errorsOf({ ...emptyForm, name: "ci", ...typed }, now))).toEqual([field])
  })

  test.each(["", "0", "12.50", "100"])("a limit of %p is none of these", (limit) => {
    expect(errorsOf({ ...emptyForm, name: "ci", limit }, now)).toEqual({})
  })

  test("lists are lines or commas, and blanks are no entries", () => {
    expect(listOf(" openai/* , anthropic/*\n\n google/gemini ")).toEqual(["openai/*", "anthropic/*", "google/gemini"])
  })
})

describe("the body", () => {
  test("of an empty form has no limits: null, and not an empty list, which would allow nothing", () => {
    expect(bodyOf({ ...emptyForm, name: " ci " })).toEqual({
      name: "ci",
      limit: null,
      limit_reset: null,
      rate_limit: null,
      allowed_models: null,
      allowed_providers: null,
      allowed_addresses: null,
      tags: [],
      owner: null,
      expires_at: null,
    })
  })

  const key = {
    name: "ci",
    limit_reset: "monthly" as const,
    rate_limit: { requests: 600, interval_s: 60 },
    allowed_models: ["openai/*"],
    allowed_providers: null,
    allowed_addresses: ["10.0.0.0/8"],
    expires_at: "2027-01-31T00:00:00.000Z",
    tags: ["a", "b"],
    owner: "Ann",
    exact: { limit: "12.5" },
  }

  test("of a key that was only looked at changes nothing", () => {
    expect(changesBetween(bodyOf(formOf(key)), bodyOf(formOf(key)))).toEqual({})
  })

  test("of a changed key has what was changed", () => {
    const form = { ...formOf(key), limit: "", reset: "" as const, models: "" }
    expect(changesBetween(bodyOf(formOf(key)), bodyOf(form))).toEqual({
      limit: null,
      limit_reset: null,
      allowed_models: null,
    })
  })
})
