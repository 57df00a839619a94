/** The table of the fields of a key, and the order of its members in answers. */
import { describe, expect, test } from "bun:test"
import { inOrder } from "../../../src/domain/json/inOrder.ts"
import { factsOf, isChangeable, isHidden, isSettable, keyMembers, unlimitedKey } from "../../../src/domain/keys/key.ts"

describe("the fields of a key", () => {
  test("have names, columns, flags and titles of their own", () => {
    const rows = keyMembers.map(factsOf)
    const all = [
      rows.map(({ wire }) => wire),
      rows.map(({ wire, column = wire }) => column),
      rows.flatMap(({ flag }) => (flag === undefined ? [] : [flag.name])),
      rows.flatMap(({ title }) => (title === undefined ? [] : [title])),
      rows.flatMap(({ heading }) => (heading === undefined ? [] : [heading])),
    ]
    for (const names of all) expect(names).toEqual([...new Set(names)])
  })

  test("but the id have a value without which a key can be made", () => {
    expect(["id", ...Object.keys(unlimitedKey)]).toEqual([...keyMembers])
  })

  test("that a request may set are answered", () => {
    expect(keyMembers.filter((member) => isHidden(member) && (isSettable(member) || isChangeable(member)))).toEqual([])
  })

  test("with a flag can be set, and say what is expected where its text is read", () => {
    for (const member of keyMembers) {
      const { flag } = factsOf(member)
      if (flag === undefined) continue
      expect([member, isSettable(member) || isChangeable(member)]).toEqual([member, true])
      expect([member, flag.read === undefined]).toEqual([member, flag.refusal === undefined])
    }
  })
})

describe("members in another order", () => {
  const record = { a: 1, b: 2, c: 3, d: 4 }
  const names = (after: Parameters<typeof inOrder<typeof record>>[1]) => Object.keys(inOrder(record, after)).join("")

  test("stand where they are named, with those that follow them", () => {
    expect(names({})).toBe("abcd")
    expect(names({ a: ["d", "c"] })).toBe("adcb")
    expect(names({ b: ["d"], d: ["a"] })).toBe("bdac")
  })

  test("are the same", () => {
    expect(inOrder(record, { c: ["a", "b"] })).toEqual(record)
  })
})
