/** The contract between the gateway and a routing strategy: a pure ranking of hosts. */
import * as Either from "effect/Either"
import type { ParseError } from "effect/ParseResult"
import type * as Schema from "effect/Schema"
import type { Host } from "../domain/hosts/Host.ts"
import type { Picodollars } from "../domain/price/money.ts"
import type { AnyRequest } from "../domain/request/operations.ts"
import type { Percentile } from "../domain/request/Thresholds.ts"
import { decodeStrictly } from "./checks/strict.ts"
import { type PluginContext, unheard } from "./PluginLog.ts"
import { contractVersion } from "./Provider.ts"

/**
 * Statistics of a host at the moment at which they are read. `null`: there is no sample. Percentiles come from
 * log-scaled histograms and are at most 5 % off.
 */
export interface HostSnapshot {
  /**
   * A significant outage in the last 30 seconds: more than half of its requests failed, or the last two did. Rate limits
   * and requests that it rightly refused are neither failures nor successes.
   */
  readonly failing: boolean
  /** Percent of the requests of the last 30 minutes that succeeded, counted as for `failing`. */
  readonly uptime: number | null
  /**
   * By the uptime of the last day: `normal` from 95 %, `degraded` from 80 %, `down` below. `normal` with fewer than 100
   * requests.
   */
  readonly standing: "normal" | "degraded" | "down"
  /** Milliseconds to the first token of streamed answers, median of the last 30 minutes. */
  readonly latencyMs: number | null
  /** Output tokens per second over the whole call, median of the last 30 minutes. */
  readonly throughput: number | null
  /**
   * Of the answers of the last day to requests with tools, the share from 0 to 1 without a malformed tool call: one whose
   * arguments are no JSON, or that names an unknown tool. A plain text is no malformed call.
   */
  readonly toolSuccess: number | null
  /** Milliseconds within which this percent of the answers of the last 5 minutes had their first token. */
  readonly latencyAt: (percentile: Percentile) => number | null
  /**
   * Output tokens per second that this percent of the answers of the last 5 minutes reached. So it falls with the
   * percentile: at 90 it is the tenth percentile of all speeds.
   */
  readonly throughputAt: (percentile: Percentile) => number | null
}

/** A host of which nothing was seen yet. */
export const unseenHost: HostSnapshot = {
  failing: false,
  uptime: null,
  standing: "normal",
  latencyMs: null,
  throughput: null,
  toolSuccess: null,
  latencyAt: () => null,
  throughputAt: () => null,
}

export interface Candidate {
  /** The same object until the configuration changes, so a `WeakMap` can cache what is computed for it. */
  readonly host: Host
  readonly stats: HostSnapshot
}

/** A beginning of the prompt that was answered before. */
export interface ServedPrompt {
  /** Its length in tokens, estimated from bytes. */
  readonly tokens: number
  /** Milliseconds since the last answer to a prompt that is or has this beginning. */
  readonly agoMs: number
}

/**
 * The conversation that a request continues, as far as it is known for this key. The prompt is hashed at the first call of
 * either method. A ranking that calls one has decided about the conversation: the host that served it last is then not put
 * in front of the ranking (stickiness).
 */
export interface ConversationView {
  /**
   * The longest beginning of this prompt that the host lately read and probably cached; `undefined`: none. Hosts that do not charge less for
   * what they read from a cache are taken to have none.
   */
  readonly warm: (host: Host) => ServedPrompt | undefined
  /**
   * The longest beginning of this prompt that any host lately answered to, cached or not: the conversation's last turn, or
   * the instructions that it shares with other conversations. `undefined`: none is known.
   */
  readonly last: () => ServedPrompt | undefined
}

/** The conversation of a request of which nothing is known. */
export const unknownConversation: ConversationView = { warm: () => undefined, last: () => undefined }

/** Whose request it is. Hashes stay the same within an installation, over restarts and processes, so a ranking can be sticky by them. */
export interface CallerView {
  /** The key's hash, as the API shows it (`hash`, `key_hash`). In an app with callers of its own: the id that it gave. `null`: nobody's. */
  readonly key: string | null
  /** Hash of the request's `user`, 16 hex digits, as `GET /activity?group_by=user` shows it. `null`: the request names nobody. */
  readonly user: string | null
  /**
   * Hash of the conversation, 16 hex digits: of the key with `session_id`, else with `prompt_cache_key`, else with the first instruction and
   * the first other message. It is computed when it is first read. `null`: the operation has no conversations.
   */
  readonly conversation: string | null
}

/** The caller of a request of which nothing is known. */
export const unknownCaller: CallerView = { key: null, user: null, conversation: null }

/** What the caller's key may still spend, at the moment of the plan. */
export interface BudgetView {
  /** Of the key, in its window. `null`: it has none. */
  readonly limit: Picodollars | null
  /** What is neither spent nor reserved by requests in flight, at least 0. `null`: there is no limit. */
  readonly left: Picodollars | null
  /** When the limit begins anew, Unix milliseconds. `null`: never. */
  readonly resetsAt: number | null
}

/** The budget of a key without a limit. */
export const unlimitedBudget: BudgetView = { limit: null, left: null, resetsAt: null }

/** Everything that a ranking may depend on besides the candidates, so that a test can fix it. */
export interface RankContext {
  /** Unix milliseconds. */
  readonly now: number
  /** A number in [0, 1), another one at each call; seeded in tests. */
  readonly random: () => number
  /** The wanted models, the preferences and the bounds of the request. */
  readonly request: Pick<AnyRequest, "routing" | "bounds">
  readonly conversation: ConversationView
  readonly caller: CallerView
  readonly budget: BudgetView
  /**
   * What this request will probably cost at a host: an estimate from its size, without what a cache may save, at the prices of now.
   * `null`: the host's price is unknown.
   */
  readonly expectedCost: (host: Host) => Picodollars | null
}

/**
 * Orders hosts as they are to be tried. It must return all of them, each once, and must have no side effects. When it
 * throws, loses a host or takes more than a second, its order is not used for that request.
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
   * it. Without a `context` what the plugin logs is not heard.
   */
  readonly load: (config: unknown, context?: PluginContext) => Either.Either<Rank, ParseError>
  /** The same for `StrategyDefinition.why`. Absent: an explanation has only the order. */
  readonly loadWhy?: (config: unknown) => Either.Either<Why, ParseError>
}

/** The argument of `defineStrategy`. */
export interface StrategyDefinition<A, I> {
  readonly id: string
  /** Schema of `routing.strategies.<id>`. With defaults for all fields the strategy works unconfigured. */
  readonly config: Schema.Schema<A, I>
  /** `context.log` is the plugin's logger. */
  readonly load: (config: A, context: PluginContext) => Rank
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
    load: (raw, context = unheard) => Either.map(decode(raw), (config) => load(config, context)),
    ...(why === undefined
      ? {}
      : {
          loadWhy: (raw) =>
            Either.map(decode(raw), (config) => (candidate, context) => why(candidate, context, config)),
        }),
  }
}
