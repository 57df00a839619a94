/**
 * Which base URLs are allowed, at start. When a name is dialled its addresses are checked by `upstream/addresses.ts`, with
 * lists of its own. The WHATWG URL parser has already
 * normalized every spelling of an IPv4 address (decimal, octal, hexadecimal, short).
 */
import ipaddr from "ipaddr.js"

/** `never`: link-local, metadata services, multicast, reserved and unspecified addresses. */
export type Reach = "public" | "private" | "never"

/** What is wrong with `text` as the address of a host; `undefined`: nothing. Does not repeat the text. */
export const checkBaseUrl = (text: string, network: "public" | "private"): string | undefined => {
  const authority = /^https?:\/\/([^/?#]+)/i.exec(text)?.[1]
  if (authority === undefined || /[\s\\]/.test(text) || !URL.canParse(text))
    return 'expected a URL such as "https://host/v1", got string'
  if (authority.includes("@")) return "expected a URL without user name and password, got one with them"
  if (/[?#]/.test(text)) return "expected a URL without query and fragment, got one with them"
  const url = new URL(text)
  const reach = reachOf(url.hostname)
  if (reach === "never") return "expected an address that may be dialled, got a link-local, metadata or reserved one"
  if (network === "private") return undefined
  if (reach === "private")
    return 'expected a public address (loopback and private ones need "network": "private"), got a private one'
  return url.protocol === "https:" ? undefined : 'expected https (http needs "network": "private"), got http'
}

/** The normal form of a URL that `checkBaseUrl` accepts, without a slash at its end. */
export const normalBaseUrl = (text: string): string =>
  (URL.canParse(text) ? new URL(text).href : text).replace(/\/+$/, "")

/** The reach of `hostname` (as in a `URL`). Other names than local ones count as public. */
export const reachOf = (hostname: string): Reach => {
  const address = hostname.replace(/^\[(.*)\]$/, "$1")
  if (ipaddr.IPv6.isValid(address)) return reachOfIPv6(ipaddr.IPv6.parse(address))
  if (ipaddr.IPv4.isValidFourPartDecimal(address)) return reachOfRange(ipaddr.IPv4.parse(address))
  const name = hostname.replace(/\.+$/, "")
  if (metadataNames.has(name)) return "never"
  return /(^|\.)localhost$|^localhost\.localdomain$|^ip6-(localhost|loopback)$/.test(name) ? "private" : "public"
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

const ranges = (...blocks: ReadonlyArray<string>) => blocks.map((block) => ipaddr.parseCIDR(block))

/** The first list that contains an address decides. */
const reaches = {
  never: ranges(
    ...["0.0.0.0/8", "169.254.0.0/16", "224.0.0.0/3", "::/128", "fe80::/10", "ff00::/8"],
    // Metadata and platform services of Alibaba, Azure, Oracle, Amazon and Google.
    ...["100.100.100.200/32", "168.63.129.16/32", "192.0.0.192/32", "fd00:ec2::/32", "fd20:ce::254/128"],
  ),
  private: ranges(
    ...["10.0.0.0/8", "100.64.0.0/10", "127.0.0.0/8", "172.16.0.0/12", "192.0.0.0/24", "192.168.0.0/16"],
    ...["198.18.0.0/15", "::1/128", "fc00::/7", "fec0::/10"],
  ),
}

const reachOfRange = (address: ipaddr.IPv4 | ipaddr.IPv6): Reach => {
  const found = ipaddr.subnetMatch(address, reaches, "public")
  return found === "never" || found === "private" ? found : "public"
}

/** An IPv6 address that embeds an IPv4 address has the reach of that one. */
const reachOfIPv6 = (address: ipaddr.IPv6): Reach => {
  const bytes = address.toByteArray()
  const within = (at: number) => reachOfRange(new ipaddr.IPv4(bytes.slice(at, at + 4)))
  const own = reachOfRange(address)
  switch (address.range()) {
    case "ipv4Mapped":
    case "rfc6145":
      return within(12)
    case "rfc6052":
      // 64:ff9b:1::/48 is for translation within a network.
      return bytes[5] === 1 ? worse("private", within(12)) : within(12)
    case "6to4":
      return within(2)
    case "teredo":
      // Teredo: the server's address, and the client's with all bits inverted.
      return worse(within(4), reachOfRange(new ipaddr.IPv4(bytes.slice(12).map((byte) => 255 - byte))))
    default:
      if (own === "public" && bytes.slice(0, 12).every((byte) => byte === 0)) return within(12)
      return isIsatap(bytes) ? worse(own, within(12)) : own
  }
}

const isIsatap = ([, , , , , , , , a, b, c, d]: ReadonlyArray<number>): boolean =>
  (a === 0 || a === 2) && b === 0 && c === 0x5e && d === 0xfe

const severity: Record<Reach, number> = { public: 0, private: 1, never: 2 }

const worse = (a: Reach, b: Reach): Reach => (severity[a] >= severity[b] ? a : b)
