/**
 * Streams that are read on after their caller has left, for a second at most, because the host probably sends its usage soon. Their number
 * is bounded, so that callers who leave cost next to nothing. See docs/guarantees.md#g15.
 */
import type { KeyId } from "../../domain/ids.ts"

/** How long a stream is read on, milliseconds. */
export const readOnMs = 1000

const mostAtOnce = 32
const mostOfOneKey = 8

export class ReadingOn {
  private inAll = 0
  private readonly byKey = new Map<KeyId, number>()

  /** Takes a place, until `leave`. `false`: there is none. */
  enter(key: KeyId): boolean {
    const ofKey = this.byKey.get(key) ?? 0
    if (this.inAll >= mostAtOnce || ofKey >= mostOfOneKey) return false
    this.inAll += 1
    this.byKey.set(key, ofKey + 1)
    return true
  }

  leave(key: KeyId): void {
    const ofKey = this.byKey.get(key)
    if (ofKey === undefined) return
    this.inAll -= 1
    if (ofKey === 1) this.byKey.delete(key)
    else this.byKey.set(key, ofKey - 1)
  }
}
