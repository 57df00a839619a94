/**
 * What the repositories of `Storage` take and return: rows of the ledger, pages and changes of keys, and the one
 * failure.
 */
import * as Data from "effect/Data"
import * as Effect from "effect/Effect"
import type { AnswerOutcome } from "../domain/Charge.ts"
import { Unavailable } from "../domain/Failure.ts"
import type { KeyId } from "../domain/Ids.ts"
import type { KeyRecord } from "../domain/Key.ts"
import type { Picodollars } from "../domain/Money.ts"

/** The database could not be read or written. Nothing was changed. */
export class StorageUnavailable extends Data.TaggedError("StorageUnavailable")<{
  readonly reason: string
  /** The database refused the values, so a retry cannot succeed. */
  readonly refused?: boolean
}> {
  override get message() {
    return `The database is not available: ${this.reason}`
  }
}

/** The failure that a caller sees when the database fails. The reason is for the operator, so it is logged here. */
export const orUnavailable =
  (why: "metering" | "storage") =>
  <A>(effect: Effect.Effect<A, StorageUnavailable>): Effect.Effect<A, Unavailable> =>
    Effect.catchTag(effect, "StorageUnavailable", ({ message }) =>
      Effect.zipRight(Effect.logError(message), Effect.fail(new Unavailable({ why, retryAfterSeconds: 5 }))),
    )

/** One settled request: a line of the ledger. Never changed, never removed. */
export interface LedgerRow {
  /** Unique. With `-lost` at its end for a call of a request that another one was faster than. */
  readonly requestId: string
  readonly generationId: string
  readonly key: KeyId
  readonly model: string
  readonly host: string
  readonly provider: string
  /** What the caller pays, and what the provider charges for it. They differ where a failure is free to the caller. */
  readonly cost: Picodollars
  readonly upstreamCost: Picodollars
  readonly promptTokens: number
  readonly completionTokens: number
  readonly cachedTokens: number
  readonly cacheWriteTokens: number
  readonly reasoningTokens: number
  /** Whether the tokens were estimated, because the host reported no valid usage. */
  readonly estimated: boolean
  readonly streamed: boolean
  /** "" while unknown. */
  readonly finishReason: string
  /** `finished`, or who ended it early. */
  readonly outcome: AnswerOutcome
  /** Unix milliseconds. The request counts in the windows of this moment. */
  readonly admittedAt: number
  readonly settledAt: number
  /** Milliseconds to the first token, and to the end. */
  readonly latencyMs: number
  readonly durationMs: number
  /** Attribution, cut to 200 characters; "" where the caller gave none. */
  readonly appTitle: string
  readonly appUrl: string
  /**
   * How the hosts were ordered: id of the strategy, and `Plan.seed`. Together with the request they repeat the plan. Rows from
   * before these columns have "" and 0.
   */
  readonly strategy: string
  readonly seed: number
}

/** A request in flight, as its process last wrote it. */
export interface JournalEntry {
  readonly id: string
  /** `held`: its host was not called yet; `dispatched`: it had sent nothing; `streaming`: something was delivered. */
  readonly state: "held" | "dispatched" | "streaming"
  /** Its row if the process were killed then. */
  readonly row: LedgerRow
}

/** An entry whose process is gone. `row` is `undefined` where it cannot be read, since another version wrote it. */
export interface Orphan extends Omit<JournalEntry, "row"> {
  readonly row: LedgerRow | undefined
}

export interface KeyPage {
  readonly offset: number
  readonly limit: number
  readonly includeDisabled: boolean
}

/** Members that an update may set; absent: unchanged. */
export type KeyPatch = Partial<
  Pick<
    KeyRecord,
    | "name"
    | "disabled"
    | "limit"
    | "limitReset"
    | "includeByokInLimit"
    | "rateLimit"
    | "allowedModels"
    | "allowedProviders"
    | "updatedAt"
  >
>
