/**
 * How often it may be tried to sign in: from one network of callers, and in all. A key cannot be guessed; this keeps those who try from
 * taking the database's time. So texts that are no keys, which the database is not asked about, do not count in all, and networks that
 * signed in before have a share of their own: whoever makes up networks locks nobody out. Memory is bounded. Times are milliseconds of a clock that never steps back.
 */
import { networkOf } from "../../domain/addresses/ipRange.ts"
import { type RateLimit, SlidingWindow } from "../../domain/structures/SlidingWindow.ts"

/** Tries that did not succeed, or are not over yet. */
const fromOne: RateLimit = { requests: 10, intervalSeconds: 300 }
const inAll: RateLimit = { requests: 300, intervalSeconds: 60 }
/** Of the networks that signed in before, together. */
const ofKnown: RateLimit = { requests: 100, intervalSeconds: 60 }

/** Networks that are told apart, and that are known. Beyond them, the one that tried, or signed in, least lately is forgotten. */
const mostNetworks = 1000

/** A try that counts, until it is given back. */
export interface Try {
  readonly network: string
  readonly at: number
  /** Where it counts beside its network; `undefined`: nowhere. */
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
  /** Networks that signed in, in the order in which they last did. */
  private readonly known = new Set<string>()
  /** In the order in which they last tried. */
  private readonly networks = new Map<string, SlidingWindow>()

  /** `address`: `null` where it is not known. `isKey`: the text has the form of a key, so that the database is asked. */
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

  /** The try does not count, and its network is known from now on. */
  succeeded(tried: Try): void {
    this.giveBack(tried)
    this.known.delete(tried.network)
    this.known.add(tried.network)
    if (this.known.size > mostNetworks) {
      const [oldest] = this.known
      if (oldest !== undefined) this.known.delete(oldest)
    }
  }

  /** The try does not count: it was not found out whether it would have succeeded. */
  giveBack({ network, at, share }: Try): void {
    share?.remove(at)
    const own = this.networks.get(network)
    own?.remove(at)
    if (own?.size === 0) this.networks.delete(network)
  }
}
