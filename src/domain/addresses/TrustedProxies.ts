/**
 * Which address a request comes from, where proxies may stand in front of the gateway. Pure. See
 * docs/decisions/0070-the-address-of-a-caller.md.
 */
import { type ForwardedHeader, ForwardedHops } from "./ForwardedHops.ts"
import { type IpAddress, IpRanges, parseAddress } from "./ipRange.ts"

/** Addresses and ranges of proxies; or how many of them every request passes. */
export type Trusted = ReadonlyArray<string> | number

/** Most proxies that a request passes. What the header says of further ones is not read. */
export const mostProxies = 100

export class TrustedProxies {
  /** The header that the proxies write. No other is read: a caller may have written it. */
  readonly header: ForwardedHeader
  private readonly ranges: IpRanges
  private readonly count: number

  constructor(trusted: Trusted, header: ForwardedHeader) {
    this.header = header
    this.ranges = new IpRanges(typeof trusted === "number" ? [] : trusted)
    this.count = typeof trusted === "number" ? trusted : 0
  }

  /** Without any, headers say nothing. */
  get isEmpty(): boolean {
    return this.count === 0 && this.ranges.isEmpty
  }

  /**
   * Whether a request comes from within the trusted ranges, all the way from its caller, so that no stranger has written its headers. A
   * number of proxies says nothing about their callers. `caller`: what `addressOf` found; asked only where there are ranges.
   */
  hasWithin(caller: () => string | null): boolean {
    if (this.ranges.isEmpty) return false
    const address = parseAddress(caller() ?? "")
    return address !== undefined && this.ranges.has(address)
  }

  /**
   * The address of the caller: the first one that is not of a trusted proxy, on the way from `peer`, the other end of the socket, to
   * the left of the header. `null`: it is not known. Where the header ends, or has something else than an address, it is the last one
   * before that. `header`: all its lines, joined by commas; `null`: there is none.
   */
  addressOf(peer: string | null, header: () => string | null): string | null {
    let at = peer === null ? undefined : parseAddress(peer)
    if (!this.isEmpty && this.isProxy(at, 0)) {
      const hops = new ForwardedHops(this.header, header() ?? "")
      for (let passed = 0; passed < mostProxies && this.isProxy(at, passed); passed++) {
        const before = hops.next()
        if (before === undefined) break
        at = before
      }
    }
    return at?.toString() ?? null
  }

  /** `passed`: so many proxies stand between it and the gateway. */
  private isProxy(address: IpAddress | undefined, passed: number): boolean {
    return passed < this.count || (address !== undefined && this.ranges.has(address))
  }
}
