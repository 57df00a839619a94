/** Alerts at rest, and what of them is still to be sent. */
import type * as Effect from "effect/Effect"
import type { AlertRule, AlertState } from "../../domain/alerts/Alert.ts"
import type { KeptAlert } from "../../domain/alerts/bodies.ts"
import type { StorageUnavailable } from "./StorageUnavailable.ts"

/** Names an alert. `period`: as `periodOf` has it. */
export interface AlertName {
  readonly rule: AlertRule
  readonly subject: string
  readonly period: string
}

/** A webhook that is told of alerts: a hash of its address, and the rules; `null`: all. */
export interface AlertReceiver {
  readonly webhook: string
  readonly rules: ReadonlyArray<AlertRule> | null
}

/** An alert in a state that one webhook is still to be told of. */
export interface AlertDelivery {
  readonly kept: KeptAlert
  readonly state: AlertState
  readonly webhook: string
  /** Unix milliseconds. */
  readonly createdAt: number
  /** How often it was tried before. */
  readonly attempts: number
}

type DeliveryName = Pick<AlertDelivery, "state" | "webhook"> & { readonly alertId: string }

/** An alert of the list. */
export interface ListedAlert {
  readonly kept: KeptAlert
  /** When a process last saw that it holds, Unix milliseconds. */
  readonly seenAt: number
}

export interface AlertPage {
  readonly found: ReadonlyArray<ListedAlert>
  /** What `after` of the next page is; `null`: this was the last one. */
  readonly next: string | null
}

/** Times are Unix milliseconds. */
export interface AlertRepository {
  /** At most `limit` alerts, the newest first. `after`: `next` of the page before; "": from the newest. `isFiring`: only states that last. */
  readonly page: (after: string, limit: number, isFiring: boolean) => Effect.Effect<AlertPage, StorageUnavailable>
  /**
   * Keeps an alert, with a delivery for each receiver whose rules have it. `false`, and nothing happens: there is one of that name, or
   * of a state that lasts one of its rule and subject.
   */
  readonly insert: (
    name: AlertName,
    kept: KeptAlert,
    receivers: ReadonlyArray<AlertReceiver>,
  ) => Effect.Effect<boolean, StorageUnavailable>
  /** The alert holds at `now`. `period`: `null` for the state of that rule and subject that lasts. `false`: there is none. */
  readonly seen: (
    name: Omit<AlertName, "period"> & { readonly period: string | null },
    now: number,
  ) => Effect.Effect<boolean, StorageUnavailable>
  /** Ends the states that nobody has seen since `seenBefore`, with a delivery for each receiver whose rules have them; returns them. */
  readonly resolve: (
    seenBefore: number,
    now: number,
    receivers: ReadonlyArray<AlertReceiver>,
  ) => Effect.Effect<ReadonlyArray<KeptAlert>, StorageUnavailable>
  /**
   * At most `limit` deliveries to a webhook that are due at `now`, the oldest first, with a lease on each for `leaseMs`: no other process
   * gets them meanwhile. The end of a state comes after its beginning was delivered.
   */
  readonly claim: (
    webhook: string,
    now: number,
    leaseMs: number,
    limit: number,
  ) => Effect.Effect<ReadonlyArray<AlertDelivery>, StorageUnavailable>
  /** Delivered, or given up. */
  readonly close: (delivery: DeliveryName) => Effect.Effect<void, StorageUnavailable>
  /** It was tried in vain: the lease ends, and it is due again at `dueAt`. */
  readonly postpone: (delivery: DeliveryName, dueAt: number) => Effect.Effect<void, StorageUnavailable>
  /** Removes the alerts that do not last and were last seen before `alertsBefore`, and the deliveries made before `deliveriesBefore`. */
  readonly prune: (alertsBefore: number, deliveriesBefore: number) => Effect.Effect<void, StorageUnavailable>
}
