/** The contract between the house and a routing strategy: a pure ranking of hosts. Architecture, plugin contract. */
import * as Either from "effect/Either"
import type { ParseError } from "effect/ParseResult"
import type * as Schema from "effect/Schema"
import type { ChatRequest } from "../domain/Chat.ts"
import type { Host } from "../domain/Host.ts"
import { contractVersion } from "./Provider.ts"
import { decodeStrictly } from "./strict.ts"

/** What was lately seen of a host. `null` where too little was. */
export interface Seen {
  /** It failed significantly within the last 30 seconds. */
  readonly failing: boolean
  /** Percent of the last 30 minutes. */
  readonly uptime: number | null
  /** Milliseconds to the first token, median of the last 30 minutes. */
  readonly latencyMs: number | null
  /** Output tokens per second, median of the last 30 minutes. */
  readonly throughput: number | null
}

export interface Candidate {
  readonly host: Host
  readonly seen: Seen
}

/** Everything a ranking may depend on besides the candidates, so that a test can fix it. */
export interface RankContext {
  readonly request: ChatRequest
  /** Unix milliseconds. */
  readonly now: number
  /** In [0, 1), seeded in tests. */
  readonly random: () => number
}

/** Puts the hosts of one model into the order in which they are tried. It may not drop or add any. */
export type Rank = (candidates: ReadonlyArray<Candidate>, context: RankContext) => ReadonlyArray<Candidate>

export interface StrategyPlugin {
  readonly kind: "strategy"
  readonly contract: number
  /** Equal to the folder's name, and to the value of `provider.sort` that asks for it. */
  readonly id: string
  readonly load: (config: unknown) => Either.Either<Rank, ParseError>
}

export interface StrategyDefinition<A, I> {
  readonly id: string
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
