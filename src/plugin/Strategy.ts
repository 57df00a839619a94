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
  /** More than half of its requests in the last 30 seconds failed, of at least two. */
  readonly failing: boolean
  /** Percent of the requests of the last 30 minutes that succeeded. */
  readonly uptime: number | null
  /** Milliseconds to the first token, median of the last 30 minutes. */
  readonly latencyMs: number | null
  /** Output tokens per second, median of the last 30 minutes. */
  readonly throughput: number | null
}

export interface Candidate {
  /** The same object until the configuration changes, so a `WeakMap` can cache what is computed for it. */
  readonly host: Host
  readonly stats: HostSnapshot
}

/** Everything that a ranking may depend on besides the candidates, so that a test can fix it. */
export interface RankContext {
  /** Unix milliseconds. */
  readonly now: number
  /** A number in [0, 1), another one at each call; seeded in tests. */
  readonly random: () => number
  /** The wanted models, the preferences and the bounds of the request. */
  readonly request: Pick<ChatRequest, "routing" | "bounds">
}

/**
 * Orders hosts as they are to be tried. It must return all of them, each once, and must have no side effects. When it
 * throws or loses a host, its order is not used for that request.
 *
 * The candidates come in the order of the configuration. Usually they are the hosts of one model. With
 * `partition: "none"` they are the hosts of all wanted models (`host.model`), in the caller's order of models.
 */
export type Rank = (candidates: ReadonlyArray<Candidate>, context: RankContext) => ReadonlyArray<Candidate>

/** The numbers that a ranking used for one candidate, by name: what a caller sees of it in an explanation. */
export type Reasons = Readonly<Record<string, string | number | boolean | null>>

/**
 * Explains the place of one candidate, with the context of its ranking. Runs for explanations only, before the ranking; it
 * must have no side effects, and it draws no random numbers. Money is decimal text of USD (`formatUsd`).
 */
export type Why = (candidate: Candidate, context: RankContext) => Reasons

export interface StrategyPlugin {
  readonly kind: "strategy"
  readonly contract: number
  /** Equal to the folder's name, and to the value of `routing.strategy` or `provider.sort` that selects it. */
  readonly id: string
  /**
   * Decodes `routing.strategies.<id>` of the configuration (or `{}`) strictly, and returns a ranking that closes over
   * it.
   */
  readonly load: (config: unknown) => Either.Either<Rank, ParseError>
  /** The same for `StrategyDefinition.why`. Absent: an explanation has only the order. */
  readonly loadWhy?: (config: unknown) => Either.Either<Why, ParseError>
}

/** The argument of `defineStrategy`. */
export interface StrategyDefinition<A, I> {
  readonly id: string
  /** Schema of `routing.strategies.<id>`. With defaults for all fields the strategy works unconfigured. */
  readonly config: Schema.Schema<A, I>
  readonly load: (config: A) => Rank
  /** The numbers that the ranking used for a candidate, for `POST /api/v1/route/explain`. */
  readonly why?: (candidate: Candidate, context: RankContext, config: A) => Reasons
}

/** Makes a strategy plugin: the default export of `plugins/strategies/<id>/index.ts`. */
export const defineStrategy = <A, I>(definition: StrategyDefinition<A, I>): StrategyPlugin => {
  const decode = decodeStrictly(definition.config)
  const { id, load, why } = definition
  return {
    kind: "strategy",
    contract: contractVersion,
    id,
    load: (raw) => Either.map(decode(raw), load),
    ...(why === undefined
      ? {}
      : {
          loadWhy: (raw) =>
            Either.map(decode(raw), (config) => (candidate, context) => why(candidate, context, config)),
        }),
  }
}
