/**
 * Counts refused requests whose caller is not known, by minute, address and status. A flood of them takes bounded memory: the addresses
 * of a minute beyond the first ones are counted as one.
 */
import type { UnknownCount } from "../storage/requests.ts"

const minuteMs = 60_000

/** A request may end so long after it came, and be of an earlier minute than others that have ended. */
const longestLateMs = 10 * minuteMs

/** Addresses that are told apart in one minute, by each process. */
const mostAddresses = 256

/** In place of the addresses beyond those. */
const otherAddresses = "other"

/** Counts that may wait while the database is away. Beyond them, addresses are not told apart. */
const mostWaiting = 10_000

type Count = { -readonly [M in keyof UnknownCount]: UnknownCount[M] }

export class UnknownCallers {
  /** By minute, address and status. */
  private waiting = new Map<string, Count>()
  private minute = 0
  /** The addresses that are told apart in this minute. */
  private readonly addresses = new Set<string>()

  /** `at`: Unix milliseconds. `address`: `null` where it is not known. */
  count(at: number, address: string | null, status: number): void {
    const minute = at - (at % minuteMs)
    // A request of the minute before does not begin another one, unless the clock was set back.
    if (minute > this.minute || this.minute - minute > longestLateMs) {
      this.minute = minute
      this.addresses.clear()
    }
    this.add({ minute, address: this.toldApart(address ?? ""), status, requests: 1 })
  }

  get isEmpty(): boolean {
    return this.waiting.size === 0
  }

  /** What was counted since the last time. It is no longer counted here. */
  take(): ReadonlyArray<UnknownCount> {
    const all = [...this.waiting.values()]
    this.waiting = new Map()
    return all
  }

  /** Counts these again, since they could not be written. */
  putBack(counts: ReadonlyArray<UnknownCount>): void {
    for (const count of counts) this.add(count)
  }

  private toldApart(address: string): string {
    if (this.addresses.has(address)) return address
    if (this.addresses.size === mostAddresses || this.waiting.size >= mostWaiting) return otherAddresses
    this.addresses.add(address)
    return address
  }

  private add({ minute, address, status, requests }: UnknownCount): void {
    const place = `${minute} ${status} ${address}`
    const count = this.waiting.get(place)
    if (count === undefined) this.waiting.set(place, { minute, address, status, requests })
    else count.requests += requests
  }
}
