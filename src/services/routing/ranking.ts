/** Orders hosts by a strategy plugin. A mistake of the plugin costs the order, not the request. */
import type * as Effect from "effect/Effect"
import type { Host } from "../../domain/hosts/Host.ts"
import type { Candidate, Rank, RankContext } from "../../plugin/strategy.ts"
import { logEvent } from "../../process/log/logEvent.ts"

/**
 * Orders hosts by a strategy; `candidates` are the same hosts with their statistics. When the strategy throws, or loses or
 * adds a host, the given order is kept.
 */
export const ranked = (
  rank: Rank,
  given: ReadonlyArray<Host>,
  candidates: ReadonlyArray<Candidate>,
  context: RankContext,
  strategy: string,
  faults: StrategyFaults,
): ReadonlyArray<Host> => {
  try {
    const hosts = rank(candidates, context).map(hostOf)
    if (isPermutation(hosts, given)) return hosts
    faults.report(strategy, new Error("it must return every host that it was given, each once"))
  } catch (fault) {
    faults.report(strategy, fault)
  }
  return given
}

const hostOf = ({ host }: Candidate): Host => host

const isPermutation = (hosts: ReadonlyArray<Host>, given: ReadonlyArray<Host>): boolean => {
  if (hosts.length !== given.length) return false
  // For few hosts a search is cheaper than a set.
  if (given.length < 8) return given.every((host) => hosts.includes(host))
  const distinct = new Set(hosts)
  return given.every((host) => distinct.has(host))
}

/** Faults of strategies: counted, and logged once a minute for each strategy. */
export class StrategyFaults {
  private readonly counts = new Map<string, { faults: number; logAgainAt: number }>()
  private readonly now: () => number
  private readonly log: (line: Effect.Effect<void>) => void

  constructor(now: () => number, log: (line: Effect.Effect<void>) => void) {
    this.now = now
    this.log = log
  }

  report(
    strategy: string,
    fault: unknown,
    event: "strategy_failed" | "strategy_unexplained" = "strategy_failed",
  ): void {
    const count = this.counts.get(strategy) ?? { faults: 0, logAgainAt: Number.NEGATIVE_INFINITY }
    this.counts.set(strategy, count)
    count.faults += 1
    if (this.now() < count.logAgainAt) return
    count.logAgainAt = this.now() + 60_000
    const facts = { strategy, faults: count.faults }
    this.log(logEvent(event, facts, fault))
  }
}
