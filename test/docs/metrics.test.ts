/** docs/reference/metrics.md lists what there is: every family with its type, labels, unit and meaning, and an example that asks for it. */
import { expect, test } from "bun:test"
import { readFileSync } from "node:fs"
import { waivers } from "../../src/domain/money/Charge.ts"
import { formRoutes } from "../../src/domain/request/forms.ts"
import { allFamilies } from "../../src/services/metrics/families.ts"
import { mostPairs } from "../../src/services/metrics/Pairs.ts"

const page = readFileSync(new URL("../../docs/reference/metrics.md", import.meta.url), "utf8")

const rows = page
  .split("\n")
  .filter((line) => /^\| `(headgate|process)_/.test(line))
  .map((line) => line.split("|").map((cell) => cell.trim().replaceAll("`", "")))
  .map(([, name = "", type, labels = "", unit, help, example]) => ({ name, type, labels, unit, help, example }))

/** The unit that a name says. */
const unitOf = (name: string): string => {
  const unit = /seconds|bytes|usd|tokens|rows/.exec(name)?.[0] ?? ""
  return unit === "usd" ? "USD" : unit
}

test("the page lists every family as it is, in the order in which they are told", () => {
  expect(rows.map(({ example: _, ...row }) => row)).toEqual(
    allFamilies.map(({ name, type, labels, help }) => ({
      ...{ name, type, help, labels: labels.join(", "), unit: /tokens?_seconds/.test(name) ? "seconds" : unitOf(name) },
    })),
  )
})

test("every example asks for the family of its row", () => {
  for (const { name, example } of rows) expect([name, example?.includes(name)]).toEqual([name, true])
})

test("the page lists the values of labels", () => {
  for (const value of [...formRoutes.keys(), ...waivers]) expect(page).toContain(`\`${value}\``)
  expect(page).toContain(`At most ${mostPairs.toLocaleString("en")} pairs`)
})
