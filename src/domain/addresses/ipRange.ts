/** IP addresses, and ranges of them, by their numbers, whatever their spelling. Pure. */
import ipaddr from "ipaddr.js"

export type IpAddress = ipaddr.IPv4 | ipaddr.IPv6

/** The longest spelling of an address, with a zone. */
const mostCharacters = 64

const carriesIpv4 = /^::ffff:(\d+\.\d+\.\d+\.\d+)$/i

/**
 * The address that `text` writes; `undefined`: it writes none. An IPv4 address that IPv6 carries (`::ffff:10.0.0.1`) is that IPv4
 * address. The zone of an IPv6 address is left out.
 */
export const parseAddress = (text: string): IpAddress | undefined => {
  if (text.length > mostCharacters) return undefined
  if (!text.includes(":")) return parseIpv4(text)
  if (text.includes(".")) {
    // The library takes other addresses with a dotted end for such a one, too.
    const [, carried] = carriesIpv4.exec(text) ?? []
    return carried === undefined ? undefined : parseIpv4(carried)
  }
  if (!ipaddr.IPv6.isValid(text)) return undefined
  const address = new ipaddr.IPv6(ipaddr.IPv6.parse(text).parts)
  return address.isIPv4MappedAddress() ? address.toIPv4Address() : address
}

/** Four numbers up to 255 without leading zeros, which some read as octal. */
const fourNumbers = /^(?:(?:25[0-5]|2[0-4]\d|1\d\d|[1-9]?\d)(?:\.(?!$)|$)){4}$/

/** The library reads the text three times for the same, which each stream would pay for. */
const parseIpv4 = (text: string): ipaddr.IPv4 | undefined =>
  fourNumbers.test(text) ? new ipaddr.IPv4(text.split(".").map(Number)) : undefined

/** An address, and how many of its first bits the range has in common. */
export interface IpRange {
  readonly first: IpAddress
  readonly bits: number
}

const rangeRule = 'an IP address or a range such as "10.0.0.0/8" or "2001:db8::/32"'

/** The range that `text` writes: an address, or CIDR. Else a text that says what is wrong with it, without a full stop. */
export const readRange = (text: string): IpRange | string => {
  const [written = "", prefix, more] = text.split("/", 3)
  const first = parseAddress(written)
  if (first === undefined || more !== undefined || written.includes("%")) return `expected ${rangeRule}`
  const width = widthOf(first)
  if (prefix === undefined) return { first, bits: width }
  const writtenWidth = written.includes(":") ? 128 : 32
  const bits = Number(prefix) - (writtenWidth - width)
  if (!/^\d{1,3}$/.test(prefix) || bits < 0 || bits > width) {
    return `expected a prefix of ${writtenWidth - width} to ${writtenWidth} bits after the slash`
  }
  const start = firstOf(first, bits)
  if (start === first.toString()) return { first, bits }
  return `expected the first address of the range: ${start}/${bits} has this one, and ${first.toString()} alone is written without a slash`
}

const widthOf = (address: IpAddress): 32 | 128 => (address.kind() === "ipv4" ? 32 : 128)

/** The first address of the range with these first bits. */
const firstOf = (address: IpAddress, bits: number): string => {
  const cidr = `${address.toString()}/${bits}`
  return (address.kind() === "ipv4" ? ipaddr.IPv4 : ipaddr.IPv6).networkAddressFromCIDR(cidr).toString()
}

/** What one caller may choose its address from: a network of 64 bits of IPv6, one address of IPv4. A text that is no address is itself. */
export const networkOf = (text: string): string => {
  const address = parseAddress(text)
  return address === undefined ? text : firstOf(address, Math.min(widthOf(address), 64))
}

/** Whether `text` is an address of this machine alone. */
export const isLoopback = (text: string): boolean => parseAddress(text)?.range() === "loopback"

/** Several ranges. A text that is none has no address. */
export class IpRanges {
  private readonly ipv4: ReadonlyArray<IpRange>
  private readonly ipv6: ReadonlyArray<IpRange>

  constructor(texts: ReadonlyArray<string>) {
    const ranges = texts.map(readRange).filter((range) => typeof range !== "string")
    this.ipv4 = ranges.filter(({ first }) => first.kind() === "ipv4")
    this.ipv6 = ranges.filter(({ first }) => first.kind() === "ipv6")
  }

  get isEmpty(): boolean {
    return this.ipv4.length + this.ipv6.length === 0
  }

  has(address: IpAddress): boolean {
    const ranges = address.kind() === "ipv4" ? this.ipv4 : this.ipv6
    return ranges.some(({ first, bits }) => address.match(first, bits))
  }
}
