/**
 * The sliding windows of rate limits of keys, in the memory of this process. Bounded: beyond 100,000 keys or 4,000,000 remembered requests (32 to
 * 128 MB) the window that was used least recently is forgotten, so that its key may make as many requests again.
 */
import { type RateLimit, SlidingWindow } from "../../domain/structures/SlidingWindow.ts"

const mostKeys = 100_000
const mostRemembered = 4_000_000

export class KeyWindows {
  /** The least recently used first. */
  private readonly windows = new Map<string, SlidingWindow>()
  private remembered = 0
  private readonly most: { readonly keys: number; readonly remembered: number }

  constructor(most = { keys: mostKeys, remembered: mostRemembered }) {
    this.most = most
  }

  /** Milliseconds until the key may make a request; 0: now. Takes nothing. */
  waitFor(key: string, limit: RateLimit, nowMs: number): number {
    const window = this.windows.get(key)
    if (window === undefined) return 0
    const before = window.size
    const wait = window.waitFor(limit, nowMs)
    this.remembered += window.size - before
    return wait
  }

  /** Counts a request of the key. Only after `waitFor` has returned 0 at this time. */
  add(key: string, nowMs: number): void {
    const window = this.windows.get(key) ?? new SlidingWindow()
    this.windows.delete(key)
    this.windows.set(key, window)
    window.add(nowMs)
    this.remembered += 1
    while (this.windows.size > this.most.keys || this.remembered > this.most.remembered) this.forgetOldest()
  }

  /** Takes back `add` at this time. */
  remove(key: string, at: number): void {
    if (this.windows.get(key)?.remove(at) === true) this.remembered -= 1
  }

  private forgetOldest(): void {
    for (const [key, window] of this.windows) {
      this.windows.delete(key)
      this.remembered -= window.size
      return
    }
  }
}
