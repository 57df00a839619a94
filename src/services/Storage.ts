/**
 * What is kept: keys and the ledger. Rows in, rows out; no rules live here. `layerMemory` keeps them in the process,
 * `sql/` in SQLite or PostgreSQL. Architecture 7 and 8.
 */
import * as Context from "effect/Context"
import * as Data from "effect/Data"
import type * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import type { KeyId } from "../domain/Ids.ts"
import type { KeyRecord, Spend } from "../domain/Key.ts"
import type { Picodollars } from "../domain/Money.ts"
import { makeMemory } from "./storageMemory.ts"

/** The database could not be read or written. Nothing was changed. */
export class StorageUnavailable extends Data.TaggedError("StorageUnavailable")<{ readonly reason: string }> {
  override get message() {
    return `The database is not available: ${this.reason}`
  }
}

/** One settled request: a line of the ledger. Never changed, never removed. */
export interface LedgerRow {
  readonly requestId: string
  readonly generationId: string
  readonly key: KeyId
  readonly model: string
  readonly host: string
  readonly provider: string
  /** What the caller pays, and what the provider will ask of us for it. They differ where a failure is free to the caller. */
  readonly cost: Picodollars
  readonly upstreamCost: Picodollars
  readonly promptTokens: number
  readonly completionTokens: number
  readonly cachedTokens: number
  readonly cacheWriteTokens: number
  readonly reasoningTokens: number
  /** Whether the tokens were counted by us, since the host did not. */
  readonly estimated: boolean
  readonly streamed: boolean
  /** "" while unknown. */
  readonly finishReason: string
  /** `finished`; or who broke it off. G5. */
  readonly outcome: "finished" | "host-failed" | "cut" | "caller-gone"
  /** Unix milliseconds: the request belongs to the windows in which it was admitted. G7. */
  readonly admittedAt: number
  readonly settledAt: number
  /** Milliseconds to the first token, and to the end. */
  readonly latencyMs: number
  readonly durationMs: number
  /** Attribution, cut to 200 characters; "" where the caller gave none. */
  readonly appTitle: string
  readonly appUrl: string
}

export interface KeyPage {
  readonly offset: number
  readonly limit: number
  readonly includeDisabled: boolean
}

/** Members that an update may set; absent: unchanged. */
export type KeyPatch = Partial<
  Pick<KeyRecord, "name" | "disabled" | "limit" | "limitReset" | "includeByokInLimit" | "updatedAt">
>

export class Storage extends Context.Tag("headgate/Storage")<
  Storage,
  {
    /** The installation's own id: a UUID, made once. */
    readonly installation: Effect.Effect<string, StorageUnavailable>
    /** How many management keys there are; none: nobody has ever started this installation. */
    readonly managementKeys: Effect.Effect<number, StorageUnavailable>
    readonly findKey: (id: KeyId) => Effect.Effect<KeyRecord | undefined, StorageUnavailable>
    /** Does nothing when the key is there already. */
    readonly insertKey: (key: KeyRecord) => Effect.Effect<void, StorageUnavailable>
    /** The key as it is afterwards; `undefined` when there is none. */
    readonly updateKey: (id: KeyId, patch: KeyPatch) => Effect.Effect<KeyRecord | undefined, StorageUnavailable>
    /** Whether it was there. Its ledger rows stay. */
    readonly deleteKey: (id: KeyId) => Effect.Effect<boolean, StorageUnavailable>
    /** Ordinary keys, newest first. */
    readonly listKeys: (page: KeyPage) => Effect.Effect<ReadonlyArray<KeyRecord>, StorageUnavailable>
    /** All rows or none, durable when it succeeds. A row whose request id is there already is left out, and not counted again. */
    readonly append: (rows: ReadonlyArray<LedgerRow>) => Effect.Effect<void, StorageUnavailable>
    /** What the key spent in all, and in the windows that `now` (Unix milliseconds) lies in. */
    readonly spend: (key: KeyId, now: number) => Effect.Effect<Spend, StorageUnavailable>
    /** Rows of a key, newest first, at most `limit`. */
    readonly ledger: (key: KeyId, limit: number) => Effect.Effect<ReadonlyArray<LedgerRow>, StorageUnavailable>
  }
>() {
  /** A database of its own for whoever builds it, gone with the process. */
  static readonly layerMemory = Layer.sync(Storage, () => makeMemory((reason) => new StorageUnavailable({ reason })))
}
