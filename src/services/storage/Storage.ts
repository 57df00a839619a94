/**
 * The gateway's data at rest: one repository per kind of record, and the id of the installation. It has no rules about
 * the records. `src/sql` has the layers: a SQLite file, a database of PostgreSQL, or one in memory.
 *
 * Each method is one transaction. Its arguments and its result are plain data, since they may be passed to another
 * thread.
 */
import * as Context from "effect/Context"
import * as Data from "effect/Data"
import type * as Effect from "effect/Effect"
import type { KeptSlot } from "../../domain/hosts/HostFigures.ts"
import type { KeyId } from "../../domain/ids.ts"
import type { AuditedChange, Author } from "../../domain/keys/audit.ts"
import type { ChangeableMember, KeyRecord } from "../../domain/keys/key.ts"
import type { LimitReset, Spend } from "../../domain/keys/limitWindows.ts"
import type { DaySum, SpanQuery, SpanSum, SumQuery } from "../../domain/money/activity.ts"
import type { Picodollars } from "../../domain/price/money.ts"
import type { PriceVersion } from "../../domain/price/PriceVersion.ts"
import type { AlertRepository } from "./alerts.ts"
import type { AnalyticsRepository } from "./analytics.ts"
import type { DiskSpace } from "./diskSpace.ts"
import type { LedgerRow, NewRow } from "./ledger.ts"
import type { Hindrance, Outage } from "./Outage.ts"
import type { RequestRepository } from "./requests.ts"
import type { SharedRepositories } from "./SharedRepositories.ts"
import type { StorageUnavailable } from "./StorageUnavailable.ts"
import type { SessionRepository } from "./sessions.ts"

/** A key as one of its secrets names it. */
export interface FoundKey extends KeyRecord {
  /** Unix milliseconds from which on this secret is not accepted; absent: it is as long as the key is. */
  readonly secretEndsAt?: number
}

/** Another secret of a key. */
export interface NewSecret {
  /** The secret's hash, as `keyId` makes it. */
  readonly id: KeyId
  /** `KeyRecord.label` from then on. */
  readonly label: string
  /** The secrets before it end then at the latest, Unix milliseconds. */
  readonly othersEndAt: number
}

/** Which keys are meant. */
export interface KeyFilter {
  /** Default: ordinary keys. */
  readonly kind?: KeyRecord["kind"]
  readonly includeDisabled: boolean
  /** Keys with this tag. */
  readonly tag?: string
  /** Keys with this text in their name, their label or their owner, whatever the case of its letters of ASCII. */
  readonly search?: string
  /** Keys with a limit of what they may spend. */
  readonly isLimited?: true
}

export interface KeyPage extends KeyFilter {
  readonly offset: number
  readonly limit: number
}

/**
 * How many keys are looked through and counted, the newest first: on a file every statement waits for the one before it, also a commit of
 * the ledger.
 */
export const mostKeysSearched = 100_000

/** Members that an update may set; absent: unchanged. */
export type KeyPatch = Partial<Pick<KeyRecord, ChangeableMember | "updatedAt">>

/** Nothing was changed: no management key would be left that may do everything and does not expire (`isLastingManager`). */
export type LastManager = "last manager"

/** A change and its row of the audit log are one transaction. `keepsManager`: a change that would give `LastManager` is not made. */
export interface KeyRepository {
  /** The key with a secret of this hash; `undefined` when there is none. The hash of a key's first secret is its id. */
  readonly find: (secret: KeyId) => Effect.Effect<FoundKey | undefined, StorageUnavailable>
  /** Newest first. With a tag, a text or `isLimited`, of the newest `mostKeysSearched`. */
  readonly list: (page: KeyPage) => Effect.Effect<ReadonlyArray<KeyRecord>, StorageUnavailable>
  /** How many ordinary keys there are, of the newest `mostKeysSearched`. */
  readonly count: (filter: KeyFilter) => Effect.Effect<number, StorageUnavailable>
  /** Number of management keys. Zero before the first start of the installation. */
  readonly countManagement: () => Effect.Effect<number, StorageUnavailable>
  /** Does nothing when the key exists already. */
  readonly insert: (key: KeyRecord, author: Author) => Effect.Effect<void, StorageUnavailable>
  /** The same, unless there is a management key already. Whether it was inserted. */
  readonly insertFirst: (key: KeyRecord, author: Author) => Effect.Effect<boolean, StorageUnavailable>
  /** The key after the change; `undefined` when there is none. */
  readonly update: (
    id: KeyId,
    patch: KeyPatch,
    author: Author,
    keepsManager?: boolean,
  ) => Effect.Effect<KeyRecord | LastManager | undefined, StorageUnavailable>
  /** Gives the key another secret; the key after that; `undefined` when there is none. */
  readonly rotate: (
    id: KeyId,
    secret: NewSecret,
    author: Author,
  ) => Effect.Effect<KeyRecord | undefined, StorageUnavailable>
  /** When the last one of the secrets before the newest ends, of those of at most a few hundred keys that were rotated, Unix milliseconds. */
  readonly previousEnds: (ids: ReadonlyArray<KeyId>) => Effect.Effect<ReadonlyMap<KeyId, number>, StorageUnavailable>
  /** Whether the key existed. Its secrets go with it, its ledger rows stay. */
  readonly remove: (
    id: KeyId,
    author: Author,
    keepsManager?: boolean,
  ) => Effect.Effect<boolean | LastManager, StorageUnavailable>
}

