/**
 * Which network addresses may be dialled. Every address is judged by its number, whatever its spelling, and an IPv6
 * address that carries an IPv4 address is judged by that one too. See docs/guarantees.md#g29.
 */
import ipaddr from "ipaddr.js"
import { withoutEndDots } from "./hostName.ts"

/**
 * `public`: may always be dialled. `private`: loopback, private and other networks of limited scope. `never`: link-local,
 * metadata services, multicast, reserved and unspecified addresses.
 */
export type Reach = "public" | "private" | "never"

/** Where a host is, by its configuration: `private` also allows addresses of reach `private`. */
export type Network = "public" | "private"

/** Whether an address of this reach may be dialled for a host that is configured with `network`. */
export const mayDial = (reach: Reach, network: Network): boolean =>
  reach === "public" || (reach === "private" && network === "private")

/** The reach of the host name of a `URL`. A name that says nothing about its address counts as public. */
export const reachOf = (hostname: string): Reach => {
  if (hostname.startsWith("[")) return reachOfAddress(withoutBrackets(hostname))
  if (/^\d+\.\d+\.\d+\.\d+$/.test(hostname)) return reachOfAddress(hostname)
  const name = withoutEndDots(hostname).toLowerCase()
  if (metadataNames.has(name)) return "never"
  return /(^|\.)localhost$|^localhost\.localdomain$|^ip6-(localhost|loopback)$/.test(name) ? "private" : "public"
}

/** The host name of a `URL` as resolvers and TLS want it: an IPv6 address has no brackets there. */
export const withoutBrackets = (hostname: string): string =>
  hostname.startsWith("[") && hostname.endsWith("]") ? hostname.slice(1, -1) : hostname

/** The reach of a numeric address, IPv4 or IPv6 without brackets. What is no address is never dialled. */
export const reachOfAddress = (address: string): Reach => {
  if (!ipaddr.isValid(address)) return "never"
  const parsed = ipaddr.parse(address)
  return parsed instanceof ipaddr.IPv6 ? reachOfIPv6(parsed) : reachOfIPv4(parsed)
}

const metadataNames = new Set([
  "metadata",
  "metadata.google.internal",
  "metadata.goog",
  "metadata.tencentyun.com",
  "metadata.platformequinix.com",
  "instance-data",
  "instance-data.ec2.internal",
])

/** IANA's registry of special-purpose IPv4 addresses, and the fixed addresses of cloud platforms. The first match counts. */
const ipv4Ranges: ReadonlyArray<readonly [string, Reach]> = [
  ["0.0.0.0/8", "never"],
  ["100.100.100.200/32", "never"], // metadata at Alibaba
  ["168.63.129.16/32", "never"], // platform services at Azure
  ["192.0.0.192/32", "never"], // metadata at Oracle
  ["169.254.0.0/16", "never"],
  ["224.0.0.0/3", "never"], // multicast, reserved, broadcast
  ["10.0.0.0/8", "private"],
  ["100.64.0.0/10", "private"], // carrier-grade NAT, also used by overlay networks
  ["127.0.0.0/8", "private"],
  ["172.16.0.0/12", "private"],
  ["192.0.0.0/24", "private"],
  ["192.0.2.0/24", "private"], // documentation
  ["192.88.99.0/24", "private"], // 6to4 relays, deprecated
  ["192.168.0.0/16", "private"],
  ["198.18.0.0/15", "private"], // benchmarks
  ["198.51.100.0/24", "private"], // documentation
  ["203.0.113.0/24", "private"], // documentation
]

/** The same for IPv6. Beyond these, only global unicast addresses (2000::/3) are public. */
const ipv6Ranges: ReadonlyArray<readonly [string, Reach]> = [
  ["::1/128", "private"],
  ["fd00:ec2::/32", "never"], // metadata and other services at Amazon
  ["fd20:ce::254/128", "never"], // metadata at Google
  ["fc00::/7", "private"],
  ["fec0::/10", "private"], // site-local, deprecated
  ["2001:2::/48", "private"], // benchmarks
  ["2001:db8::/32", "private"], // documentation
  ["3fff::/20", "private"], // documentation
  ["2001:10::/28", "never"], // ORCHID, no locators
  ["2001:20::/28", "never"],
  ["2000::/3", "public"],
  ["::/0", "never"],
]

const ipv4Rules = ipv4Ranges.map(([range, reach]) => ({ range: ipaddr.IPv4.parseCIDR(range), reach }))
const ipv6Rules = ipv6Ranges.map(([range, reach]) => ({ range: ipaddr.IPv6.parseCIDR(range), reach }))

const reachOfIPv4 = (address: ipaddr.IPv4): Reach =>
  ipv4Rules.find(({ range }) => address.match(range))?.reach ?? "public"

const reachOfIPv6 = (address: ipaddr.IPv6): Reach => {
  const [a = 0, b = 0, c = 0, d = 0, e = 0, f = 0, g = 0, h = 0] = address.parts
  const last = ipv4Of(g, h)
  switch (address.range()) {
    case "ipv4Mapped":
    case "rfc6145":
      return reachOfIPv4(last)
    case "rfc6052":
      // The prefix for use within a network (64:ff9b:1::/48) is no public address whatever it carries.
      return c === 0 ? reachOfIPv4(last) : worse("private", reachOfIPv4(last))
    case "6to4":
      return reachOfIPv4(ipv4Of(b, c))
    case "teredo":
      // The server in clear, the client inverted.
      return worse(reachOfIPv4(ipv4Of(c, d)), reachOfIPv4(ipv4Of(~g & 0xffff, ~h & 0xffff)))
  }
  const compatible = a + b + c + d + e + f === 0 && (g !== 0 || h > 1)
  if (compatible) return reachOfIPv4(last)
  const isatap = (e & 0xfdff) === 0 && f === 0x5efe
  const reach = ipv6Rules.find(({ range }) => address.match(range))?.reach ?? "never"
  return isatap ? worse(reach, reachOfIPv4(last)) : reach
}

const ipv4Of = (upper: number, lower: number): ipaddr.IPv4 =>
  new ipaddr.IPv4([upper >> 8, upper & 0xff, lower >> 8, lower & 0xff])

const severity: Record<Reach, number> = { public: 0, private: 1, never: 2 }

const worse = (a: Reach, b: Reach): Reach => (severity[a] >= severity[b] ? a : b)
