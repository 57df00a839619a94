/** What a database has that several gateways use at once: leases of processes, slices of budgets, shares of rate limits, and events. */
import type * as Effect from "effect/Effect"
import type * as Scope from "effect/Scope"
import type { KeyId } from "../../domain/ids.ts"
import type { BudgetWindow, Grant } from "../../domain/money/Slice.ts"
import type { Picodollars } from "../../domain/price/money.ts"
import type { RateLimit } from "../../domain/structures/SlidingWindow.ts"
import type { StorageUnavailable } from "./StorageUnavailable.ts"

/** Leases of processes, by the clock of the database: see `ProcessLease.ts`. A process's slices end with its lease, and with its entries in the journal. */
export interface LeaseRepository {
  /** The process has a lease from now on, for so many milliseconds. */
  readonly take: (process: string, forMs: number) => Effect.Effect<void, StorageUnavailable>
  /** The same again; `false`: its lease has ended. */
  readonly renew: (process: string, forMs: number) => Effect.Effect<boolean, StorageUnavailable>
  /** The lease ends now. */
  readonly end: (process: string) => Effect.Effect<void, StorageUnavailable>
  /** Removes the leases that have ended, and the slices of processes that have neither a lease nor an entry in the journal. */
  readonly clear: Effect.Effect<void, StorageUnavailable>
}

/** Slices of budgets: see `Slices.ts`. */
export interface SliceRepository {
  /**
   * Adds to the slice of a process what it needs, or an eighth of what is left where that is more; nothing where less
   * is left. `undefined`: the process has no lease.
   */
  readonly take: (
    process: string,
    budget: BudgetWindow,
    limit: Picodollars,
    need: Picodollars,
  ) => Effect.Effect<Grant | undefined, StorageUnavailable>
  readonly giveBack: (
    process: string,
    budget: BudgetWindow,
    amount: Picodollars,
  ) => Effect.Effect<void, StorageUnavailable>
  /** What the process has, for one that missed an answer. */
  readonly kept: (process: string, budget: BudgetWindow) => Effect.Effect<Picodollars, StorageUnavailable>
  /** Asks the other processes to give back what they do not use. */
  readonly want: (process: string, budget: BudgetWindow) => Effect.Effect<void, StorageUnavailable>
}

/** A limit of a key on its requests: its own, or that of free models per minute. */
export interface RateWindow {
  readonly key: KeyId
  readonly scope: "key" | "free"
}

/** What a process asks for of a rate limit. */
export interface PermitsAsked {
  /** Names of its share since it last heard of it; the share gets the last one. */
  readonly holders: readonly [string, ...ReadonlyArray<string>]
  /** Permits that it has, if none of its shares has ended. */
  readonly have: number
  /** How many more it needs; 0: the share is only renewed. It gets `preferred` at most where fewer are needed, and half of what is left. */
  readonly needed: number
  readonly preferred: number
  readonly limit: RateLimit
  readonly leaseMs: number
}

export interface Permits {
  /** In its share now. */
  readonly permits: number
  /** In the shares of others. */
  readonly others: number
  /** Milliseconds until one more is free at the latest, if nobody takes it before; `null`: not known. */
  readonly freeInMs: number | null
}

/** Requests that were counted, by their age in milliseconds. */
export interface CountedRequests {
  readonly ageMs: number
  readonly requests: number
}

/** Shares of rate limits: see `SharedWindows.ts`. */
export interface RateShareRepository {
  readonly take: (window: RateWindow, asked: PermitsAsked) => Effect.Effect<Permits, StorageUnavailable>
  /** Ends a share: what it has counted is kept for all. Nothing happens when it has ended already. */
  readonly giveBack: (
    window: RateWindow,
    holders: ReadonlyArray<string>,
    counted: ReadonlyArray<CountedRequests>,
  ) => Effect.Effect<void, StorageUnavailable>
  /** Asks the other processes to give back their shares. */
  readonly want: (process: string, window: RateWindow) => Effect.Effect<void, StorageUnavailable>
  /** Removes what counts in no window any more. */
  readonly prune: Effect.Effect<void, StorageUnavailable>
}

/** A question of a process to the others about the requests that run there. */
export interface LiveQuestion {
  readonly id: string
  /** The request that is to be stopped, if it runs there; `null`: which requests run? */
  readonly stop: string | null
}

/** What a process answers: text of `services/live`. */
export interface LiveAnswer {
  readonly process: string
  readonly content: string
}

/** Questions about running requests: see `services/live`. They are removed by `close`, or when they are old. */
export interface LiveRepository {
  /** Asks the other processes that have a lease. Which ones they are; nothing is asked where there are none. */
  readonly ask: (process: string, question: LiveQuestion) => Effect.Effect<ReadonlyArray<string>, StorageUnavailable>
  readonly answer: (question: string, answer: LiveAnswer) => Effect.Effect<void, StorageUnavailable>
  readonly answers: (question: string) => Effect.Effect<ReadonlyArray<LiveAnswer>, StorageUnavailable>
  readonly close: (question: string) => Effect.Effect<void, StorageUnavailable>
}

/** What processes did, this one too. Listeners hear of it within 5 seconds, usually at once, and possibly twice. */
export interface SharedEvents {
  /** A key was changed. `isRevoked`: it was deleted or disabled. */
  readonly keyChanged?: (key: KeyId, isRevoked: boolean) => void
  /** `SliceRepository.want` of a process. May be missed. */
  readonly wanted?: (budget: BudgetWindow, by: string) => void
  /** `RateShareRepository.want` of a process. May be missed. */
  readonly permitsWanted?: (window: RateWindow, by: string) => void
  /** `LiveRepository.ask` of a process. Within 2 seconds, and again as long as the question is open. */
  readonly asked?: (question: LiveQuestion) => void
  /** `LiveRepository.answer` to a question. May be missed. */
  readonly answered?: (question: string) => void
}

/** What a database has that several gateways use at once. */
export interface SharedRepositories {
  readonly leases: LeaseRepository
  readonly slices: SliceRepository
  readonly rates: RateShareRepository
  readonly live: LiveRepository
  /** Calls the listener from then on until the scope closes. */
  readonly on: (listener: SharedEvents) => Effect.Effect<void, never, Scope.Scope>
}
