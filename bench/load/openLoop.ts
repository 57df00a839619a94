/**
 * Requests at a fixed rate, in a process of its own that prints one line of JSON. A request is sent when it is due, however
 * many are still running, so a slow target cannot slow its load down. The one argument is an `OpenLoad` as JSON.
 */
import { join } from "node:path"
import { runToEnd } from "./processes.ts"
import { percentile } from "./report.ts"
import { type Address, root } from "./roles.ts"
import { isWholeAnswer, type Model, requestBody } from "./script.ts"
import { problemOf, readStream } from "./streams.ts"

export interface OpenLoad extends Address {
  /**
   * `complete`: non-streaming; times run from the moment a request was due to the end of its answer. Timers have a
   * resolution of a millisecond: a request may be sent that much early, and then its time runs from there.
   * `firstToken`: streams of a timed model; times run from the call to the first text, less the host's own time to it.
   */
  readonly kind: "complete" | "firstToken"
  readonly model: Model
  /** Requests per second. */
  readonly rate: number
  readonly seconds: number
}

export interface OpenResult {
  readonly requests: number
  readonly seconds: number
  readonly p50Ms: number
  readonly p99Ms: number
  /** How late this process itself sent; part of `complete` times. */
  readonly lateP99Ms: number
  readonly problems: ReadonlyArray<string>
}

/** Time for the last answers, after the last request was sent. */
const graceMs = 10_000

/** Fails when one request was not answered rightly. */
export const openLoad = async (load: OpenLoad): Promise<OpenResult> => {
  const command = [process.execPath, join(root, "bench/load/openLoop.ts"), JSON.stringify(load)]
  const result: OpenResult = JSON.parse(await runToEnd(command, root, load.seconds * 2 + graceMs / 1000 + 10))
  if (result.problems.length > 0) {
    throw new Error(`${load.url}: ${result.problems.length} requests failed; one: ${result.problems[0]}`)
  }
  return result
}

/** Milliseconds, or what was wrong. */
type Call = (load: OpenLoad, dueAt: number, signal: AbortSignal) => Promise<number | string>

const complete: Call = async ({ url, key, model }, dueAt, signal) => {
  const from = Math.min(dueAt, performance.now())
  const response = await fetch(url, {
    method: "POST",
    headers: { "Content-Type": "application/json", Authorization: `Bearer ${key}` },
    body: requestBody(model, false),
    signal,
  })
  const text = await response.text()
  if (response.status !== 200 || !isWholeAnswer(text)) return `${response.status} ${text}`
  return performance.now() - from
}

const firstToken: Call = async (load, _, signal) => {
  const decoder = new TextDecoder()
  const began = performance.now()
  let seen = ""
  let addedMs: number | undefined
  const text = await readStream(load, signal, (bytes) => {
    if (addedMs !== undefined) return
    const now = performance.now()
    seen += decoder.decode(bytes, { stream: true })
    const hostMs = /"content":"([\d.]+)"/.exec(seen)?.[1]
    if (hostMs !== undefined) addedMs = now - began - Number(hostMs)
  })
  return problemOf(text, load.model) ?? addedMs ?? "the first text is no time"
}

const run = async (load: OpenLoad): Promise<OpenResult> => {
  const { kind, rate, seconds } = load
  const call = kind === "complete" ? complete : firstToken
  const signal = AbortSignal.timeout(seconds * 2000 + graceMs)
  const timesMs: Array<number> = []
  const lateMs: Array<number> = []
  const problems: Array<string> = []
  const running: Array<Promise<void>> = []

  const began = performance.now()
  for (let sent = 0; sent < rate * seconds; sent++) {
    const dueAt = began + (sent * 1000) / rate
    if (dueAt > performance.now()) await Bun.sleep(dueAt - performance.now())
    lateMs.push(performance.now() - dueAt)
    const outcome = call(load, dueAt, signal).catch(String)
    running.push(outcome.then((ms) => void (typeof ms === "number" ? timesMs.push(ms) : problems.push(ms))))
  }
  await Promise.all(running)
  return {
    requests: timesMs.length,
    seconds: (performance.now() - began) / 1000,
    p50Ms: percentile(timesMs, 50),
    p99Ms: percentile(timesMs, 99),
    lateP99Ms: percentile(lateMs, 99),
    problems,
  }
}

if (import.meta.main) console.log(JSON.stringify(await run(JSON.parse(process.argv[2] ?? "{}"))))
