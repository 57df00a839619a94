/** Figures as text, and those of several processes as one. */
import { expect, test } from "bun:test"
import { contentTypes, expositionOf, expositionParts, formFor } from "../../../src/services/metrics/exposition.ts"
import { counterOf, family, type Snapshot } from "../../../src/services/metrics/Family.ts"
import { allFamilies } from "../../../src/services/metrics/families.ts"
import { countedIn, merged, snapshotOf } from "../../../src/services/metrics/snapshot.ts"

const requests = family("counter", "x_requests_total", ["model"], 'Asked for "a\\b".')
const cost = family("counter", "x_cost_usd_total", [], "Paid.", { isMoney: true })
const up = family("gauge", "x_up", [], "Up.", { merge: "min" })
const seconds = family("histogram", "x_seconds", [], "Took.", { buckets: [0.5, 1] })

const snapshot = (count: number, picodollars: bigint, isUp: number): Snapshot => [
  { family: requests, series: [{ labels: ['m"\n\\'], value: count }] },
  { family: cost, series: [{ labels: [], value: picodollars.toString() }] },
  { family: up, series: [{ labels: [], value: isUp }] },
  { family: seconds, series: [{ labels: [], value: { counts: [1, 0, 2], sum: 5.5 } }] },
]

const lines = (form: "prometheus" | "openmetrics") => expositionOf(snapshot(3, 12_750_000n, 1), form).split("\n")

test("the text of Prometheus: escaped, cumulative, money as decimals", () => {
  expect(lines("prometheus")).toEqual([
    '# HELP x_requests_total Asked for "a\\\\b".',
    "# TYPE x_requests_total counter",
    'x_requests_total{model="m\\"\\n\\\\"} 3',
    "# HELP x_cost_usd_total Paid.",
    "# TYPE x_cost_usd_total counter",
    "x_cost_usd_total 0.00001275",
    "# HELP x_up Up.",
    "# TYPE x_up gauge",
    "x_up 1",
    "# HELP x_seconds Took.",
    "# TYPE x_seconds histogram",
    'x_seconds_bucket{le="0.5"} 1',
    'x_seconds_bucket{le="1.0"} 1',
    'x_seconds_bucket{le="+Inf"} 3',
    "x_seconds_sum 5.5",
    "x_seconds_count 3",
    "",
  ])
})

test("OpenMetrics announces counters without their ending, escapes quotes, and ends with a mark", () => {
  const text = lines("openmetrics")
  expect(text.slice(0, 3)).toEqual([
    '# HELP x_requests Asked for \\"a\\\\b\\".',
    "# TYPE x_requests counter",
    'x_requests_total{model="m\\"\\n\\\\"} 3',
  ])
  expect(text.slice(-2)).toEqual(["# EOF", ""])
})

test("a family without series is left out", () => {
  expect(expositionOf([{ family: requests, series: [] }], "prometheus")).toBe("")
})

test("of several processes counters and histograms add up, money without rounding; other gauges are the least or the greatest", () => {
  const large = 9_007_199_254_740_993n
  const [counted, paid, least, took] = merged([snapshot(3, large, 1), snapshot(4, 2n, 0)])
  expect(counted?.series[0]?.value).toBe(7)
  expect(paid?.series[0]?.value).toBe("9007199254740995")
  expect(least?.series[0]?.value).toBe(0)
  expect(took?.series[0]?.value).toEqual({ counts: [2, 0, 4], sum: 11 })
  expect(countedIn(snapshot(3, 1n, 1)).map(({ family: { name } }) => name)).not.toContain("x_up")
  // As it comes from another process.
  expect(merged([JSON.parse(JSON.stringify(snapshot(3, large, 1))), []])).toEqual(snapshot(3, large, 1))
})

test("what a collector throws is told, and the others are asked", () => {
  const thrown: Array<unknown> = []
  const broken = {
    collect: () => {
      throw new Error("a collector of the test")
    },
  }
  const dropped = counterOf("x_dropped_total", "Dropped.", () => 5)
  const [figures] = snapshotOf([broken, dropped], (one) => thrown.push(one))
  expect([figures?.series, thrown.length]).toEqual([[{ labels: [], value: 5 }], 1])
})

test.each([
  [null, "prometheus"],
  ["*/*", "prometheus"],
  ["application/openmetrics-text; version=1.0.0, text/plain;q=0.5", "openmetrics"],
  ["application/openmetrics-text;q=0.3,text/plain;q=0.7", "prometheus"],
] as const)("a reader that accepts %p gets %s", (accept, form) => {
  expect(formFor(accept)).toBe(form)
  expect(contentTypes[form]).toContain("version=")
})

test("the text of a thousand hosts held the event loop for 90 ms in one piece: it is made in small parts", () => {
  const series = Array.from({ length: 1000 }, (_, at) => ({ labels: [`m${at}`], value: at }))
  const parts = [...expositionParts([{ family: requests, series }], "openmetrics")]
  expect(Math.max(...parts.map((part) => part.split("\n").length))).toBeLessThan(100)
  const text = parts.join("")
  expect(text).toBe(expositionOf([{ family: requests, series }], "openmetrics"))
  expect(text.split("\n")).toHaveLength(2 + 1000 + 1 + 1)
})

test("names have a unit, counters their ending, and no label names a key", () => {
  for (const { name, type, labels, buckets } of allFamilies) {
    expect([name, name.endsWith("_total")]).toEqual([name, type === "counter"])
    expect([name, buckets.length > 0]).toEqual([name, type === "histogram"])
    expect([name, buckets.toSorted((one, next) => one - next)]).toEqual([name, [...buckets]])
    if (name !== "headgate_key_budget_left_usd") expect(labels).not.toContain("key")
  }
  expect(new Set(allFamilies.map(({ name }) => name)).size).toBe(allFamilies.length)
})
