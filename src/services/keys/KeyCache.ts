/** Keys in memory, so that not every request reads the database: those that were found, and secrets that were refused lately. Bounded. */
import type { KeyId } from "../../domain/ids.ts"
import type { FoundKey } from "../storage/Storage.ts"

/** For how long a refused secret is not looked up again, milliseconds. A change of any key in this process ends that at once. */
const refusedMs = 2000
/** Entries of each kind. The oldest are dropped. */
const mostKept = 10_000

/** Keyed by hashes of secrets. `now`: milliseconds of a clock that never steps back. */
export class KeyCache {
  private readonly found = new Map<KeyId, FoundKey>()
  /** By the id of a key, the hashes of its secrets in `found` that are not that id. */
  private readonly secrets = new Map<KeyId, Set<KeyId>>()
  /** Until when each is refused. */
  private readonly refused = new Map<KeyId, number>()
  /** How often a key was dropped. */
  drops = 0

  get(secret: KeyId): FoundKey | undefined {
    return this.found.get(secret)
  }

  put(secret: KeyId, found: FoundKey): void {
    this.forget(secret)
    if (this.found.size >= mostKept) {
      const [oldest] = this.found.keys()
      if (oldest !== undefined) this.forget(oldest)
    }
    this.found.set(secret, found)
    const { id } = found
    if (secret === id) return
    const others = this.secrets.get(id) ?? new Set()
    this.secrets.set(id, others.add(secret))
  }

  isRefused(secret: KeyId, now: number): boolean {
    const until = this.refused.get(secret)
    return until !== undefined && now < until
  }

  refuse(secret: KeyId, now: number): void {
    this.forget(secret)
    this.refused.delete(secret)
    if (this.refused.size >= mostKept) {
      const [oldest] = this.refused.keys()
      if (oldest !== undefined) this.refused.delete(oldest)
    }
    this.refused.set(secret, now + refusedMs)
  }

  /** Forgets a key that was made, changed or deleted, with all of its secrets. */
  drop(id: KeyId): void {
    this.drops += 1
    this.found.delete(id)
    for (const secret of this.secrets.get(id) ?? []) this.found.delete(secret)
    this.secrets.delete(id)
    // A refused secret may be one of this key.
    this.refused.clear()
  }

  private forget(secret: KeyId): void {
    const id = this.found.get(secret)?.id
    if (id === undefined) return
    this.found.delete(secret)
    const others = this.secrets.get(id)
    others?.delete(secret)
    if (others?.size === 0) this.secrets.delete(id)
  }
}
