/** What every strategy plugin must be: a pure ranking that returns every host once and no other. */
import * as Either from "effect/Either"
import * as FastCheck from "effect/FastCheck"
import { HostTag, ModelId } from "../domain/ids.ts"
import type { JsonObject } from "../domain/json/json.ts"
import { freePricing } from "../domain/price/price.ts"
import { randomSequence } from "../domain/structures/randomSequence.ts"
import { expectedOfReasons } from "../plugin/checks/shapes.ts"
import type {
  Candidate,
  ConversationView,
  HostSnapshot,
  Rank,
  RankContext,
  StrategyPlugin,
} from "../plugin/strategy.ts"
import { attempt, type Check, deepFreeze, must } from "./Check.ts"
import { pluginChecks } from "./requests/facts.ts"
import { sampleCandidate, sampleContext } from "./sampleRanking.ts"
import { forAll } from "./samples.ts"

export interface StrategySubject {
  /** The plugin's default export. */
  readonly plugin: StrategyPlugin
  /** The plugin's own configuration. Default: nothing. */
  readonly config?: JsonObject
}

const contract = "Rank"

/** For any test runner: `for (const check of strategyChecks({ plugin })) test(check.name, check.run)`. */
export const strategyChecks = ({ plugin, config = {} }: StrategySubject): ReadonlyArray<Check> => {
  const load = (): Rank => {
    const loaded = attempt("load()", "StrategyPlugin.load", () => plugin.load(config))
    must(
      Either.isRight(loaded),
      `load() refuses the configuration given: ${Either.isLeft(loaded) && loaded.left.message}`,
      "StrategyPlugin.load",
    )
    return loaded.right
  }
  return [
    ...pluginChecks(plugin, "strategy", () => config),
    ...(plugin.loadWhy === undefined
      ? []
      : [{ name: "explains every candidate, without random numbers", run: () => explains(plugin, config) }]),
    { name: "changes nothing that it is given", run: () => pure(load()) },
    { name: "neither drops nor adds a candidate", run: () => permutes(load()) },
    { name: "gives the same order for the same random numbers", run: () => deterministic(load()) },
    { name: "ranks no candidate, one and fifty", run: () => anyNumber(load()) },
    { name: "ranks hosts without statistics", run: () => ranksAll(load(), hosts({ unseen: true })) },
    { name: "ranks for a caller of whom nothing is known", run: () => unknownCallers(load()) },
    { name: "ranks hosts without a known price", run: () => ranksAll(load(), hosts({ prices: [null] })) },
    { name: "ranks hosts at equal prices, and at none", run: () => equalPrices(load()) },
    { name: "ranks hosts of several models together", run: () => ranksAll(load(), ofSeveralModels()) },
  ]
}

interface HostsOf {
  readonly count?: number
  /** Picodollars per token, for one host after the other. */
  readonly prices?: ReadonlyArray<bigint | null>
  readonly unseen?: boolean
}

const hosts = ({ count = 12, prices = [3n, null, 0n, 1n, 1n], unseen = false }: HostsOf): ReadonlyArray<Candidate> =>
  Array.from({ length: count }, (_, at) => {
    const price = prices[at % prices.length] ?? null
    const latencyMs = at % 5 === 0 ? null : 100 * (at % 7)
    const throughput = at % 5 === 1 ? null : 10 * (at % 6)
    const stats: HostSnapshot = {
      failing: at % 4 === 1,
      uptime: at % 3 === 0 ? null : 100 - at,
      standing: at % 6 === 2 ? "degraded" : at % 6 === 5 ? "down" : "normal",
      latencyMs,
      throughput,
      toolSuccess: at % 4 === 0 ? null : (at % 5) / 4,
      latencyAt: (percentile) => latencyMs && latencyMs * (percentile / 50),
      throughputAt: (percentile) => throughput && throughput * (50 / percentile),
    }
    const pricing =
      price === null ? null : { ...freePricing, prompt: price * 1_000_000n, completion: price * 2_000_000n }
    return sampleCandidate({ tag: `host-${at}`, host: { pricing }, stats: unseen ? {} : stats })
  })

/** Hosts of two models with the same providers, so that their tags occur twice. */
const ofSeveralModels = (): ReadonlyArray<Candidate> =>
  ["a/one", "a/two"].flatMap((model) =>
    hosts({ count: 5 }).map(({ host: served, stats }) => ({ host: { ...served, model: ModelId.make(model) }, stats })),
  )

/** Some of the hosts have served it before. */
const conversation: ConversationView = {
  warm: ({ tag }) => (tag.length % 2 === 0 ? { tokens: 1000 * tag.length, agoMs: 10_000 * tag.length } : undefined),
  last: () => ({ tokens: 8000, agoMs: 10_000 }),
}

const contextWith = (random: () => number): RankContext =>
  sampleContext({
    random,
    conversation,
    caller: { key: "b5bb9d8014a0f9b1", user: "d61e2ca0e1c4ae2f", conversation: "7d865e959b2466e9" },
    budget: { limit: 5_000_000_000_000n, left: 1_250_000_000_000n, resetsAt: 1_800_000_600_000 },
  })

