/**
 * What hedging does for the time to the first token, and what it costs: the gateway itself under a clock that only this
 * program advances, with two hosts of which the first stalls in 5 % of its calls. `bun bench/hedging.ts [requests]` prints the
 * table of docs/hedging.md.
 */
import { randomSequence } from "../src/domain/structures/randomSequence.ts"
import { type HostCall, inTimedGateway, type TimedGateway } from "../test/support/gateways/timedGateway.ts"
import { chunkOf } from "../test/support/hosts/host.ts"

const requests = Number(process.argv[2] ?? 2000)
const seed = 7
const stepMs = 10
const stallShare = 0.05
const stallMs = 10_000

const delta = chunkOf({ delta: { content: "word" }, finish_reason: null })
const finish = chunkOf({ delta: {}, finish_reason: "stop" })
const usage = JSON.stringify({ choices: [], usage: { prompt_tokens: 200, completion_tokens: 400 } })

/** Milliseconds to the first token: 150 and an exponential tail of 100 on average; some calls stall for ten seconds. */
const timeOf = (random: () => number, canStall: boolean): number => {
  const stall = canStall && random() < stallShare ? stallMs : 0
  return 150 - 100 * Math.log(1 - random()) + stall
}

interface Outcome {
  /** Milliseconds to the first token, ascending. */
  readonly times: ReadonlyArray<number>
  readonly calls: number
  /** Picodollars that callers paid, and what the lost calls cost. */
  readonly paid: bigint
  readonly lost: bigint
}

/** One request after the other. The hosts answer by the clock. */
const course = async (gateway: TimedGateway): Promise<Outcome> => {
  const random = randomSequence(seed)
  const times: Array<number> = []
  for (let at = 0; at < requests; at++) {
    const begun = gateway.calls.length
    const due = new Map<HostCall, number>()
    const answered = new Set<HostCall>()
    let isOver = false
    const asked = gateway
      .ask({ messages: [{ role: "user", content: "word ".repeat(160) }], max_tokens: 400 })
      .then((response) => {
        isOver = true
        return response.text()
      })
    await gateway.call(begun + 1)
    let now = 0
    for (; !isOver; now += stepMs) {
      for (const call of gateway.calls.slice(begun)) {
        if (!due.has(call)) due.set(call, now + timeOf(random, call.port === 1))
        if (answered.has(call) || call.aborted || now < (due.get(call) ?? 0)) continue
        answered.add(call)
        call.head().events(delta, finish, usage, "[DONE]")
        await gateway.settle()
      }
      if (!isOver) await gateway.pass(stepMs)
    }
    times.push(now)
    await asked
  }
  const rows = await gateway.rows()
  const sum = (amounts: ReadonlyArray<bigint>) => amounts.reduce((total, amount) => total + amount, 0n)
  return {
    times: times.toSorted((one, other) => one - other),
    calls: gateway.calls.length,
    paid: sum(rows.map(({ cost }) => cost)),
    lost: sum(rows.filter(({ outcome }) => outcome === "lost").map(({ upstreamCost }) => upstreamCost)),
  }
}

const simulated = async (hedge: Record<string, unknown>): Promise<Outcome> => {
  let outcome: Outcome | undefined
  await inTimedGateway(
    { hosts: ["a", "b"], routing: { hedge }, limits: { commit_after_ms: 60_000 } },
    async (gateway) => {
      outcome = await course(gateway)
    },
  )
  if (outcome === undefined) throw new Error("the simulation did not end")
  return outcome
}

const percentile = (times: ReadonlyArray<number>, percent: number): number =>
  times[Math.ceil((percent / 100) * times.length) - 1] ?? Number.NaN

const rowOf = (name: string, { times, calls, paid, lost }: Outcome): string => {
  const latencies = [50, 90, 95, 99].map((percent) => `${percentile(times, percent)} ms`)
  const extraCalls = `${((100 * (calls - requests)) / requests).toFixed(1)} %`
  const extraCost = `${((100 * Number(lost)) / Number(paid)).toFixed(2)} %`
  return `| ${[name, ...latencies, extraCalls, extraCost].join(" | ")} |`
}

const main = async () => {
  const lines = [
    "| `routing.hedge` | p50 | p90 | p95 | p99 | extra calls | extra cost |",
    "| --- | --- | --- | --- | --- | --- | --- |",
    rowOf("off", await simulated({ enabled: false })),
    rowOf("on, `max_cost_share` 0.05", await simulated({ enabled: true })),
    rowOf("on, `max_cost_share` 0.002", await simulated({ enabled: true, max_cost_share: 0.002 })),
  ]
  process.stdout.write(`${requests} requests\n\n${lines.join("\n")}\n`)
}

await main()