/** The audit log, for changes of what is not in the database. Those of keys are logged with the change itself. */
export interface AuditRepository {
  readonly record: (change: AuditedChange, author: Author) => Effect.Effect<void, StorageUnavailable>
}

/** How many requests to free models a key has made on a day: its first Unix millisecond. */
export interface FreeDay {
  readonly day: number
  readonly used: number
}

/** Requests of keys to free models, counted by UTC day. Only the last day of each key is kept. */
export interface FreeRequestRepository {
  /** The last day on which a key had any; `undefined`: there is none. */
  readonly last: (key: KeyId) => Effect.Effect<FreeDay | undefined, StorageUnavailable>
  /**
   * Counts one more, unless there are `limit` already: whether it did. The day before the last one counts as that; before
   * that, the last one was of a wrong clock, and is replaced.
   */
  readonly take: (key: KeyId, day: number, limit: number) => Effect.Effect<boolean, StorageUnavailable>
  /** Counts so many more on a day (its first Unix millisecond), as `take` does; for the day before the last one nothing. Durable when it succeeds. */
  readonly add: (key: KeyId, day: number, count: number) => Effect.Effect<void, StorageUnavailable>
}

/** `spooled`: the rows are durable on this machine, and will be in the database when it is back. */
// biome-ignore lint/suspicious/noConfusingVoidType: most databases have nothing to say.
export type Appended = void | "spooled"

export interface LedgerRepository {
  /**
   * All rows or none, durable when it succeeds. A row whose request id exists already is skipped, and not counted
   * again. The cost of a row with a slice leaves that slice.
   */
  readonly append: (rows: ReadonlyArray<NewRow>) => Effect.Effect<Appended, StorageUnavailable>
  /**
   * Whether new requests may start, or why not: the disk is so full that only those in flight can be booked, rows are
   * spooled, or the file of the database is not at its place any more.
   */
  readonly takesRequests: () => Effect.Effect<true | Hindrance, StorageUnavailable>
  /** What the key has spent in total, and in the windows that contain `now` (Unix milliseconds). */
  readonly spend: (key: KeyId, now: number) => Effect.Effect<Spend, StorageUnavailable>
  /** The same of each of at most a few hundred keys, in their order. */
  readonly spendOf: (keys: ReadonlyArray<KeyId>, now: number) => Effect.Effect<ReadonlyArray<Spend>, StorageUnavailable>
  /** The same of a key of a provider (`LedgerRow.providerKey`): its rows' upstream costs. */
  readonly providerSpend: (providerKey: string, now: number) => Effect.Effect<Spend, StorageUnavailable>
  /** The same of every key of a provider that was charged something, in the order of their names. */
  readonly providerSpends: (now: number) => Effect.Effect<ReadonlyArray<ProviderSpend>, StorageUnavailable>
  /** The row of a request; `undefined` when there is none. */
  readonly find: (requestId: string) => Effect.Effect<LedgerRow | undefined, StorageUnavailable>
  /** Rows of a key, newest admission first, at most `limit`. Reads the whole ledger. */
  readonly rows: (key: KeyId, limit: number) => Effect.Effect<ReadonlyArray<LedgerRow>, StorageUnavailable>
  /** The row of a generation, not that of a call which another one was faster than; `undefined`: there is none. */
  readonly generation: (id: string) => Effect.Effect<LedgerRow | undefined, StorageUnavailable>
  /** Rows of all keys in the order in which they were written, those with a `seq` above `after`, at most `limit`. */
  readonly page: (after: number, limit: number) => Effect.Effect<ReadonlyArray<StoredRow>, StorageUnavailable>
  /**
   * What the rows of each key cost by UTC day, and the sums that `spend` reads, both at one moment. A page has the keys above
   * `after` ("": from the first) in ascending order, each with all of its sums. It ends with the key whose sums take the page
   * past `most` of those that `spend` reads. Reads the whole ledger.
   */
  readonly keySums: (after: string, most: number) => Effect.Effect<ReadonlyArray<KeySum>, StorageUnavailable>
  /** The same of the keys of providers, all of them: upstream costs, and the sums that `providerSpend` reads. */
  readonly providerSums: () => Effect.Effect<ReadonlyArray<ProviderSum>, StorageUnavailable>
}

