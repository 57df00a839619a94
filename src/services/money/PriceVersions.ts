/** The prices that rows of the ledger refer to: each version is kept before the first row that was computed with it. */
import * as Effect from "effect/Effect"
import { type PriceVersion, priceVersion } from "../../domain/price/PriceVersion.ts"
import type { Pricing } from "../../domain/price/price.ts"
import type { PriceRepository } from "../storage/Storage.ts"
import type { StorageUnavailable } from "../storage/StorageUnavailable.ts"

type Write<A extends ReadonlyArray<unknown>, B> = (...values: A) => Effect.Effect<B, StorageUnavailable>

/** Versions in one statement: a few parameters each, of which databases allow some thousands. */
const mostAtOnce = 500

export class PriceVersions {
  private readonly ids = new WeakMap<Pricing, number>()
  /** Versions that may not be kept yet. */
  private readonly fresh = new Map<number, PriceVersion>()
  private readonly repository: PriceRepository

  constructor(repository: PriceRepository) {
    this.repository = repository
  }

  /** The number that a row has for these prices. From now on they are kept before any row is. */
  idOf(pricing: Pricing | null): number | null {
    if (pricing === null) return null
    const known = this.ids.get(pricing)
    if (known !== undefined) return known
    const version = priceVersion(pricing)
    this.ids.set(pricing, version.id)
    this.fresh.set(version.id, version)
    return version.id
  }

  /** A function that keeps what is not kept yet, then writes. A failure to keep them is one to write. */
  before<A extends ReadonlyArray<unknown>, B>(write: Write<A, B>): Write<A, B> {
    return (...values) => (this.fresh.size === 0 ? write(...values) : Effect.zipRight(this.keep(), write(...values)))
  }

  private keep(): Effect.Effect<void, StorageUnavailable> {
    return Effect.suspend(() => {
      const versions = [...this.fresh.values()]
      const parts = Array.from({ length: Math.ceil(versions.length / mostAtOnce) }, (_, part) =>
        versions.slice(part * mostAtOnce, (part + 1) * mostAtOnce),
      )
      const kept = Effect.forEach(parts, (part) => this.repository.put(part), { discard: true })
      return Effect.map(kept, () => {
        for (const { id } of versions) this.fresh.delete(id)
      })
    })
  }
}
