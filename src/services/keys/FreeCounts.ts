/** How many requests each key has made to free models on the current UTC day: counted in memory, kept in `Storage`. */
import * as Effect from "effect/Effect"
import type { KeyId } from "../../domain/ids.ts"
import { dayMs, windowStart } from "../../domain/keys/limitWindows.ts"

/**
 * One key's count. Its day only moves forward: a clock that steps back does not reopen one. If it steps back by more
 * than a day, the clock was wrong before, and the day is opened again.
 */
export class FreeCount {
  /** First Unix millisecond of the day. */
  day: number
  used: number
  /** Counted and not in the database, because it could not be written. The next write has them too. */
  unsaved = 0
  /** Writes that run. A count with any must stay in memory. */
  writing = 0

  constructor(day: number, used: number) {
    this.day = day
    this.used = used
  }

  /** What was used on the day of `now` (Unix milliseconds). */
  usedAt(now: number): number {
    const day = windowStart("daily", now)
    if (day > this.day || day < this.day - dayMs) {
      this.day = day
      this.used = 0
      this.unsaved = 0
    }
    return this.used
  }
}

const mostCounts = 10_000

/** Counts by key, read at first use. When there are too many, the oldest ones that are written down are removed. */
export class FreeCounts<E> {
  private readonly counts = new Map<KeyId, FreeCount>()
  private readonly load: (key: KeyId) => Effect.Effect<FreeCount, E>

  constructor(load: (key: KeyId) => Effect.Effect<FreeCount, E>) {
    this.load = load
  }

  /** The count of a key, if it is in memory. */
  known(key: KeyId): FreeCount | undefined {
    return this.counts.get(key)
  }

  // Concurrent requests of one key must share one count.
  read(key: KeyId): Effect.Effect<FreeCount, E> {
    return Effect.map(this.load(key), (count) => {
      const meanwhile = this.counts.get(key)
      if (meanwhile !== undefined) return meanwhile
      this.dropIdle()
      this.counts.set(key, count)
      return count
    })
  }

  private dropIdle(): void {
    if (this.counts.size < mostCounts) return
    for (const [key, { writing, unsaved }] of this.counts) {
      if (writing > 0 || unsaved > 0) continue
      this.counts.delete(key)
      if (this.counts.size < mostCounts) return
    }
  }
}
