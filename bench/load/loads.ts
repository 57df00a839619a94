/** The loads of the bench, each set against the processor time that it cost its target. */
import { type OpenLoad, openLoad } from "./openLoop.ts"
import type { Round } from "./report.ts"
import type { Address, Target } from "./roles.ts"
import type { Model } from "./script.ts"
import { type StreamLoad, streamLoad, streamMs } from "./streams.ts"
import { type UnaryLoad, unaryLoad } from "./unary.ts"

/** Written to the terminal while the bench runs; not part of its result. */
export const say = (text: string) =>
  process.stderr.write(`${(performance.now() / 1000).toFixed(0).padStart(4)} s  ${text}\n`)

export interface Kind {
  readonly name: string
  readonly run: (target: Target) => Promise<Round>
}

const address = ({ url, key }: Address): Address => ({ url, key })

/** Work that is left over after a load counts as well, if it is done within this time. */
const settleMs = 200

/** Runs `load`, and divides the processor time that it cost by the number of what it did. */
export const measured = async (
  target: Target,
  load: () => Promise<Omit<Round, "cpuMicros" | "compilingMicros"> & { readonly count: number }>,
): Promise<Round> => {
  const cpuBefore = target.child.cpuSeconds()
  const threadsBefore = new Map(target.child.threads().map(({ id, cpuSeconds }) => [id, cpuSeconds]))
  const { count, ...round } = await load()
  await Bun.sleep(settleMs)
  const cpuMicros = ((target.child.cpuSeconds() - cpuBefore) * 1e6) / count
  // A thread that compiled and ended meanwhile is not among them.
  const compilingSeconds = target.child
    .threads()
    .filter(({ name }) => name === "JITWorker")
    .reduce((sum, { id, cpuSeconds }) => sum + cpuSeconds - (threadsBefore.get(id) ?? 0), 0)
  return { cpuMicros, compilingMicros: (compilingSeconds * 1e6) / count, ...round }
}

export const saturated = (name: string, load: Omit<UnaryLoad, keyof Address>): Kind => ({
  name,
  run: (target) =>
    measured(target, async () => {
      const { requests, perSecond, p50Ms, p99Ms } = await unaryLoad({ ...address(target), ...load })
      return { count: requests, perSecond, p50Ms, p99Ms }
    }),
})

export const atRate = (name: string, load: Omit<OpenLoad, keyof Address | "kind">): Kind => ({
  name,
  run: (target) =>
    measured(target, async () => {
      const result = await openLoad({ ...address(target), ...load, kind: "complete" })
      const { requests, seconds, p50Ms, p99Ms, lateP99Ms } = result
      say(`    ${target.child.name}: ${requests} requests, sent up to ${lateP99Ms.toFixed(1)} ms late (p99)`)
      return { count: requests, perSecond: requests / seconds, p50Ms, p99Ms }
    }),
})

/** Callers of streams, their starts spread over the length of one, so that neither calls nor chunks come in bursts. */
export const spread = (model: Model, callers: number, each: number): Omit<StreamLoad, keyof Address> => ({
  model,
  callers,
  each,
  spreadMs: streamMs(model),
})

export const chunks = (name: string, load: Omit<StreamLoad, keyof Address>): Kind => ({
  name,
  run: (target) =>
    measured(target, async () => {
      const result = await streamLoad({ ...address(target), ...load })
      const { streams, reads, seconds, p50Ms, p99Ms } = result
      say(`    ${target.child.name}: ${streams} streams, ${(result.chunks / reads).toFixed(2)} chunks per read`)
      return { count: result.chunks, perSecond: result.chunks / seconds, p50Ms, p99Ms }
    }),
})

export interface FirstToken {
  readonly p50Ms: number
  readonly p99Ms: number
}

/** Streams per second that `target` and its callers manage together, when every caller takes one after the other. */
export const streamsPerSecond = async (target: Address, callers: number, each: number): Promise<number> => {
  const load = { ...spread("bench/timed", callers, each), spreadMs: 500 }
  const { streams, seconds } = await streamLoad({ ...address(target), ...load })
  return streams / seconds
}

/** Time to the first token at a fixed rate of streams, without the host's own time. */
export const firstToken = async (target: Address, rate: number, seconds: number): Promise<FirstToken> => {
  const load = { kind: "firstToken", model: "bench/timed", rate, seconds } as const
  const { p50Ms, p99Ms } = await openLoad({ ...address(target), ...load })
  return { p50Ms, p99Ms }
}

/** The highest resident memory of `target`, in bytes, while this many streams are opened, 1.5 ms apart, and read to their end. */
export const highestMemory = async (target: Target, open: number): Promise<number> => {
  let highest = 0
  const timer = setInterval(() => {
    highest = Math.max(highest, target.child.rssBytes())
  }, 50)
  const load = { model: "bench/slow", callers: open, each: 1, spreadMs: open * 1.5 } as const
  await streamLoad({ ...address(target), ...load }).finally(() => clearInterval(timer))
  return highest
}
