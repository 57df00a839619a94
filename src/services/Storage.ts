/**
 * The gateway's data at rest: one repository per kind of record, and the id of the installation. It has no rules about
 * the records. `src/sql` has the layers: a SQLite file, or a database in memory.
 *
 * Each method is one transaction. Its arguments and its result are plain data, since they may be passed to another
 * thread.
 */
import * as Context from "effect/Context"
import type * as Effect from "effect/Effect"
import type { Author } from "../domain/Audit.ts"
import type { KeyId } from "../domain/Ids.ts"
import type { KeyRecord, Spend } from "../domain/Key.ts"
import type { KeptSlot } from "./HostStats.ts"
import type { KeyPage, KeyPatch, LedgerRow, StorageUnavailable } from "./ledger.ts"

/** A change and its row of the audit log are one transaction. */
export interface KeyRepository {
  /** The key; `undefined` when there is none. */
  readonly find: (id: KeyId) => Effect.Effect<KeyRecord | undefined, StorageUnavailable>
  /** Ordinary keys, newest first. */
  readonly list: (page: KeyPage) => Effect.Effect<ReadonlyArray<KeyRecord>, StorageUnavailable>
  /** Number of management keys. Zero before the first start of the installation. */
  readonly countManagement: () => Effect.Effect<number, StorageUnavailable>
  /** Does nothing when the key exists already. */
  readonly insert: (key: KeyRecord, author: Author) => Effect.Effect<void, StorageUnavailable>
  /** The key after the change; `undefined` when there is none. */
  readonly update: (
    id: KeyId,
    patch: KeyPatch,
    author: Author,
  ) => Effect.Effect<KeyRecord | undefined, StorageUnavailable>
  /** Whether the key existed. Its ledger rows stay. */
  readonly remove: (id: KeyId, author: Author) => Effect.Effect<boolean, StorageUnavailable>
}

/** Requests of keys to free models, counted by UTC day. Only the last day of each key is kept. */
export interface FreeRequestRepository {
  /** `day`: its first Unix millisecond. */
  readonly used: (key: KeyId, day: number) => Effect.Effect<number, StorageUnavailable>
  /** Counts so many more; for a day before the last one nothing. Durable when it succeeds. */
  readonly add: (key: KeyId, day: number, count: number) => Effect.Effect<void, StorageUnavailable>
}

export interface LedgerRepository {
  /**
   * All rows or none, durable when it succeeds. A row whose request id exists already is skipped, and not counted
   * again.
   */
  readonly append: (rows: ReadonlyArray<LedgerRow>) => Effect.Effect<void, StorageUnavailable>
  /** What the key has spent in total, and in the windows that contain `now` (Unix milliseconds). */
  readonly spend: (key: KeyId, now: number) => Effect.Effect<Spend, StorageUnavailable>
  /** Rows of a key, newest admission first, at most `limit`. */
  readonly rows: (key: KeyId, limit: number) => Effect.Effect<ReadonlyArray<LedgerRow>, StorageUnavailable>
}

/** Host statistics in slots of time. Every call is short, since the ledger waits for it. */
export interface HostStatsRepository {
  /** Each in place of the slot of the same time that was kept before. A few hundred at most. */
  readonly put: (slots: ReadonlyArray<KeptSlot>) => Effect.Effect<void, StorageUnavailable>
  /** At most `limit` slots, those with a `seq` above `after`, by ascending `seq`. */
  readonly list: (after: number, limit: number) => Effect.Effect<ReadonlyArray<StoredSlot>, StorageUnavailable>
  /** Removes the slots of this length, in minutes, that began at `start` or before. */
  readonly removeUpTo: (minutes: number, start: number) => Effect.Effect<void, StorageUnavailable>
}

export interface StoredSlot extends KeptSlot {
  /** Place in the order of `list`. */
  readonly seq: number
}

export class Storage extends Context.Tag("headgate/Storage")<
  Storage,
  {
    /** The installation's own id: a UUID, made once. */
    readonly installation: string
    readonly keys: KeyRepository
    readonly freeRequests: FreeRequestRepository
    readonly ledger: LedgerRepository
    readonly hostStats: HostStatsRepository
  }
>() {}
