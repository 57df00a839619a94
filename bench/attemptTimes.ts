/**
 * What a time-out of attempts does to answers that are slow but good, and to requests whose first host hangs: the tables of
 * docs/decisions/0043-time-outs-of-attempts.md. A simulation: the distributions are stated below, the rule is the gateway's own.
 * `bun bench/attemptTimes.ts [requests]`.
 */
import { firstEventMs, wholeAnswerMs } from "../src/domain/hosts/attemptTime.ts"
import { randomSequence } from "../src/domain/structures/randomSequence.ts"

const requests = Number(process.argv[2] ?? 100_000)
const deadlineMs = 600_000
const hosts = 4
const random = randomSequence(11)

const normal = (): number => Math.sqrt(-2 * Math.log(1 - random())) * Math.cos(2 * Math.PI * random())
const logNormal = (median: number, sigma: number): number => median * Math.exp(sigma * normal())

/** One request: its output, the same at every host, and the time and speed of one call. */
interface Work {
  readonly tokens: () => number
  readonly maxTokens: number | undefined
  /** Tokens per second, of one call. */
  readonly speed: () => number
  /** Milliseconds before the first token, visible or not. */
  readonly wait: () => number
  /** Output tokens that are not sent before the first visible one. */
  readonly hidden?: (tokens: number) => number
}

const vendor = { speed: () => logNormal(60, 0.4), wait: () => logNormal(600, 0.8) }
const chat = () => Math.min(16_384, logNormal(300, 1.1))
const document = () => Math.min(32_768, logNormal(6000, 0.7))
const thought = () => Math.min(65_536, logNormal(4000, 1.2) + logNormal(400, 0.8))
const deep = () => Math.min(65_536, logNormal(10_000, 0.9))

const works: Readonly<Record<string, Work>> = {
  "chat, no `max_tokens`": { ...vendor, tokens: chat, maxTokens: undefined },
  "chat, `max_tokens` 1,024": { ...vendor, tokens: () => Math.min(1024, chat()), maxTokens: 1024 },
  "long documents, no `max_tokens`": { ...vendor, tokens: document, maxTokens: undefined },
  "chat with 0.5 % documents": {
    ...vendor,
    tokens: () => (random() < 0.005 ? document() : chat()),
    maxTokens: undefined,
  },
  "a model that thinks": { ...vendor, tokens: thought, maxTokens: undefined, hidden: (tokens) => tokens * 0.9 },
  "one that thinks for minutes": {
    ...{ speed: () => logNormal(45, 0.3), wait: vendor.wait, tokens: deep, maxTokens: undefined },
    hidden: (tokens) => tokens * 0.95,
  },
  "a small machine, `max_tokens` 2,000": {
    ...{ speed: () => logNormal(9, 0.2), wait: () => logNormal(8000, 0.9) },
    ...{ tokens: () => Math.min(2000, logNormal(700, 0.8)), maxTokens: 2000 },
  },
}

const percentile = (values: ReadonlyArray<number>, percent: number): number =>
  values.toSorted((one, other) => one - other)[Math.floor((values.length * percent) / 100)] ?? 0

type Policy = (hasNext: boolean) => number

interface Result {
  /** Share of the requests that got an answer. */
  readonly served: number
  /** Share of the requests of which a call was cut that would have answered before the deadline. */
  readonly cut: number
  readonly calls: number
  /** Seconds, median of those that were served. */
  readonly seconds: number
}

/** Each request goes from host to host; `hangs`: the first one never answers. */
const course = (timeOf: () => () => number, policy: Policy, hangs: boolean): Result => {
  let served = 0
  let cut = 0
  let calls = 0
  const seconds: Array<number> = []
  for (let at = 0; at < requests; at++) {
    const next = timeOf()
    let elapsed = 0
    let wasCut = false
    for (let host = 0; host < hosts && deadlineMs - elapsed >= 500; host++) {
      calls += 1
      const takes = hangs && host === 0 ? Number.POSITIVE_INFINITY : next()
      const boundMs = Math.min(policy(host < hosts - 1), deadlineMs - elapsed)
      if (takes <= boundMs) {
        elapsed += takes
        served += 1
        seconds.push(elapsed / 1000)
        break
      }
      if (elapsed + takes <= deadlineMs) wasCut = true
      elapsed += boundMs
    }
    if (wasCut) cut += 1
  }
  return { served: served / requests, cut: cut / requests, calls: calls / requests, seconds: percentile(seconds, 50) }
}

const percentText = (share: number) => `${(share * 100).toFixed(2)} %`

const table = (
  title: string,
  timesOf: (work: Work) => () => () => number,
  policies: (work: Work) => Record<string, Policy>,
) => {
  console.info(`\n${title}\n`)
  console.info("| work | bound | served | good answers cut | calls | first host hangs: served | median |")
  console.info("| --- | --- | --- | --- | --- | --- | --- |")
  for (const [name, work] of Object.entries(works)) {
    for (const [bound, policy] of Object.entries(policies(work))) {
      const well = course(timesOf(work), policy, false)
      const hung = course(timesOf(work), policy, true)
      const cells = [percentText(well.served), percentText(well.cut), well.calls.toFixed(3), percentText(hung.served)]
      console.info(
        `| ${name} | ${bound} | ${cells.join(" | ")} | ${hung.served === 0 ? "" : `${hung.seconds.toFixed(0)} s`} |`,
      )
    }
  }
}

const maximum = 32_768

const whole = (work: Work) => () => {
  const tokens = work.tokens()
  return () => work.wait() + (tokens / work.speed()) * 1000
}

const first = (work: Work) => () => {
  const tokens = work.hidden?.(work.tokens()) ?? 0
  return () => work.wait() + (tokens / work.speed()) * 1000
}

table("Whole answers", whole, (work) => {
  const samples = Array.from({ length: 10_000 }, () => {
    const tokens = work.tokens()
    const ms = work.wait() + (tokens / work.speed()) * 1000
    return { ms, speed: (tokens * 1000) / ms }
  })
  const slowSpeed = percentile(
    samples.map(({ speed }) => speed),
    1,
  )
  const slowest = percentile(
    samples.map(({ ms }) => ms).filter((ms) => ms < deadlineMs),
    99,
  )
  const output = work.maxTokens ?? maximum
  return {
    "deadline alone": () => deadlineMs,
    "60 s": () => 60_000,
    "120 s": () => 120_000,
    "twice the 99th percentile, at least 120 s": () => Math.max(120_000, 2 * slowest),
    "half of the deadline": (hasNext) => (hasNext ? deadlineMs / 2 : deadlineMs),
    chosen: (hasNext) => wholeAnswerMs({ deadlineMs, hasNext }, output, { slowSpeed, slowDurationMs: slowest }),
  }
})

table("Time to a stream's first event", first, (work) => {
  const slow = percentile(
    Array.from({ length: 10_000 }, () => first(work)()()),
    99,
  )
  const mayThink = work.hidden !== undefined
  return {
    "300 s": () => 300_000,
    "60 s": () => 60_000,
    "120 s": () => 120_000,
    chosen: (hasNext) => firstEventMs({ deadlineMs, hasNext }, mayThink, slow),
  }
})
