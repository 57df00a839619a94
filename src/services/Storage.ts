/**
 * What is kept: keys and the ledger. Rows in, rows out; no rules live here. `layerMemory` keeps them in the process,
 * `sql/` in SQLite. Architecture 7 and 8.
 */
import * as Context from "effect/Context"
import type * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import type { KeyId } from "../domain/Ids.ts"
import type { KeyRecord, Spend } from "../domain/Key.ts"
import type { KeyPage, KeyPatch, LedgerRow, StorageUnavailable } from "./ledger.ts"
import { makeMemory } from "./storageMemory.ts"

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
  static readonly layerMemory = Layer.sync(Storage, makeMemory)
}
