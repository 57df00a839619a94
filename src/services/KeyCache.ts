/** What is known of keys without a look into the database: usable ones, and secrets that were refused a moment ago. Bounded. */
import type { KeyId } from "../domain/Ids.ts"
import type { FoundKey } from "./Storage.ts"

/** A secret that was refused is not looked up again for so long, milliseconds. In this process a change of any key ends that at once. */
const refusedMs = 2000
const most = 10_000

/** By the hashes of secrets. Times are those of a clock that never steps back. */
export class KeyCache {
  private readonly found = new Map<KeyId, FoundKey>()
  /** Of keys with a secret whose hash is not their id: those hashes. */
  private readonly secrets = new Map<KeyId, Set<KeyId>>()
  /** Until when. */
  private readonly refused = new Map<KeyId, number>()
  /** How often a key was dropped. */
  drops = 0

  get(secret: KeyId): FoundKey | undefined {
    return this.found.get(secret)
  }

  put(secret: KeyId, found: FoundKey): void {
    this.forget(secret)
    if (this.found.size >= most) {
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
    if (this.refused.size >= most) {
      const [oldest] = this.refused.keys()
      if (oldest !== undefined) this.refused.delete(oldest)
    }
    this.refused.set(secret, now + refusedMs)
  }

  /** What is known of a key, by all of its secrets, is no longer so: it was made, changed or deleted. */
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
