/**
 * What the gateway keeps: one repository per kind of record, and the id of the installation. Rows in, rows out; the rules
 * about them live in the services above. `src/sql` has the layers: a SQLite file, or a database in memory.
 *
 * Each method is one transaction. Its arguments and its result are plain data, since they may cross to another thread.
 */
import * as Context from "effect/Context"
import type * as Effect from "effect/Effect"
import type { KeyId } from "../domain/Ids.ts"
import type { KeyRecord, Spend } from "../domain/Key.ts"
import type { KeyPage, KeyPatch, LedgerRow, StorageUnavailable } from "./ledger.ts"

export interface KeyRepository {
  /** `undefined`: there is no such key. */
  readonly find: (id: KeyId) => Effect.Effect<KeyRecord | undefined, StorageUnavailable>
  /** Ordinary keys, newest first. */
  readonly list: (page: KeyPage) => Effect.Effect<ReadonlyArray<KeyRecord>, StorageUnavailable>
  /** How many management keys there are. None: the installation has not been started before. */
  readonly countManagement: () => Effect.Effect<number, StorageUnavailable>
  /** Does nothing when the key is there already. */
  readonly insert: (key: KeyRecord) => Effect.Effect<void, StorageUnavailable>
  /** The key after the change; `undefined` when there is none. */
  readonly update: (id: KeyId, patch: KeyPatch) => Effect.Effect<KeyRecord | undefined, StorageUnavailable>
  /** Whether it was there. Its ledger rows stay. */
  readonly remove: (id: KeyId) => Effect.Effect<boolean, StorageUnavailable>
}

export interface LedgerRepository {
  /** All rows or none, durable when it succeeds. A row whose request id is there already is left out, and not counted again. */
  readonly append: (rows: ReadonlyArray<LedgerRow>) => Effect.Effect<void, StorageUnavailable>
  /** What the key has spent in all, and in the windows that contain `now` (Unix milliseconds). */
  readonly spend: (key: KeyId, now: number) => Effect.Effect<Spend, StorageUnavailable>
  /** Rows of a key, newest admission first, at most `limit`. */
  readonly rows: (key: KeyId, limit: number) => Effect.Effect<ReadonlyArray<LedgerRow>, StorageUnavailable>
}

export class Storage extends Context.Tag("headgate/Storage")<
  Storage,
  {
    /** The installation's own id: a UUID, made once. */
    readonly installation: string
    readonly keys: KeyRepository
    readonly ledger: LedgerRepository
  }
>() {}
