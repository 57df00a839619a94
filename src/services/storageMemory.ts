/**
 * Keys and ledger held in the process: tests, demos, `storage: "memory:"`. Gone when the process ends. It refuses what
 * a database refuses, so that whoever is tried on it is not surprised by the other.
 */
import * as Effect from "effect/Effect"
import type { KeyId } from "../domain/Ids.ts"
import { type KeyRecord, type Spend, windowStart } from "../domain/Key.ts"
import type { Picodollars } from "../domain/Money.ts"
import { type KeyPage, type KeyPatch, type LedgerRow, StorageUnavailable } from "./ledger.ts"

/** What a 64-bit column holds: some 9.2 million USD. */
const mostMoney = 2n ** 63n - 1n

const isMoney = (amount: Picodollars): boolean => amount >= 0n && amount <= mostMoney

const byNewest = (a: KeyRecord, b: KeyRecord): number => b.createdAt - a.createdAt

/** The places in the sums that a row admitted then counts to: in all, and in its three windows. */
const windowsOf = (key: string, admittedAt: number): ReadonlyArray<string> => [
  `${key} total`,
  `${key} daily ${windowStart("daily", admittedAt)}`,
  `${key} weekly ${windowStart("weekly", admittedAt)}`,
  `${key} monthly ${windowStart("monthly", admittedAt)}`,
]

/** The sums as they are once `rows` are added; `undefined` when money leaves its range. */
const sumsWith = (
  sums: ReadonlyMap<string, Picodollars>,
  rows: Iterable<LedgerRow>,
): ReadonlyMap<string, Picodollars> | undefined => {
  const changed = new Map<string, Picodollars>()
  for (const row of rows) {
    if (!isMoney(row.cost) || !isMoney(row.upstreamCost)) return undefined
    for (const window of windowsOf(row.key, row.admittedAt)) {
      const sum = (changed.get(window) ?? sums.get(window) ?? 0n) + row.cost
      if (!isMoney(sum)) return undefined
      changed.set(window, sum)
    }
  }
  return changed
}

const doesNotFit = (what: string) =>
  Effect.fail(new StorageUnavailable({ reason: `${what} does not fit its column`, refused: true }))

/** What `Storage.layerMemory` is made of: that it has every member of `Storage` is checked there. */
export const makeMemory = () => {
  const installation = crypto.randomUUID()
  const keys = new Map<string, KeyRecord>()
  const rowsOf = new Map<string, Array<LedgerRow>>()
  const seen = new Set<string>()
  const sums = new Map<string, Picodollars>()

  const append = (rows: ReadonlyArray<LedgerRow>): Effect.Effect<void, StorageUnavailable> => {
    const fresh = new Map<string, LedgerRow>()
    for (const row of rows) {
      if (!seen.has(row.requestId) && !fresh.has(row.requestId)) fresh.set(row.requestId, row)
    }
    const changed = sumsWith(sums, fresh.values())
    if (changed === undefined) return doesNotFit("an amount of money")
    for (const [window, sum] of changed) sums.set(window, sum)
    for (const row of fresh.values()) {
      seen.add(row.requestId)
      const kept = rowsOf.get(row.key)
      if (kept === undefined) rowsOf.set(row.key, [row])
      else kept.push(row)
    }
    return Effect.void
  }

  const update = (id: string, patch: KeyPatch): KeyRecord | undefined => {
    const key = keys.get(id)
    if (key === undefined) return undefined
    const updated = { ...key, ...patch }
    keys.set(id, updated)
    return updated
  }

  return {
    installation: Effect.succeed(installation),
    managementKeys: Effect.sync(() => keys.values().reduce((n, key) => n + (key.kind === "management" ? 1 : 0), 0)),
    findKey: (id: KeyId) => Effect.sync(() => keys.get(id)),
    insertKey: (key: KeyRecord) =>
      Effect.suspend(() => {
        if (key.limit !== null && !isMoney(key.limit)) return doesNotFit("the limit")
        if (!keys.has(key.id)) keys.set(key.id, key)
        return Effect.void
      }),
    updateKey: (id: KeyId, patch: KeyPatch) =>
      Effect.suspend(() =>
        patch.limit != null && !isMoney(patch.limit) ? doesNotFit("the limit") : Effect.succeed(update(id, patch)),
      ),
    deleteKey: (id: KeyId) => Effect.sync(() => keys.delete(id)),
    listKeys: ({ offset, limit, includeDisabled }: KeyPage) =>
      Effect.sync(() =>
        [...keys.values()]
          .filter((key) => key.kind === "ordinary" && (includeDisabled || !key.disabled))
          .reverse()
          .sort(byNewest)
          .slice(offset, offset + limit),
      ),
    append: (rows: ReadonlyArray<LedgerRow>) => Effect.suspend(() => append(rows)),
    spend: (key: KeyId, now: number) =>
      Effect.sync((): Spend => {
        const [total = 0n, daily = 0n, weekly = 0n, monthly = 0n] = windowsOf(key, now).map((window) =>
          sums.get(window),
        )
        return { total, daily, weekly, monthly }
      }),
    ledger: (key: KeyId, limit: number) =>
      Effect.sync(() =>
        (rowsOf.get(key) ?? [])
          .toReversed()
          .sort((a, b) => b.admittedAt - a.admittedAt)
          .slice(0, limit),
      ),
  }
}
