/** Orders hosts by a strategy plugin. A mistake of the plugin costs the order, not the request. */
import type * as Effect from "effect/Effect"
import type { Host } from "../../domain/hosts/Host.ts"
import { but } from "../../plugin/checks/misfit.ts"
import type { Candidate, Rank, RankContext } from "../../plugin/strategy.ts"
import { logEvent } from "../../process/log/logEvent.ts"

/** A ranking that takes longer is not used. Every request waits meanwhile, since a ranking cannot be interrupted. */
const longestMs = 1000

/**
 * Orders hosts by a strategy; `candidates` are the same hosts with their statistics. When the strategy throws, loses or adds a host, or
 * takes more than a second, the given order is kept.
 */
export const ranked = (
  rank: Rank,
  given: ReadonlyArray<Host>,
  candidates: ReadonlyArray<Candidate>,
  context: RankContext,
  strategy: string,
  faults: StrategyFaults,
): ReadonlyArray<Host> => {
  const begun = faults.elapsedMs()
  try {
    const ranking: unknown = rank(candidates, context)
    const tookMs = faults.elapsedMs() - begun
    if (tookMs > longestMs) {
      faults.report(strategy, new Error(`it took ${Math.round(tookMs)} ms to order ${given.length} hosts`))
      return given
    }
    const hosts = hostsOf(ranking)
    if (isPermutation(hosts, given)) return hosts
    faults.report(strategy, new Error("it must return every host that it was given, each once"))
  } catch (fault) {
    faults.report(strategy, fault)
  }
  return given
}

/** A plugin in JavaScript may return anything. */
const hostsOf = (ranking: unknown): ReadonlyArray<Host> => {
  if (Array.isArray(ranking)) return ranking.map(hostOf)
  // It is not awaited. Handled here, so that its rejection is not reported as unhandled.
  if (ranking instanceof Promise) ranking.catch(() => {})
  throw new Error(`it must return ${but("a list of candidates", ranking)}`)
}

const hostOf = ({ host }: Candidate): Host => host

const isPermutation = (hosts: ReadonlyArray<Host>, given: ReadonlyArray<Host>): boolean => {
  if (hosts.length !== given.length) return false
  // For few hosts a search is cheaper than a set.
  if (given.length < 8) return given.every((host) => hosts.includes(host))
  const distinct = new Set(hosts)
  return given.every((host) => distinct.has(host))
}

/** A strategy that goes on failing is named again after so long, milliseconds. */
const logEveryMs = 3_600_000

/** Faults of strategies: counted, and logged once, then once an hour while they go on, for each strategy. */
export class StrategyFaults {
  /** Milliseconds on a clock that never steps back. */
  readonly elapsedMs: () => number
  private readonly counts = new Map<string, { faults: number; logAgainAt: number }>()
  private readonly log: (line: Effect.Effect<void>) => void

  constructor(elapsedMs: () => number, log: (line: Effect.Effect<void>) => void) {
    this.elapsedMs = elapsedMs
    this.log = log
  }

  report(
    strategy: string,
    fault: unknown,
    event: "strategy_failed" | "strategy_unexplained" = "strategy_failed",
  ): void {
    const name = `${event} ${strategy}`
    const count = this.counts.get(name) ?? { faults: 0, logAgainAt: Number.NEGATIVE_INFINITY }
    this.counts.set(name, count)
    count.faults += 1
    const now = this.elapsedMs()
    if (now < count.logAgainAt) return
    count.logAgainAt = now + logEveryMs
    const facts = { strategy, faults: count.faults }
    this.log(logEvent(event, facts, fault))
  }
}
