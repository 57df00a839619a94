/**
 * Checks the ledger against itself, read-only: whether the kept sums are those of the rows, and whether the cost of
 * each row follows from its usage and the prices that were in force. It can also compute what the rows would cost at other prices. It
 * reads page by page, so that a ledger of any length needs little memory, and may run while a gateway writes. See docs/guarantees.md#g4.
 */
import * as Effect from "effect/Effect"
import type { KeyId } from "../../domain/ids.ts"
import { limitResets, windowStart } from "../../domain/keys/limitWindows.ts"
import { type Billed, reprice } from "../../domain/money/Charge.ts"
import type { Picodollars } from "../../domain/price/money.ts"
import { pricingOf } from "../../domain/price/PriceVersion.ts"
import type { Pricing } from "../../domain/price/price.ts"
import { type LedgerRow, usageOf } from "../storage/ledger.ts"
import type { DataAtRest, KeySum, LedgerSum, StoredRow } from "../storage/Storage.ts"
import type { StorageUnavailable } from "../storage/StorageUnavailable.ts"

/** What is read of the storage. */
interface Read {
  readonly ledger: Pick<DataAtRest["ledger"], "page">
  readonly prices: Pick<DataAtRest["prices"], "list">
}

/** A window in which the kept sum of a key is not the sum of its rows. */
export interface SumDifference extends Pick<LedgerSum, "window" | "start"> {
  /** A caller's key, or one of several keys of a provider. */
  readonly key: string
  readonly rows: Picodollars
  readonly kept: Picodollars
}

export interface Reconciliation {
  /** Keys and windows that were compared. */
  readonly keys: number
  readonly windows: number
  readonly differences: ReadonlyArray<SumDifference>
}

/** Sums in memory at once. Many, since each page reads the whole ledger. */
const sumsAtOnce = 100_000
const rowsAtOnce = 1000

/** Compares the sum of the rows with what was kept along with them, for every key and window, of callers and of providers. */
export const reconcile = ({
  ledger,
}: {
  readonly ledger: Pick<DataAtRest["ledger"], "keySums" | "providerSums">
}): Effect.Effect<Reconciliation, StorageUnavailable> =>
  Effect.gen(function* () {
    const differences: Array<SumDifference> = []
    let keys = 0
    let windows = 0
    const compare = (key: string, sums: ReadonlyArray<LedgerSum>) => {
      const compared = comparedSums(sums)
      keys += 1
      windows += compared.length
      for (const { rows, kept, ...window } of compared) {
        if (rows !== kept) differences.push({ key, ...window, rows, kept })
      }
    }
    let after: string | undefined = ""
    while (after !== undefined) {
      const page: ReadonlyArray<KeySum> = yield* ledger.keySums(after, sumsAtOnce)
      for (const [key, sums] of Map.groupBy(page, (sum) => sum.key)) compare(key, sums)
      after = page.at(-1)?.key
    }
    const ofProviders = Map.groupBy(yield* ledger.providerSums(), ({ providerKey }) => providerKey)
    for (const [key, sums] of ofProviders) compare(key, sums)
    return { keys, windows, differences }
  })

type Compared = Omit<SumDifference, "key">

const comparedSums = (sums: ReadonlyArray<LedgerSum>): ReadonlyArray<Compared> => {
  const windows = new Map<string, Compared>()
  const add = (window: LedgerSum["window"], start: number, rows: Picodollars, kept: Picodollars) => {
    const name = `${window} ${start}`
    const before = windows.get(name) ?? { window, start, rows: 0n, kept: 0n }
    windows.set(name, { window, start, rows: before.rows + rows, kept: before.kept + kept })
  }
  for (const { source, window, start, amount } of sums) {
    if (source === "spend") {
      add(window, start, 0n, amount)
      continue
    }
    add("total", 0, amount, 0n)
    for (const kind of limitResets) add(kind, windowStart(kind, start), amount, 0n)
  }
  return [...windows.values()]
}

