/** The contract between the gateway and a routing strategy: a pure ranking of hosts. */
import * as Either from "effect/Either"
import type { ParseError } from "effect/ParseResult"
import type * as Schema from "effect/Schema"
import type { Host } from "../domain/Host.ts"
import type { ChatRequest } from "../domain/Request.ts"
import { contractVersion } from "./Provider.ts"
import { decodeStrictly } from "./strict.ts"

/** Statistics of a host at this moment. `null` where there are too few samples. */
export interface HostSnapshot {
  /** It failed significantly within the last 30 seconds. */
  readonly failing: boolean
  /** Percent of the requests of the last 30 minutes that succeeded. */
  readonly uptime: number | null
  /** Milliseconds to the first token, median of the last 30 minutes. */
  readonly latencyMs: number | null
  /** Output tokens per second, median of the last 30 minutes. */
  readonly throughput: number | null
}

export interface Candidate {
  /** The same object for as long as the configuration stands, so that what is prepared for it can be kept in a `WeakMap`. */
  readonly host: Host
  readonly stats: HostSnapshot
}

/** Everything that a ranking may depend on besides the candidates, so that a test can fix it. */
export interface RankContext {
  /** Unix milliseconds. */
  readonly now: number
  /** A number in [0, 1), another one at each call; seeded in tests. */
  readonly random: () => number
  /** What is asked, as far as it decides where to: the wanted models and preferences, and how large it can become. */
  readonly request: Pick<ChatRequest, "routing" | "bounds">
}

/**
 * Puts hosts into the order in which they are tried. It must give all of them, each once, and must change neither its
 * arguments nor anything else; a strategy that throws or loses a host is not followed for that request.
 *
 * The candidates come in the order of the configuration. As a rule they are the hosts of one model; where the caller
 * ranks over all wanted models at once, they are the hosts of several (`host.model`), in the caller's order of models.
 */
export type Rank = (candidates: ReadonlyArray<Candidate>, context: RankContext) => ReadonlyArray<Candidate>

export interface StrategyPlugin {
  readonly kind: "strategy"
  readonly contract: number
  /** Equal to the folder's name, and to the value of `routing.strategy` or `provider.sort` that asks for it. */
  readonly id: string
  /** Decodes `routing.strategies.<id>` of the configuration strictly, or `{}` where that is absent, and closes over it. */
  readonly load: (config: unknown) => Either.Either<Rank, ParseError>
}

/** What a strategy's author writes. */
export interface StrategyDefinition<A, I> {
  readonly id: string
  /** Of `routing.strategies.<id>`. Give it defaults where it should work unconfigured. */
  readonly config: Schema.Schema<A, I>
  readonly load: (config: A) => Rank
}

/** Makes a strategy plugin: the default export of `plugins/strategies/<id>/index.ts`. */
export const defineStrategy = <A, I>(definition: StrategyDefinition<A, I>): StrategyPlugin => {
  const decode = decodeStrictly(definition.config)
  return {
    kind: "strategy",
    contract: contractVersion,
    id: definition.id,
    load: (raw) => Either.map(decode(raw), definition.load),
  }
}
