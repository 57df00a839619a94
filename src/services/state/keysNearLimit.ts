/** Keys that have spent most of their limit: read from the database when somebody asks. */
import * as Effect from "effect/Effect"
import type { KeyId } from "../../domain/ids.ts"
import { nextReset, spentInWindow } from "../../domain/keys/limitWindows.ts"
import type { DataAtRest } from "../storage/Storage.ts"
import type { StorageUnavailable } from "../storage/StorageUnavailable.ts"

export interface KeyNearLimit {
  readonly id: KeyId
  readonly name: string
  /** Of its limit, 1 and more where it is used up. */
  readonly spentShare: number
  /** Unix milliseconds; `null`: never. */
  readonly resetsAt: number | null
}

/** The share of a limit from which on a key is near it. */
const nearShare = 0.8
/** Keys with a limit that are looked at, the newest first, and how many of them at once. */
const mostKeys = 1000
const keysAtOnce = 200
/** How many are listed, those nearest to their limits first. */
const mostListed = 20

/** `now`: Unix milliseconds. */
export const keysNearLimit = (
  { keys, ledger }: Pick<DataAtRest, "keys" | "ledger">,
  now: number,
): Effect.Effect<ReadonlyArray<KeyNearLimit>, StorageUnavailable> =>
  Effect.gen(function* () {
    const all = yield* keys.list({ offset: 0, limit: mostKeys, includeDisabled: false, isLimited: true })
    const near: Array<KeyNearLimit> = []
    for (let at = 0; at < all.length; at += keysAtOnce) {
      const some = all.slice(at, at + keysAtOnce)
      const spends = yield* ledger.spendOf(
        some.map(({ id }) => id),
        now,
      )
      for (const [place, { id, name, limit, limitReset }] of some.entries()) {
        const spend = spends[place]
        if (limit === null || spend === undefined) continue
        const spentShare = shareOf(spentInWindow(spend, limitReset), limit)
        if (spentShare >= nearShare) near.push({ id, name, spentShare, resetsAt: nextReset(limitReset, now) })
      }
    }
    return near.toSorted((a, b) => b.spentShare - a.spentShare).slice(0, mostListed)
  })

/** To four places. A limit of 0 is used up. */
const shareOf = (spent: bigint, limit: bigint): number =>
  limit === 0n ? 1 : Number((spent * 10_000n) / limit) / 10_000
