/** What `cheapest-warm` saves on simulated days of conversations, and that the page says what the simulation says. */
import { describe, expect, test } from "bun:test"
import { readFileSync } from "node:fs"
import { type Row, rows, table } from "../../../test/support/gateways/savings.ts"

const all = await rows()
const page = readFileSync(new URL("../../../docs/strategies.md", import.meta.url), "utf8")

test("the tables of the page are those that `bun bench/conversations.ts` prints", () => {
  expect(page).toContain(table(all))
})

describe("cheapest-warm", () => {
  const cost = ({ spent }: Row) => ({
    balanced: spent.balanced.usd,
    price: spent.price.usd,
    warm: spent.warm.usd,
  })

  test.each(all.map((row) => [`${row.market}: ${row.workload}`, row] as const))(
    "costs less than balanced, and at most 1 %% more than price: %s",
    (_name, row) => {
      const { balanced, price, warm } = cost(row)
      expect(warm).toBeLessThan(balanced)
      expect(warm).toBeLessThan(price * 1.01)
    },
  )

  test("saves on the sum of all workloads", () => {
    const total = (of: (row: Row) => number) => all.reduce((sum, row) => sum + of(row), 0)
    const warm = total((row) => cost(row).warm)
    expect(warm).toBeLessThan(0.8 * total((row) => cost(row).balanced))
    expect(warm).toBeLessThan(0.65 * total((row) => cost(row).price))
  })
})
