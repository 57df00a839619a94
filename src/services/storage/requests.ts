/**
 * Records of requests: what was refused, what failed, and what was answered without a charge. The ledger has the others, so that an
 * ordinary request is written once. Nothing of a prompt or an answer is in them. See docs/requests.md.
 */
import type * as Effect from "effect/Effect"
import type { RequestOutcome } from "../../domain/failures/RequestOutcome.ts"
import type { KeyId } from "../../domain/ids.ts"
import type { EndedCall } from "../../domain/routing/routed.ts"
import type { LedgerRow } from "./ledger.ts"
import type { StorageUnavailable } from "./StorageUnavailable.ts"

/** One call of a host. `outcome`: `ObservedAttempt.outcome`, or where the host failed `HostFailed.reason`. */
export interface RecordedAttempt extends EndedCall {
  readonly ms: number
}

/** Milliseconds after the first byte, as `RequestTimes` has them; absent: it did not come to that. */
export interface RecordedTimes {
  readonly admitted?: number
  readonly firstAttempt?: number
  readonly firstToken?: number
  readonly firstByte?: number
  readonly lastByte?: number
  readonly booked?: number
}

export interface RequestRecord {
  /** Unique; ids sort by time. */
  readonly requestId: string
  readonly generationId: string | null
  /** "": the caller gave none. */
  readonly callerRequestId: string
  /** Of the first byte, Unix milliseconds. */
  readonly createdAt: number
  readonly key: KeyId
  /** Attribution; "" where the caller gave none. */
  readonly appTitle: string
  readonly appUrl: string
  /** `userHash` of the caller's end user; "": nobody was named. */
  readonly userHash: string
  /** Method and path. */
  readonly route: string
  readonly form: string | null
  readonly model: string | null
  /** Its tag. */
  readonly host: string | null
  readonly status: number
  readonly outcome: RequestOutcome
  /** What is known of the reason without a word of the request; "": nothing more than `outcome` says. */
  readonly why: string
  /** Whether its answer was asked for as a stream. */
  readonly streamed: boolean
  /** In the order in which they ended. */
  readonly attempts: ReadonlyArray<RecordedAttempt>
  readonly times: RecordedTimes
  /** From the first byte to the end, milliseconds. */
  readonly durationMs: number
  /** Of the bodies: read, and sent. */
  readonly bytesIn: number
  readonly bytesOut: number
  /** How it was routed: strategy and seed of its plan, which there was none of where it is "", and its hosts (`LedgerRow.routed`). */
  readonly strategy: string
  readonly seed: number
  readonly routed: string
  /** IP address of the caller; `null`: it is not known. */
  readonly address: string | null
  /** 1; or how many requests of its key, with its outcome and in its minute, have this record in common. The other members are those of the first. */
  readonly requests: number
}

/** Members that are absent do not matter. */
export interface RequestFilter {
  readonly key?: KeyId
  /** Its title or its URL. */
  readonly app?: string
  readonly model?: string
  readonly host?: string
  /** Its slug, which the tags of its hosts begin with. */
  readonly provider?: string
  readonly userHash?: string
  /** From the first to the second, both included. */
  readonly statuses?: readonly [least: number, most: number]
  readonly outcomes?: ReadonlyArray<RequestOutcome>
  /** By the beginning of requests, Unix milliseconds: from the first on, before the second. */
  readonly from?: number
  readonly to?: number
}

/** A request: its record, its row of the ledger, or both. */
export type ListedRequest =
  | { readonly record: RequestRecord; readonly row: LedgerRow | null }
  | { readonly record: null; readonly row: LedgerRow }

export interface RequestPage {
  /** The newest first. */
  readonly found: ReadonlyArray<ListedRequest>
  /** The id below which the next page begins; `null`: there is nothing more. */
  readonly next: string | null
}

/** A place in the order in which records, and rows of the ledger, were written. */
export interface WrittenTo {
  readonly record: number
  readonly row: number
}

export interface WrittenPage {
  /** Records come before rows of the ledger. */
  readonly found: ReadonlyArray<ListedRequest>
  readonly to: WrittenTo
  /** Whether more is written already. */
  readonly isCut: boolean
}

/** Refused requests of nobody known, in one minute from one address with one status. */
export interface UnknownCount {
  /** Its first Unix millisecond. */
  readonly minute: number
  /** "": it is not known. `other`: of the addresses beyond those that are told apart. */
  readonly address: string
  readonly status: number
  readonly requests: number
}

export interface RequestRepository {
  /**
   * A record whose request has one already is skipped. `bookedIds`: of those requests that have a row of the ledger, or will have one once the
   * database takes it, so that they are counted by that. At most a few hundred.
   */
  readonly add: (
    records: ReadonlyArray<RequestRecord>,
    bookedIds?: ReadonlyArray<string>,
  ) => Effect.Effect<void, StorageUnavailable>
  /**
   * Requests whose ids are below `below` ("": the newest). So many records, and so many rows of the ledger, are looked at, at most: a page
   * may have fewer requests than `limit`, and none, although there are more.
   */
  readonly page: (filter: RequestFilter, below: string, limit: number) => Effect.Effect<RequestPage, StorageUnavailable>
  /** What was written after this place. Rows of the ledger without the ones of answers that broke off, which have a record. */
  readonly written: (filter: RequestFilter, after: WrittenTo) => Effect.Effect<WrittenPage, StorageUnavailable>
  /** The place up to which everything is written. */
  readonly writtenTo: () => Effect.Effect<WrittenTo, StorageUnavailable>
  /** The secret that encrypts positions before clients see them. Generated once, and shared by all processes. */
  readonly positionSecret: () => Effect.Effect<string, StorageUnavailable>
  /** The record of a request, by its id or by that of its generation. */
  readonly find: (id: string) => Effect.Effect<RequestRecord | undefined, StorageUnavailable>
  /** Removes at most `limit` of the oldest records: those from before `before` (Unix milliseconds), and those beyond the newest `most`. How many. */
  readonly prune: (before: number, most: number, limit: number) => Effect.Effect<number, StorageUnavailable>
  /** Adds to what was counted. A few hundred at most. */
  readonly countUnknown: (counts: ReadonlyArray<UnknownCount>) => Effect.Effect<void, StorageUnavailable>
  /** The newest minute first, of the minutes that began from `from` on and before `to`. */
  readonly unknown: (
    from: number,
    to: number,
    offset: number,
    limit: number,
  ) => Effect.Effect<ReadonlyArray<UnknownCount>, StorageUnavailable>
  /** The same as `prune` of counts. */
  readonly pruneUnknown: (before: number, most: number, limit: number) => Effect.Effect<number, StorageUnavailable>
}
