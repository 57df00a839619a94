/**
 * The table of `docs/billing.md`: what callers who leave are charged of what the host bills. After a change that is meant,
 * `HEADGATE_WRITE_DOCS=1 bun test test/docs/billing.test.ts` writes it into the page.
 */
import { beforeAll, describe, expect, test } from "bun:test"
import { readFileSync, writeFileSync } from "node:fs"
import { join } from "node:path"
import { type Billed, type Course, type Leaving, leavers } from "../support/clients/leavers.ts"

const path = join(import.meta.dir, "../../docs/billing.md")
const table = /<!-- table -->\n[\s\S]*<!-- \/table -->/

const courses: Readonly<Record<string, Course>> = {
  "usage at the end": { reports: true, hidden: 0 },
  "usage never": { reports: false, hidden: 0 },
  "hidden reasoning, usage at the end": { reports: true, hidden: 2000 },
  "hidden reasoning, usage never": { reports: false, hidden: 2000 },
}
const moments = ["first word", "middle", "last word", "never"] as const

const billed = new Map<string, ReadonlyMap<Leaving, Billed>>()
beforeAll(async () => {
  for (const [name, course] of Object.entries(courses)) billed.set(name, await leavers(course))
}, 1_800_000)

/** Percent. */
const share = (name: string, leaving: Leaving): number => {
  const { charged, true: bill } = billed.get(name)?.get(leaving) ?? { charged: 0n, true: 1n }
  return Math.round(Number((charged * 1000n) / bill) / 10)
}

test("the table has what is charged", () => {
  const head = "| the host | left at the first word | in the middle | at the last word | read to the end |"
  const rows = Object.keys(courses).map(
    (name) => `| ${name} | ${moments.map((leaving) => `${share(name, leaving)} %`).join(" | ")} |`,
  )
  const written = `<!-- table -->\n${[head, "| --- | --- | --- | --- | --- |", ...rows].join("\n")}\n<!-- /table -->`
  const page = readFileSync(path, "utf8")
  if (process.env["HEADGATE_WRITE_DOCS"] === "1") writeFileSync(path, page.replace(table, written))
  else expect(table.exec(page)?.[0]).toBe(written)
})

describe("of what the host bills is charged", () => {
  test.each(["usage at the end", "hidden reasoning, usage at the end"])(
    "%s: all of it at the last word, which is at least 95 %",
    (name) => {
      expect(share(name, "last word")).toBe(100)
      expect(share(name, "never")).toBe(100)
    },
  )

  test.each(Object.keys(courses))("%s: never more than a tenth too much", (name) => {
    for (const leaving of moments) expect(share(name, leaving)).toBeLessThanOrEqual(110)
  })

  test.each(["usage at the end", "usage never", "hidden reasoning, usage at the end"])(
    "%s: at least 90 %, whenever the caller leaves",
    (name) => {
      for (const leaving of moments) expect(share(name, leaving)).toBeGreaterThanOrEqual(90)
    },
  )

  test("hidden reasoning, usage never: at least 65 %, whenever the caller leaves", () => {
    for (const leaving of moments) expect(share("hidden reasoning, usage never", leaving)).toBeGreaterThanOrEqual(65)
  })
})
