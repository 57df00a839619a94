/** The list of seeded defects is up to date: `bun scripts/mutants.ts` seeds them. */
import { describe, expect, test } from "bun:test"
import { existsSync, readFileSync } from "node:fs"
import { join, resolve } from "node:path"
import { mutants } from "./list.ts"

const root = resolve(import.meta.dir, "../..")

describe.each(mutants.map((mutant) => [mutant.name, mutant] as const))("%s", (_, { file, from, to, tests }) => {
  test("is an edit of what the source says, once", () => {
    expect(readFileSync(join(root, file), "utf8").split(from)).toHaveLength(2)
    expect(to).not.toBe(from)
  })

  test("names tests that are there", () => {
    expect(tests.filter((path) => !existsSync(join(root, path)))).toEqual([])
    expect(tests).not.toEqual([])
  })
})

test("no defect is listed twice", () => {
  expect(new Set(mutants.map(({ name }) => name)).size).toBe(mutants.length)
})