/** Ranks in a context that depends only on the random numbers. */
const ranked = (
  rank: Rank,
  candidates: ReadonlyArray<Candidate>,
  random = randomSequence(1),
): ReadonlyArray<Candidate> =>
  attempt(`Ranking ${candidates.length} candidates`, contract, () => rank(candidates, contextWith(random)))

const pure = (rank: Rank): void => {
  const context = deepFreeze(contextWith(randomSequence(1)))
  attempt("Ranking frozen candidates (`toSorted`, not `sort`)", `${contract} is pure`, () =>
    rank(deepFreeze(hosts({})), context),
  )
}

const isPermutation = (ranking: ReadonlyArray<Candidate>, candidates: ReadonlyArray<Candidate>): boolean =>
  Array.isArray(ranking) &&
  ranking.length === candidates.length &&
  new Set(ranking).size === candidates.length &&
  candidates.every((candidate) => ranking.includes(candidate))

const tags = (candidates: ReadonlyArray<Candidate>) => candidates.map((candidate) => candidate?.host?.tag).join(", ")

const ranksAll = (rank: Rank, candidates: ReadonlyArray<Candidate>, random = randomSequence(1)): void => {
  const ranking = ranked(rank, candidates, random)
  must(
    isPermutation(ranking, candidates),
    `Of [${tags(candidates)}] the ranking makes [${Array.isArray(ranking) ? tags(ranking) : String(ranking)}]`,
    `${contract}: it may not drop or add any`,
  )
}

const anyCandidates: FastCheck.Arbitrary<ReadonlyArray<Candidate>> = FastCheck.array(
  FastCheck.record({
    price: FastCheck.option(FastCheck.bigInt(0n, 10_000n)),
    failing: FastCheck.boolean(),
    uptime: FastCheck.option(FastCheck.double({ min: 0, max: 100, noNaN: true })),
    standing: FastCheck.constantFrom<HostSnapshot["standing"]>("normal", "degraded", "down"),
    latencyMs: FastCheck.option(FastCheck.double({ min: 0, max: 600_000, noNaN: true })),
    throughput: FastCheck.option(FastCheck.double({ min: 0, max: 5000, noNaN: true })),
    toolSuccess: FastCheck.option(FastCheck.double({ min: 0, max: 1, noNaN: true })),
  }),
  { minLength: 2, maxLength: 12 },
).map((all) =>
  all.flatMap(({ price, ...stats }, at) =>
    hosts({ count: 1, prices: [price] }).map((candidate) => ({
      host: { ...candidate.host, tag: HostTag.make(`host-${at}`), provider: `host-${at}` },
      stats: { ...stats, latencyAt: () => stats.latencyMs, throughputAt: () => stats.throughput },
    })),
  ),
)

const permutes = (rank: Rank): void => {
  forAll(FastCheck.tuple(anyCandidates, FastCheck.integer()), ([candidates, seed]) =>
    ranksAll(rank, candidates, randomSequence(seed)),
  )
  // The ends of the range of random numbers.
  for (const number of [0, 1 - 2 ** -53]) ranksAll(rank, hosts({}), () => number)
}

/** A request without `user`, of a key without a limit, for an operation without conversations, at hosts without a price. */
const unknownCallers = (rank: Rank): void => {
  const candidates = hosts({})
  const context = sampleContext({ expectedCost: () => null })
  const ranking = attempt("Ranking for a caller of whom nothing is known", contract, () => rank(candidates, context))
  must(isPermutation(ranking, candidates), "For a caller of whom nothing is known a host is lost or added", contract)
}

const deterministic = (rank: Rank): void => {
  for (let seed = 1; seed <= 30; seed++) {
    const candidates = hosts({ count: 30 })
    const [first, second] = [
      ranked(rank, candidates, randomSequence(seed)),
      ranked(rank, candidates, randomSequence(seed)),
    ]
    must(
      tags(first) === tags(second),
      `The same candidates, time and random numbers give [${tags(first)}] and [${tags(second)}]: chance and time come in the context`,
      "RankContext",
    )
  }
}

const anyNumber = (rank: Rank): void => {
  for (const count of [0, 1, 50]) ranksAll(rank, hosts({ count }))
}

const explains = ({ loadWhy }: StrategyPlugin, config: JsonObject): void => {
  const loaded = attempt("loadWhy()", "StrategyPlugin.loadWhy", () => loadWhy?.(config))
  if (loaded === undefined) return
  must(Either.isRight(loaded), "loadWhy() refuses a configuration that load() takes", "StrategyPlugin.loadWhy")
  const drawn = (): number => {
    throw new Error("a random number was drawn")
  }
  const context = deepFreeze(contextWith(drawn))
  for (const candidate of deepFreeze([...hosts({}), ...hosts({ unseen: true })])) {
    const reasons: unknown = attempt(`Explaining ${candidate.host.tag}`, "Why", () => loaded.right(candidate, context))
    const expected = expectedOfReasons(reasons)
    must(expected === undefined, `Explaining ${candidate.host.tag} must return ${expected}`, "Why")
  }
}

const equalPrices = (rank: Rank): void => {
  for (const price of [7n, 0n]) ranksAll(rank, hosts({ prices: [price] }))
}
