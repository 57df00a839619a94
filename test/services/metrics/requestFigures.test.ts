/** Series of requests: bounded, whatever callers and hosts are called. */
import { expect, test } from "bun:test"
import type { Host } from "../../../src/domain/hosts/Host.ts"
import type { Series, Snapshot } from "../../../src/services/metrics/Family.ts"
import { Pairs } from "../../../src/services/metrics/Pairs.ts"
import { RequestFigures } from "../../../src/services/metrics/RequestFigures.ts"
import { snapshotOf } from "../../../src/services/metrics/snapshot.ts"
import type { ObservedAttempt } from "../../../src/services/request/Observation.ts"
import { sampleAttempt, sampleEnd } from "../../support/gateways/observed.ts"

/** A call of a host; of the host, nothing but its names is read. */
const attemptAt = (model: string, tag: string, more: Partial<ObservedAttempt> = {}): ObservedAttempt =>
  sampleAttempt({ model, tag } as Host, more)

const figuresWith = (pairs: Pairs, known: ReadonlySet<string> = new Set()) => {
  const figures = new RequestFigures(pairs, (name) => (known.has(name) ? name : undefined))
  const snapshot = (): Snapshot =>
    snapshotOf([{ collect: (scrape) => figures.collect(scrape) }], (thrown) => {
      throw thrown
    })
  const seriesOf = (name: string): ReadonlyArray<Series> =>
    snapshot().find(({ family }) => family.name === name)?.series ?? []
  return { figures, snapshot, seriesOf }
}

const size = (snapshot: Snapshot): number => snapshot.reduce((sum, { series }) => sum + series.length, 0)

test("ten thousand unknown models are one series", () => {
  const { figures, snapshot, seriesOf } = figuresWith(new Pairs())
  const unknown = (at: number) =>
    sampleEnd({ model: `nobody/has-${at}`, outcome: "caller_model_not_found", status: 400 })
  figures.observe(unknown(0))
  const before = size(snapshot())
  for (let at = 1; at < 10_000; at++) figures.observe(unknown(at))
  expect(size(snapshot())).toBe(before)
  expect(seriesOf("headgate_requests_total")).toEqual([
    { labels: ["chat", "_OTHER", "caller_model_not_found"], value: 10_000 },
  ])
})

test("beyond the bound pairs are one; those that had traffic before keep their series", () => {
  const { figures, seriesOf } = figuresWith(new Pairs(3))
  const at = (model: string) => sampleEnd({ model, attempts: [attemptAt(model, "host")] })
  for (const model of ["a", "b", "c", "d", "e", "a"]) figures.observe(at(model))
  const counted = seriesOf("headgate_attempts_total").map(({ labels, value }) => [...labels.slice(0, 2), value])
  expect(counted).toEqual([
    ["a", "host", 2],
    ["b", "host", 1],
    ["c", "host", 1],
    ["_OTHER", "_OTHER", 2],
  ])
})

test("refusals of configured models count with the model, and take no place of a pair", () => {
  const pairs = new Pairs(2)
  const { figures, seriesOf } = figuresWith(pairs, new Set(["a", "b"]))
  figures.observe(sampleEnd({ model: "a", outcome: "policy_budget_used_up", status: 402 }))
  figures.observe(sampleEnd({ model: "b", attempts: [attemptAt("b", "one"), attemptAt("b", "two")] }))
  expect(seriesOf("headgate_requests_total").map(({ labels }) => labels[1])).toEqual(["a", "b"])
  expect(seriesOf("headgate_attempts_total").map(({ labels }) => labels[1])).toEqual(["one", "two"])
})

test("of several calls one is a fallback that began after a failure, and one a hedge that began beside another", () => {
  const { figures, seriesOf } = figuresWith(new Pairs())
  const failed = attemptAt("m", "a", { outcome: "failed", began: 2, ended: 4 })
  figures.observe(sampleEnd({ model: "m", attempts: [failed, attemptAt("m", "b", { began: 4 })] }))
  const lost = attemptAt("m", "a", { outcome: "lost", began: 2, ended: 9 })
  figures.observe(sampleEnd({ model: "m", attempts: [attemptAt("m", "c", { began: 5, ended: 8 }), lost] }))
  expect(seriesOf("headgate_fallbacks_total")).toEqual([{ labels: ["m", "b"], value: 1 }])
  expect(seriesOf("headgate_hedges_total")).toEqual([{ labels: ["m", "c"], value: 1 }])
})

test("the gateway's own time is all but the time of the host", () => {
  const { figures, seriesOf } = figuresWith(new Pairs())
  // Received at 0, called at 2, answered at 7, first byte at 9: 4 of 9 ms are the gateway's.
  figures.observe(sampleEnd({ model: "m", attempts: [attemptAt("m", "a")] }))
  expect(seriesOf("headgate_overhead_seconds")[0]?.value).toMatchObject({ sum: 0.004 })
})

test("the time of an answer is that of its host's call, and counts where it was finished", () => {
  const { figures, seriesOf } = figuresWith(new Pairs())
  const failed = attemptAt("a", "first", { outcome: "failed", began: 0, ended: 900 })
  figures.observe(sampleEnd({ attempts: [failed, attemptAt("a", "second", { began: 1000, ended: 1250 })] }))
  figures.observe(
    sampleEnd({ attempts: [attemptAt("a", "second", { outcome: "host-failed", began: 0, ended: 5000 })] }),
  )
  expect(seriesOf("headgate_answer_duration_seconds")).toMatchObject([
    { labels: ["a", "second"], value: { sum: 0.25 } },
  ])
})