/** A row that does not cost what it was computed from. */
export interface RowDifference
  extends Pick<LedgerRow, "requestId" | "key" | "model" | "host" | "admittedAt" | "cost" | "upstreamCost"> {
  /** What it should be; `undefined`: its prices are not in the ledger, or were changed there. */
  readonly computed: { readonly cost: Picodollars; readonly upstreamCost: Picodollars } | undefined
}

export interface Repricing {
  /** Rows that were computed anew. */
  readonly rows: number
  /** Rows from before the ledger kept prices. They cannot be computed anew. */
  readonly tooOld: number
  readonly differences: ReadonlyArray<RowDifference>
}

/** Computes every row anew, from its usage and the prices in force then. */
export const repriceLedger = (storage: Read): Effect.Effect<Repricing, StorageUnavailable> =>
  Effect.gen(function* () {
    const differences: Array<RowDifference> = []
    const prices = new KnownPrices(storage)
    let rows = 0
    let tooOld = 0
    yield* forEachPage(storage, (page) =>
      Effect.map(prices.load(page), () => {
        for (const row of page) {
          if (row.priceBasis === "") {
            tooOld += 1
            continue
          }
          rows += 1
          const pricing = prices.of(row.priceVersion)
          const computed = pricing === undefined ? undefined : costsOf(row, pricing)
          if (computed?.cost === row.cost && computed.upstreamCost === row.upstreamCost) continue
          const { requestId, key, model, host, admittedAt, cost, upstreamCost } = row
          differences.push({ requestId, key, model, host, admittedAt, cost, upstreamCost, computed })
        }
      }),
    )
    return { rows, tooOld, differences }
  })

/** What the rows of one key at one host cost, and what other prices make of them. */
export interface Correction extends Pick<LedgerRow, "key" | "model" | "host"> {
  readonly rows: number
  readonly charged: Picodollars
  readonly corrected: Picodollars
}

export interface Corrections {
  /** Each key and host whose cost changes, in the order of their first rows. */
  readonly changes: ReadonlyArray<Correction>
  /** The same of every key and host that was computed anew. */
  readonly hosts: ReadonlyArray<Correction>
  /** Rows that were computed anew, also those that stay as they are, and what they cost. */
  readonly rows: number
  readonly charged: Picodollars
  readonly corrected: Picodollars
  /** Rows from before the ledger kept their counts, and rows of hosts that `pricingOf` does not know: left as they are. */
  readonly leftOut: number
}

/**
 * What the rows would have cost at other prices: those that `pricingOf` gives for a host, `null` for a price that is
 * unknown, `undefined` for a row that is to be left out, such as one of a host that it does not know. What was waived stays waived.
 */
export const correctedLedger = (
  { ledger }: Pick<Read, "ledger">,
  pricingOf: (row: Pick<LedgerRow, "model" | "host" | "admittedAt">) => Pricing | null | undefined,
): Effect.Effect<Corrections, StorageUnavailable> =>
  Effect.gen(function* () {
    const sums = new Map<string, Correction>()
    let leftOut = 0
    yield* forEachPage({ ledger }, (page) =>
      Effect.sync(() => {
        for (const row of page) {
          const pricing = row.priceBasis === "" ? undefined : pricingOf(row)
          if (pricing === undefined) {
            leftOut += 1
            continue
          }
          const { key, model, host } = row
          const name = `${key} ${model} ${host}`
          const before = sums.get(name) ?? { key, model, host, rows: 0, charged: 0n, corrected: 0n }
          sums.set(name, {
            ...before,
            rows: before.rows + 1,
            charged: before.charged + row.cost,
            corrected: before.corrected + costsOf(row, pricing).cost,
          })
        }
      }),
    )
    const all = [...sums.values()]
    return {
      changes: all.filter(({ charged, corrected }) => charged !== corrected),
      hosts: all,
      rows: all.reduce((sum, { rows }) => sum + rows, 0),
      charged: all.reduce((sum, { charged }) => sum + charged, 0n),
      corrected: all.reduce((sum, { corrected }) => sum + corrected, 0n),
      leftOut,
    }
  })

