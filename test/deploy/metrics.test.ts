/** The dashboard and the alerts of `deploy/`: they name what there is, and a real Prometheus answers every query. */
import { afterAll, expect, test } from "bun:test"
import { join } from "node:path"
import { allFamilies } from "../../src/services/metrics/families.ts"
import { until } from "../support/clocks/until.ts"
import { openMetricsScene } from "../support/gateways/metricsScene.ts"
import { root } from "./dockerfile.ts"
import { textOf } from "./facts.ts"
import { hasPrometheus, promtool, startPrometheus } from "./prometheus.ts"

if (!hasPrometheus) console.warn("2 tests are skipped, since prometheus is not installed: apt-get install prometheus")

const closing: Array<() => unknown> = []
afterAll(async () => {
  for (const close of closing.toReversed()) await close()
})

interface Dashboard {
  readonly panels: ReadonlyArray<{
    readonly title: string
    readonly targets?: ReadonlyArray<{ readonly expr: string }>
  }>
}

const dashboard = JSON.parse(textOf("deploy/grafana/headgate.json")) as Dashboard
const queries = dashboard.panels.flatMap(({ title, targets = [] }) => targets.map(({ expr }) => [title, expr] as const))
const alerts = Bun.YAML.parse(textOf("deploy/prometheus/alerts.yml")) as {
  readonly groups: ReadonlyArray<{ readonly rules: ReadonlyArray<{ readonly alert: string; readonly expr: string }> }>
}
const rules = alerts.groups.flatMap(({ rules: all }) => all.map(({ alert, expr }) => [alert, expr] as const))

/** Of the reference of metrics. */
const examples = Array.from(
  textOf("docs/reference/metrics.md").matchAll(/^\| `(?:headgate|process)_.*\| `([^`]+)` \|$/gm),
  ([, one = ""]) => one,
)

/** Names of samples, with the labels that they have. */
const samples = new Map(
  allFamilies.flatMap(
    ({ name, type, labels }): ReadonlyArray<readonly [string, ReadonlyArray<string>]> =>
      type === "histogram"
        ? [
            [`${name}_bucket`, [...labels, "le"]],
            [`${name}_sum`, labels],
            [`${name}_count`, labels],
          ]
        : [[name, labels]],
  ),
)

test.each([...queries, ...rules])("%s asks for samples and labels that there are: %s", (_, expression) => {
  const named = expression.match(/\b(?:headgate|process)_\w+/g) ?? []
  if (!expression.startsWith("up{")) expect(named.length).toBeGreaterThan(0)
  const labels = new Set(["instance", "job"])
  for (const name of named) {
    expect([name, samples.has(name)]).toEqual([name, true])
    for (const label of samples.get(name) ?? []) labels.add(label)
  }
  const asked = Array.from(expression.matchAll(/by \(([^)]*)\)|(\w+)=~?"/g), ([, by, label]) => by ?? label ?? "")
  for (const label of asked.flatMap((list) => list.split(",").map((one) => one.trim()))) {
    expect([label, labels.has(label)]).toEqual([label, true])
  }
})

test("the reference of metrics has an example for every family", () => {
  expect(examples.length).toBe(allFamilies.length)
})

test("every family is on the dashboard, but for those that need a choice or another client", () => {
  const shown = queries.map(([, expression]) => expression).join(" ")
  const missing = allFamilies.map(({ name }) => name).filter((name) => !shown.includes(name))
  expect(missing).toEqual([
    "headgate_cache_write_tokens_total",
    "headgate_key_budget_left_usd",
    "headgate_trace_spans_exported_total",
    "headgate_trace_spans_dropped_total",
  ])
})

test.skipIf(!hasPrometheus)("promtool finds no fault with the rules", async () => {
  const { code, said } = await promtool(["check", "rules", join(root, "deploy/prometheus/alerts.yml")])
  expect([code, said]).toEqual([0, expect.stringContaining(`${rules.length} rules found`)])
})

test.skipIf(!hasPrometheus)(
  "promtool finds no fault with the figures, and every query of the dashboard returns some",
  async () => {
    const scene = await openMetricsScene()
    closing.push(scene.stop)
    await scene.traffic()
    // Of the control plane.
    await scene.call("/key")
    const { code, said } = await promtool(["check", "metrics"], await (await scene.metrics()).text())
    expect([code, said]).toEqual([0, ""])

    const prometheus = await startPrometheus(new URL(scene.url).host, scene.managementKey)
    closing.push(prometheus.stop)
    const seen = async () => (await prometheus.query("sum(headgate_requests_total)"))[0] ?? 0
    await until(async () => (await seen()) > 0, "a scrape")
    // A rate is known of what has grown since.
    const before = await seen()
    await scene.traffic()
    await scene.call("/key")
    await until(async () => (await seen()) >= 2 * before, "another scrape")
    for (const [title, expression] of queries) {
      const figures = await prometheus.query(expression.replaceAll("$__rate_interval", "1m"))
      expect([title, expression, figures.some((figure) => Number.isFinite(figure))]).toEqual([title, expression, true])
    }
    for (const expression of [...rules.map(([, expr]) => expr), ...examples]) await prometheus.query(expression)
  },
  1_800_000,
)
