/** Figures of several workers are one sum, which never steps back. docs/metrics.md#workers */
import { afterAll, expect, test } from "bun:test"
import * as Effect from "effect/Effect"
import { type AskedWorker, type FiguresMessage, FleetFigures } from "../../../src/app/workers/figures.ts"
import { keyId } from "../../../src/domain/keys/keySecret.ts"
import { formatUsd } from "../../../src/domain/price/money.ts"
import { family, type Snapshot } from "../../../src/services/metrics/Family.ts"
import { openDatabase } from "../../../src/sql/postgres/postgresDatabase.ts"
import { until } from "../../support/clocks/until.ts"
import { samplesOf } from "../../support/gateways/metricsScene.ts"
import { firstKey, install } from "../../support/gateways/process.ts"
import { configFor, scriptedHost, wholeAnswer } from "../../support/hosts/host.ts"
import { describePostgres, makeDatabase, redactedUrlOf, urlOf } from "../../support/storage/postgres.ts"

const closing: Array<() => unknown> = []
afterAll(async () => {
  for (const close of closing.toReversed()) await close()
})

const counter = family("counter", "x_total", [], "Counted.")
const gauge = family("gauge", "x", [], "Now.")
const figures = (count: number): Snapshot => [
  { family: counter, series: [{ labels: [], value: count }] },
  { family: gauge, series: [{ labels: [], value: count }] },
]

/** A worker that keeps what it is told. */
const worker = (canRead = true) => {
  const told: Array<FiguresMessage> = []
  const asked: AskedWorker = {
    tell: (message) => {
      if (canRead) told.push(message)
      return canRead
    },
  }
  return { ...asked, told }
}

test("the supervisor asks the other workers, and answers with the sum", () => {
  const fleet = new FleetFigures()
  const [one, two, starting] = [worker(), worker(), worker(false)]
  const all = [one, two, starting]
  fleet.received(one, { figures: "ask-all", round: 7, snapshot: figures(1) }, all)
  expect(two.told).toEqual([{ figures: "ask-own", round: 1 }])
  expect(one.told).toEqual([])
  fleet.received(two, { figures: "own", round: 1, snapshot: figures(20) }, all)
  expect(one.told).toEqual([{ figures: "all", round: 7, snapshot: figures(21) }])
})

test("a worker that ends leaves what it has counted, and nobody waits for it", () => {
  const fleet = new FleetFigures()
  const [one, two] = [worker(), worker()]
  fleet.received(two, { figures: "own", round: 0, snapshot: figures(20) }, [one, two])
  fleet.received(one, { figures: "ask-all", round: 1, snapshot: figures(1) }, [one, two])
  fleet.workerEnded(two)
  const [answer] = one.told
  expect(answer).toMatchObject({ figures: "all", snapshot: [{ series: [{ value: 21 }] }, { series: [{ value: 1 }] }] })
})

test("a message that comes after the end of its worker would be counted twice ever after: it takes the place of the one before", () => {
  const fleet = new FleetFigures()
  const [one, two] = [worker(), worker()]
  fleet.received(two, { figures: "own", round: 0, snapshot: figures(20) }, [one, two])
  fleet.workerEnded(two)
  fleet.received(two, { figures: "own", round: 0, snapshot: figures(23) }, [one])
  fleet.received(one, { figures: "ask-all", round: 1, snapshot: figures(1) }, [one])
  expect(one.told[0]).toMatchObject({ snapshot: [{ series: [{ value: 24 }] }, { series: [{ value: 1 }] }] })
  for (let ended = 0; ended < 200; ended++) {
    const next = worker()
    fleet.received(next, { figures: "own", round: 0, snapshot: figures(1) }, [one, next])
    fleet.workerEnded(next)
  }
  fleet.received(one, { figures: "ask-all", round: 2, snapshot: figures(1) }, [one])
  expect(one.told[1]).toMatchObject({ snapshot: [{ series: [{ value: 224 }] }, { series: [{ value: 1 }] }] })
})

test("a worker that does not answer counts as it last did", async () => {
  const fleet = new FleetFigures()
  const [one, stuck] = [worker(), worker()]
  fleet.received(stuck, { figures: "own", round: 0, snapshot: figures(5) }, [one, stuck])
  fleet.received(one, { figures: "ask-all", round: 1, snapshot: figures(1) }, [one, stuck])
  await until(() => one.told.length === 1, "the sum")
  expect(one.told[0]).toEqual({ figures: "all", round: 1, snapshot: figures(6) })
})

describePostgres("three workers", () => {
  test("any worker answers for all; one that is killed takes nothing with it", async () => {
    const host = scriptedHost(() => wholeAnswer("fine"))
    closing.push(host.stop)
    const installation = install()
    closing.push(installation.remove)
    const database = await makeDatabase()
    const token = "a-token-that-reads-figures"
    const gateway = installation.start({
      config: configFor(
        { a: { url: host.url, prompt: "0.000000123457" } },
        { discovery: { environment: false, local: false }, server: { workers: 3 } },
      ),
      env: { HEADGATE_STORAGE: urlOf(database), HEADGATE_METRICS_TOKEN: token },
    })
    const url = await gateway.url()
    const pids = () =>
      Array.from(gateway.err().matchAll(/"worker \d+ serves" .*?\bpid=(\d+)/g), ([, pid]) => Number(pid))
    await until(() => pids().length === 3, "three workers", 300_000)
    await until(() => gateway.out().includes("curl "), "the keys", 300_000)
    const key = firstKey(gateway.out())
    // Each on a connection of its own, so that the kernel spreads them over the workers.
    const ask = () =>
      fetch(`${url}/chat/completions`, {
        method: "POST",
        headers: { authorization: `Bearer ${key}`, "content-type": "application/json", connection: "close" },
        body: JSON.stringify({ model: "acme/small", messages: [{ role: "user", content: "hi" }] }),
      }).then((response) => response.text())
    const scrape = async () => {
      const headers = { authorization: `Bearer ${token}`, connection: "close" }
      const response = await fetch(new URL("/metrics", url), { headers })
      expect(response.status).toBe(200)
      return samplesOf(await response.text())
    }
    const answered = 'headgate_requests_total{form="chat",model="acme/small",outcome="ok"}'
    await Promise.all(Array.from({ length: 24 }, ask))
    for (let round = 0; round < 4; round++) expect((await scrape()).get(answered)).toBe("24")
    expect((await scrape()).get("headgate_processes")).toBe("3")
    expect((await scrape()).get("headgate_places")).toBe("3072")

    process.kill(pids()[1] ?? 0, "SIGKILL")
    await until(() => pids().length === 4, "a worker in its place", 300_000)
    await Promise.all(Array.from({ length: 6 }, ask))
    const last = await scrape()
    expect(last.get(answered)).toBe("30")
    const sums = await Effect.runPromise(
      Effect.scoped(
        Effect.flatMap(openDatabase({ url: redactedUrlOf(database), durability: "full" }), ({ ledger }) =>
          ledger.rows(keyId(key), 1000),
        ),
      ),
    )
    const cost = sums.reduce((sum, row) => sum + row.cost, 0n)
    expect(last.get('headgate_cost_usd_total{model="acme/small",host="a"}')).toBe(formatUsd(cost))
    // The token opens nothing else.
    const other = await fetch(`${url}/keys`, { headers: { authorization: `Bearer ${token}` } })
    expect(other.status).toBe(401)
  }, 1_800_000)
})
