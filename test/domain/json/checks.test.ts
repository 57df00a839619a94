/** Checks against the JSON Schemas that they have: what the one accepts the other accepts. */
import { describe, expect, test } from "bun:test"
import Ajv2020 from "ajv/dist/2020"
import {
  anyInteger,
  anyObject,
  anything,
  byType,
  type Check,
  checkOf,
  choiceSchema,
  described,
  emptyList,
  exactly,
  filledText,
  flag,
  hasMember,
  type Issues,
  integer,
  listOf,
  matching,
  notNegative,
  numberWithin,
  objectOf,
  objectOr,
  oneOf,
  onlyFalse,
  orNull,
  refined,
  refused,
  report,
  shortText,
  text,
  textOrList,
  titled,
} from "../../../src/domain/json/checks.ts"
import { isJsonObject } from "../../../src/domain/json/json.ts"

const ajv = new Ajv2020({ strict: false })

const issuesOf = (check: Check, value: unknown): Issues => {
  const issues: Issues = []
  check(value, "at", issues)
  return issues
}

const kinds = new Map([
  ["a", objectOf({ size: integer(0, 5) }, "size")],
  ["b", anything],
])
const pair = objectOf({ first: text, last: text }, "first")

const checks: Readonly<Record<string, Check>> = {
  anything,
  text,
  filledText,
  flag,
  anyObject,
  anyInteger,
  notNegative,
  shortText: shortText(3),
  matching: matching(/^a.$/, "must be a and one more"),
  integer: integer(1, 3),
  numberWithin: numberWithin(-0.5, 2),
  oneOf: oneOf("a", "ab"),
  "one word": oneOf("a"),
  exactly: exactly(1, "must be 1"),
  onlyFalse: onlyFalse("must be false: there is none"),
  refused: refused("is not known"),
  emptyList: emptyList("is not known"),
  orNull: orNull(text),
  "orNull twice": orNull(orNull(described("A text.", text))),
  "orNull of what has a title": orNull(titled("Text", described("A text.", text))),
  listOf: listOf(integer(0, 5), 2, 1),
  objectOf: pair,
  refined: refined(pair, { anyOf: [hasMember("last")] }, (value, path, issues) => {
    if (isJsonObject(value) && value["last"] == null) report(issues, path, "needs a last")
  }),
  textOrList: textOrList(listOf(text), "must be a string or a list"),
  objectOr: objectOr(pair, flag),
  byType: byType(kinds),
  "byType with others": byType(
    kinds,
    checkOf({ properties: { type: { not: { const: "c" } } } }, (value, path, issues) => {
      if (isJsonObject(value) && value["type"] === "c") report(issues, path, "is c")
    }),
  ),
  choiceSchema: checkOf({ anyOf: choiceSchema("size", new Map([["a", anything]])) }, (value, path, issues) => {
    if (!isJsonObject(value) || value["size"] !== "a") report(issues, path, "has another size")
  }),
}

const values: ReadonlyArray<unknown> = [
  ...[null, true, false, 0, 1, 2, 3, 4, -1, 0.5, -0.5, 1e300, "", "a", "ab", "abc", "abcd"],
  ...[[], [1], [1, 2], [1, 2, 3], [9], [""], [null], ["a"], {}, { first: "x" }, { first: null }, { last: "x" }],
  ...[{ first: "x", last: null }, { first: "x", last: "y", more: 1 }, { first: 1 }, { first: "x", last: 1 }],
  ...[{ type: "a" }, { type: "a", size: 1 }, { type: "a", size: 9 }, { type: "b" }, { type: "c" }, { type: "d" }],
  ...[{ type: null }, { type: 5 }, { size: "a" }, { size: "b" }],
]

test.each(Object.entries(checks))("%s agrees with its schema", (_, check) => {
  const fits = ajv.compile(check.schema)
  const accepted = values.filter((value) => issuesOf(check, value).length === 0)
  expect(values.filter((value) => fits(value))).toEqual(accepted)
  expect(accepted.length).toBeGreaterThan(0)
})

describe("a description", () => {
  test("leaves the check that it is given as it was", () => {
    const before = { ...text.schema }
    const check = described("A name.", text)
    expect(check.schema).toEqual({ type: "string", description: "A name." })
    expect(text.schema).toEqual(before)
    expect(issuesOf(check, 5)).toEqual(issuesOf(text, 5))
  })

  test("of what is described elsewhere stands beside it", () => {
    const named = titled("Name", described("What people call it.", text))
    expect(described("The first one.", named).schema).toEqual({
      allOf: [{ title: "Name", type: "string", description: "What people call it." }],
      description: "The first one.",
    })
  })

  test("stays on a member that may be null", () => {
    expect(objectOf({ name: described("A name.", text) }).schema).toEqual({
      type: "object",
      properties: { name: { anyOf: [{ type: "string" }, { type: "null" }], description: "A name." } },
    })
  })

  test("of what is refused is what its caller is told", () => {
    expect(refused("is not known").schema["description"]).toBe("Refused: is not known.")
    expect(exactly(1, "must be 1").schema["description"]).toBe("Must be 1.")
  })
})