export interface StoredRow extends LedgerRow {
  /** Place in the order of `page`. */
  readonly seq: number
}

export interface LedgerSum {
  /** `rows`: of the rows themselves, always `daily`. `spend`: as it was kept along with them. */
  readonly source: "rows" | "spend"
  readonly window: LimitReset | "total"
  /** The window's first Unix millisecond; 0 for `total`. */
  readonly start: number
  readonly amount: Picodollars
}

export interface ProviderSpend {
  /** `LedgerRow.providerKey`. */
  readonly providerKey: string
  readonly spend: Spend
}

export interface KeySum extends LedgerSum {
  readonly key: KeyId
}

export interface ProviderSum extends LedgerSum {
  /** `LedgerRow.providerKey`. */
  readonly providerKey: string
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

/**
 * Requests in flight, and the leases of the processes that serve them: see `Journal.ts`. Where several gateways share the
 * database, `LeaseRepository` has the leases: `leaseEnd` and `end` do nothing, and `now` is the database's.
 */
export interface JournalRepository {
  /** Renews the lease of a process until `leaseEnd`, puts each entry in place of that with its id, and removes those of `closed`. */
  readonly write: (
    process: string,
    leaseEnd: number,
    entries: ReadonlyArray<JournalEntry>,
    closed: ReadonlyArray<string>,
  ) => Effect.Effect<void, StorageUnavailable>
  /** The lease of a process ends now. */
  readonly end: (process: string) => Effect.Effect<void, StorageUnavailable>
  /** At most `limit` entries of processes without a lease at `now` (Unix milliseconds). */
  readonly orphans: (now: number, limit: number) => Effect.Effect<ReadonlyArray<Orphan>, StorageUnavailable>
  /** Removes orphans. */
  readonly clear: (ids: ReadonlyArray<string>) => Effect.Effect<void, StorageUnavailable>
}

/** A key that has spent something, also one that was deleted. */
export interface Spender {
  readonly key: KeyId
  /** Its last name; `null`: none is known, as of keys that an embedder accepts. */
  readonly name: string | null
  readonly isDeleted: boolean
  readonly spend: Spend
}

/** Rows of a part. The thread of SQLite takes some 10 ms for them, and commits wait meanwhile. */
export const spanPartRows = 5000

export interface SpanPart {
  readonly sums: ReadonlyArray<SpanSum>
  /** The id below which the next part begins; `null`: this was the last one. */
  readonly next: string | null
}

/** The ledger summed by UTC day. A sum contains a row as soon as the ledger does. */
export interface ActivityRepository {
  /** The newest day first, then by model, host, key and app. */
  readonly sums: (query: SumQuery) => Effect.Effect<ReadonlyArray<DaySum>, StorageUnavailable>
  /**
   * Sums of the next `spanPartRows` rows of a span of time, of those whose ids are below `below` ("": the newest).
   * All parts together have each row once, if it was there when its part was read.
   */
  readonly spanSums: (query: SpanQuery, below: string) => Effect.Effect<SpanPart, StorageUnavailable>
  /** At most `limit` keys above `after` ("": from the first), in the order of their ids. `now`: Unix milliseconds. */
  readonly spenders: (
    after: string,
    limit: number,
    now: number,
  ) => Effect.Effect<ReadonlyArray<Spender>, StorageUnavailable>
  /** The last names of at most a few hundred keys, deleted ones too. A key without one here is not known, as of an embedder. */
  readonly names: (keys: ReadonlyArray<KeyId>) => Effect.Effect<ReadonlyMap<KeyId, string>, StorageUnavailable>
  /** What all keys have spent, deleted ones too. */
  readonly total: () => Effect.Effect<Picodollars, StorageUnavailable>
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

/** The prices that rows of the ledger were computed with. Never changed, never removed. */
export interface PriceRepository {
  /** Versions that exist already are skipped. Durable when it succeeds. */
  readonly put: (versions: ReadonlyArray<PriceVersion>) => Effect.Effect<void, StorageUnavailable>
  /** At most `limit` versions, those with an `id` above `after`, by ascending `id`. */
  readonly list: (after: number, limit: number) => Effect.Effect<ReadonlyArray<PriceVersion>, StorageUnavailable>
}

/** The first request under an Idempotency-Key, and what became of it. */
export interface IdempotencyRecord {
  /** Hash of key, route and the header's value. */
  readonly id: string
  readonly bodyHash: string
  readonly requestId: string
  /** Unix milliseconds until which the request counts as running, while it has no outcome. */
  readonly leaseEnd: number
  /** Unix milliseconds; from then on the record is as if it were not there. */
  readonly expiresAt: number
  /** `null`: no outcome yet. */
  readonly generationId: string | null
  /** Headers and body of the answer; `null`: not kept. */
  readonly headers: Readonly<Record<string, string>> | null
  readonly body: string | null
}

type ClaimedRecord = Pick<IdempotencyRecord, "id" | "requestId">

/** The bytes of a key's kept answers. */
export interface BytesOfKey {
  readonly key: KeyId
  readonly bytes: number
}

/**
 * Bytes that count until `until` (Unix milliseconds). They are summed by key and `until`, so use few distinct times.
 */
export interface CountedBytes extends BytesOfKey {
  readonly until: number
}

/** Requests under an Idempotency-Key: see `Idempotency.ts`. Changes are durable when they succeed. */
export interface IdempotencyRepository {
  /**
   * Puts the record where there is none with its id, or one that has expired at `now` (Unix milliseconds): `undefined`. Else
   * nothing changes, and the result is the record that is there. Of any number of claims at once one succeeds.
   */
  readonly claim: (
    record: IdempotencyRecord,
    now: number,
  ) => Effect.Effect<IdempotencyRecord | undefined, StorageUnavailable>
  /** Sets the end of the lease of those that have no outcome. */
  readonly renew: (ids: ReadonlyArray<string>, leaseEnd: number) => Effect.Effect<void, StorageUnavailable>
  /**
   * Keeps the outcome, and counts the bytes of the answer. Does nothing if there is an outcome already, or if the
   * record has expired and belongs to another request.
   */
  readonly keep: (
    outcome: ClaimedRecord & Pick<IdempotencyRecord, "generationId" | "headers" | "body">,
    bytes?: CountedBytes,
  ) => Effect.Effect<void, StorageUnavailable>
  /** Bytes of kept answers at `now`, for each key that has any, of all processes. */
  readonly keptBytes: (now: number) => Effect.Effect<ReadonlyArray<BytesOfKey>, StorageUnavailable>
  /** Removes the record, unless it belongs to another request by now. */
  readonly release: (claimed: ClaimedRecord) => Effect.Effect<void, StorageUnavailable>
  /**
   * Removes at most `limit` records that have expired at `now`, and returns how many. Also removes expired byte
   * counts.
   */
  readonly prune: (now: number, limit: number) => Effect.Effect<number, StorageUnavailable>
}

/** The whole database as it was at one moment. */
export interface DatabaseCopy {
  readonly bytes: number
  /** SHA-256 of the content, base64. */
  readonly sha256: string
  /** To be read to its end or cancelled. */
  readonly content: ReadableStream<Uint8Array>
}

/** This storage gives no copy. `instead`: why, and what to do, without a full stop. */
export class NoCopy extends Data.TaggedError("NoCopy")<{ readonly instead: string }> {}

/** All of it. */
export interface DataAtRest {
  /** The installation's own id: a UUID, made once. */
  readonly installation: string
  /** Absent: another one, as of an embedder. */
  readonly kind?: "sqlite" | "postgres" | "memory"
  readonly keys: KeyRepository
  readonly sessions: SessionRepository
  readonly audit: AuditRepository
  readonly freeRequests: FreeRequestRepository
  readonly ledger: LedgerRepository
  readonly journal: JournalRepository
  readonly activity: ActivityRepository
  readonly analytics: AnalyticsRepository
  readonly hostStats: HostStatsRepository
  readonly prices: PriceRepository
  readonly idempotency: IdempotencyRepository
  readonly alerts: AlertRepository
  readonly requests: RequestRepository
  /** What is logged of its outages, once for all services over it. Absent: each service logs them by itself. */
  readonly outage?: Outage
  /** For the log: its path and the free bytes there, or its address without credentials. May block for a moment. */
  readonly where?: () => Readonly<Record<string, string | number>>
  /** Space on the disk of the database's file; `null`: unknown. Absent: the database is not a file on this machine. */
  readonly disk?: Effect.Effect<DiskSpace | null>
  /** Rows and prices on this machine's disk that are not in the database yet. Absent: there is no such place. */
  readonly spooled?: () => number
  /** When the certificate of the database's server ends, Unix milliseconds; `undefined`: it shows none. Absent: there is no server. */
  readonly certificate?: Effect.Effect<number | undefined>
  /** For backups. The database goes on being written meanwhile. `undefined`: there is no such copy. */
  readonly copy?: Effect.Effect<DatabaseCopy, NoCopy | StorageUnavailable>
  /** `undefined`: this process has the data for itself. */
  readonly shared?: SharedRepositories
}

export class Storage extends Context.Tag("headgate/Storage")<Storage, DataAtRest>() {}
