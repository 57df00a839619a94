/** Sessions at rest: who has signed in with a key, from where a browser has only a cookie since. */
import type * as Effect from "effect/Effect"
import type { KeyId } from "../../domain/ids.ts"
import type { Author } from "../../domain/keys/audit.ts"
import type { StorageUnavailable } from "./StorageUnavailable.ts"

/** Times are Unix milliseconds. */
export interface SessionRecord {
  /** Lower-case hex SHA-256 of the session's id. The id itself is nowhere but in the cookie. */
  readonly id: string
  /** The hash of the secret that signed in, as `keyId` makes it. */
  readonly secret: KeyId
  readonly createdAt: number
  readonly seenAt: number
}

/** `author`: the audit log has a row of it, in the same transaction. */
export interface SessionRepository {
  /** Of the sessions of its secret the newest `most` stay, with this one. */
  readonly insert: (
    session: SessionRecord,
    most: number,
    author: Author | undefined,
  ) => Effect.Effect<void, StorageUnavailable>
  readonly find: (id: string) => Effect.Effect<SessionRecord | undefined, StorageUnavailable>
  /** It was used at this time. A session that is gone stays so. */
  readonly seen: (id: string, at: number) => Effect.Effect<void, StorageUnavailable>
  readonly remove: (id: string, author: Author | undefined) => Effect.Effect<void, StorageUnavailable>
  /** Removes at most `limit` of those that were last used at `seenAt` or before; how many. */
  readonly prune: (seenAt: number, limit: number) => Effect.Effect<number, StorageUnavailable>
}
