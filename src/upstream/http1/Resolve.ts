/** Host names to addresses that may be dialled. What is checked here is what is dialled: nothing resolves a name again. */
import { lookup as systemLookup } from "node:dns/promises"
import { mayDial, type Network, reachOf, reachOfAddress, withoutBrackets } from "../../domain/hosts/networkReach.ts"

/** Every address of a name, in the resolver's order. */
export type Lookup = (hostname: string) => Promise<ReadonlyArray<{ readonly address: string }>>

/** The addresses of the host name of a URL that `network` allows, in the order to try them; rejects where there is none. */
export type Resolve = (hostname: string, network: Network) => Promise<ReadonlyArray<string>>

const keptMs = 5_000
const maxNames = 1_024

export const makeResolve = (
  lookup: Lookup = (name) => systemLookup(name, { all: true, order: "verbatim" }),
): Resolve => {
  const names = new Map<string, { readonly addresses: Promise<ReadonlyArray<string>>; readonly until: number }>()

  const addressesOf = (name: string): Promise<ReadonlyArray<string>> => {
    const known = names.get(name)
    const now = performance.now()
    if (known !== undefined && known.until > now) return known.addresses
    const addresses = lookup(name).then((found) => found.map(({ address }) => address))
    // The map is in order of insertion, so the first name is the oldest. A failed lookup is not kept.
    names.delete(name)
    for (const oldest of names.keys()) {
      if (names.size < maxNames) break
      names.delete(oldest)
    }
    const entry = { addresses, until: now + keptMs }
    names.set(name, entry)
    addresses.catch(() => names.get(name) === entry && names.delete(name))
    return addresses
  }

  return async (hostname, network) => {
    const isAddress = hostname.startsWith("[") || /^[\d.]+$/.test(hostname)
    if (!isAddress && !mayDial(reachOf(hostname), network)) throw new Error(`${hostname} may not be called`)
    const all = isAddress ? [withoutBrackets(hostname)] : await addressesOf(hostname)
    const allowed = all.filter((address) => mayDial(reachOfAddress(address), network))
    if (allowed.length === 0) throw new Error(refusal(hostname, all))
    return alternating(allowed)
  }
}

const refusal = (hostname: string, all: ReadonlyArray<string>): string =>
  all.length === 0
    ? `${hostname} has no address`
    : `${hostname} leads to an address that may not be called: ${all.slice(0, 4).join(", ")}`

/** IPv6 first, then in turns, so that one broken family costs one attempt and not all. RFC 8305, 4. */
const alternating = (addresses: ReadonlyArray<string>): ReadonlyArray<string> => {
  const isIPv6 = (address: string) => address.includes(":")
  const six = addresses.filter(isIPv6)
  const four = addresses.filter((address) => !isIPv6(address))
  return Array.from({ length: Math.max(six.length, four.length) }, (_, index) => [six[index], four[index]])
    .flat()
    .filter((address) => address !== undefined)
}
