/**
 * How often it may be tried to sign in: from one network of callers, and in all. A key cannot be guessed; this keeps those who try from
 * taking the database's time. Memory is bounded. Times are milliseconds of a clock that never steps back.
 */
import { networkOf } from "../../domain/addresses/ipRange.ts"
import { type RateLimit, SlidingWindow } from "../../domain/structures/SlidingWindow.ts"

/** Tries that did not succeed, or are not over yet. */
const fromOne: RateLimit = { requests: 10, intervalSeconds: 300 }
const inAll: RateLimit = { requests: 300, intervalSeconds: 60 }

/** Networks that are told apart. Beyond them, the one that tried least lately is forgotten. */
const mostNetworks = 1000

/** A try that counts, until it is given back. */
export interface Try {
  readonly network: string
  readonly at: number
}

/** Too many tries before. */
export interface Refused {
  readonly limit: number
  readonly waitMs: number
}

export class SignInTries {
  private readonly all = new SlidingWindow()
  /** In the order in which they last tried. */
  private readonly networks = new Map<string, SlidingWindow>()

  /** `address`: `null` where it is not known. */
  begin(address: string | null, now: number): Try | Refused {
    const network = networkOf(address ?? "")
    const own = this.networks.get(network) ?? new SlidingWindow()
    const [ownWait, wait] = [own.waitFor(fromOne, now), this.all.waitFor(inAll, now)]
    if (ownWait > 0) return { limit: fromOne.requests, waitMs: ownWait }
    if (wait > 0) return { limit: inAll.requests, waitMs: wait }
    own.add(now)
    this.all.add(now)
    this.networks.delete(network)
    this.networks.set(network, own)
    if (this.networks.size > mostNetworks) {
      const [oldest] = this.networks.keys()
      if (oldest !== undefined) this.networks.delete(oldest)
    }
    return { network, at: now }
  }

  /** The try does not count: it succeeded, or it was not found out whether it would have. */
  giveBack({ network, at }: Try): void {
    this.all.remove(at)
    const own = this.networks.get(network)
    own?.remove(at)
    if (own?.size === 0) this.networks.delete(network)
  }
}