const costsOf = (row: LedgerRow, pricing: Pricing | null) => {
  const { cost, upstream } = reprice(billedOf(row), pricing)
  return { cost: cost.total, upstreamCost: upstream.total }
}

const billedOf = (row: LedgerRow): Billed => ({
  usage: usageOf(row),
  images: row.rareUsage?.images ?? 0,
  admittedAt: row.admittedAt,
  waived: row.waived,
})

/** What callers did not pay of what hosts ask, of the rows of one key. */
export interface Uncharged extends Pick<LedgerRow, "key"> {
  /** Rows that cost less than the host asks, or can have cost less. */
  readonly rows: number
  /** What failures of hosts and lost calls cost, which are free to the caller. */
  readonly free: Picodollars
  /** By how much estimates can be below the host's bill. */
  readonly atMost: Picodollars
}

/** Sums what was not charged by key, the largest first. */
export const unchargedByKey = ({
  ledger,
}: Pick<Read, "ledger">): Effect.Effect<ReadonlyArray<Uncharged>, StorageUnavailable> =>
  Effect.gen(function* () {
    const sums = new Map<KeyId, Uncharged>()
    yield* forEachPage({ ledger }, (page) =>
      Effect.sync(() => {
        for (const { key, cost, upstreamCost, rareUsage } of page) {
          const free = upstreamCost - cost
          const atMost = BigInt(rareUsage?.unchargedAtMost ?? 0)
          if (free === 0n && atMost === 0n) continue
          const before = sums.get(key) ?? { key, rows: 0, free: 0n, atMost: 0n }
          sums.set(key, { key, rows: before.rows + 1, free: before.free + free, atMost: before.atMost + atMost })
        }
      }),
    )
    const total = ({ free, atMost }: Uncharged): Picodollars => free + atMost
    return [...sums.values()].toSorted((a, b) => (total(a) < total(b) ? 1 : -1))
  })

const forEachPage = (
  { ledger }: Pick<Read, "ledger">,
  use: (page: ReadonlyArray<StoredRow>) => Effect.Effect<void, StorageUnavailable>,
): Effect.Effect<void, StorageUnavailable> =>
  Effect.gen(function* () {
    let after: number | undefined = 0
    while (after !== undefined) {
      const page: ReadonlyArray<StoredRow> = yield* ledger.page(after, rowsAtOnce)
      yield* use(page)
      after = page.at(-1)?.seq
    }
  })

/** The versions of prices in the ledger, read when a row needs one that is not known. */
class KnownPrices {
  private readonly versions = new Map<number, Pricing | undefined>()
  private readonly storage: Read

  constructor(storage: Read) {
    this.storage = storage
  }

  /** Must be called before `of` for these rows. */
  load(rows: ReadonlyArray<LedgerRow>): Effect.Effect<void, StorageUnavailable> {
    const isKnown = ({ priceVersion }: LedgerRow) => priceVersion === null || this.versions.has(priceVersion)
    if (rows.every(isKnown)) return Effect.void
    const { prices } = this.storage
    const { versions } = this
    return Effect.gen(function* () {
      let after: number | undefined = -1
      while (after !== undefined) {
        const page: Effect.Effect.Success<ReturnType<typeof prices.list>> = yield* prices.list(after, rowsAtOnce)
        for (const version of page) versions.set(version.id, pricingOf(version))
        after = page.at(-1)?.id
      }
      // Those that the ledger lacks are not searched again.
      for (const { priceVersion } of rows) {
        if (priceVersion !== null && !versions.has(priceVersion)) versions.set(priceVersion, undefined)
      }
    })
  }

  /** `null` for the price that was unknown; `undefined` for a version that is missing or was changed. */
  of(version: number | null): Pricing | null | undefined {
    return version === null ? null : this.versions.get(version)
  }
}
