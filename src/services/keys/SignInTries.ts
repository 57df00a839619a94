/**
 * Limits failed sign-in attempts, for each client network and overall. Keys cannot be guessed; the limits protect the
 * database's time. Texts that do not have the form of a key never reach the database, so they do not count overall.
 * Networks that signed in before have a limit of their own, so invented networks cannot lock them out. Memory is
 * bounded. Times are milliseconds of a monotonic clock.
 */
import { networkOf } from "../../domain/addresses/ipRange.ts"
import { type RateLimit, SlidingWindow } from "../../domain/structures/SlidingWindow.ts"

/** Tries that did not succeed, or are not over yet. */
const fromOne: RateLimit = { requests: 10, intervalSeconds: 300 }
const inAll: RateLimit = { requests: 300, intervalSeconds: 60 }
/** The limit for all networks that signed in before. */
const ofKnown: RateLimit = { requests: 100, intervalSeconds: 60 }

/**
 * Networks to count separately, and networks to remember as known. Beyond that, the least recently seen one is
 * forgotten.
 */
const mostNetworks = 1000

/** A try that counts, until it is given back. */
export interface Try {
  readonly network: string
  readonly at: number
  /** The overall window in which it counts; `undefined`: it does not count overall. */
  readonly share: SlidingWindow | undefined
}

/** Too many tries before. */
export interface Refused {
  readonly limit: number
  readonly waitMs: number
}

export class SignInTries {
  private readonly all = new SlidingWindow()
  private readonly ofKnown = new SlidingWindow()
  /** Networks that signed in, least recent first. */
  private readonly known = new Set<string>()
  /** In the order in which they last tried. */
  private readonly networks = new Map<string, SlidingWindow>()

  /** `address`: `null` if it is not known. `isKey`: the text has the form of a key, so the database is queried. */
  begin(address: string | null, now: number, isKey: boolean): Try | Refused {
    const network = networkOf(address ?? "")
    const own = this.networks.get(network) ?? new SlidingWindow()
    const ownWait = own.waitFor(fromOne, now)
    if (ownWait > 0) return { limit: fromOne.requests, waitMs: ownWait }
    const isKnown = this.known.has(network)
    const [share, limit] = isKnown ? [this.ofKnown, ofKnown] : [this.all, inAll]
    const wait = isKey ? share.waitFor(limit, now) : 0
    if (wait > 0) return { limit: limit.requests, waitMs: wait }
    own.add(now)
    if (isKey) share.add(now)
    this.networks.delete(network)
    this.networks.set(network, own)
    if (this.networks.size > mostNetworks) {
      const [oldest] = this.networks.keys()
      if (oldest !== undefined) this.networks.delete(oldest)
    }
    return { network, at: now, share: isKey ? share : undefined }
  }

  /** The attempt does not count. Its network is known from now on. */
  succeeded(tried: Try): void {
    this.giveBack(tried)
    this.known.delete(tried.network)
    this.known.add(tried.network)
    if (this.known.size > mostNetworks) {
      const [oldest] = this.known
      if (oldest !== undefined) this.known.delete(oldest)
    }
  }

  /** The attempt does not count: its result is unknown. */
  giveBack({ network, at, share }: Try): void {
    share?.remove(at)
    const own = this.networks.get(network)
    own?.remove(at)
    if (own?.size === 0) this.networks.delete(network)
  }
}
