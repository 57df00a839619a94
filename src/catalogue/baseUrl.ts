/**
 * Where a provider may be. Names are not resolved here: what they stand for is looked at when they are dialled. The
 * WHATWG URL parser has already brought every spelling of an IPv4 address (decimal, octal, hexadecimal, short) to one. G29.
 */

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

/** One spelling of a URL that `checkBaseUrl` has nothing against, without a slash at its end. */
export const normalBaseUrl = (text: string): string =>
  (URL.canParse(text) ? new URL(text).href : text).replace(/\/+$/, "")

/** How far away `hostname` (as of a `URL`) is. A name that says nothing about it counts as public. */
export const reachOf = (hostname: string): Reach => {
  if (hostname.startsWith("[")) return reachOfIPv6(hextets(hostname.slice(1, -1)))
  if (/^\d+\.\d+\.\d+\.\d+$/.test(hostname))
    return reachOfIPv4(hostname.split(".").reduce((all, octet) => all * 256 + Number(octet), 0))
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

const ipv4 = (a: number, b = 0, c = 0, d = 0): number => ((a * 256 + b) * 256 + c) * 256 + d

/** First address, prefix length, reach; the first that fits counts. */
const ranges: ReadonlyArray<readonly [number, number, Reach]> = [
  [ipv4(0), 8, "never"],
  [ipv4(100, 100, 100, 200), 32, "never"], // metadata at Alibaba
  [ipv4(168, 63, 129, 16), 32, "never"], // platform services at Azure
  [ipv4(192, 0, 0, 192), 32, "never"], // metadata at Oracle
  [ipv4(169, 254), 16, "never"],
  [ipv4(224), 3, "never"], // multicast, reserved, broadcast
  [ipv4(10), 8, "private"],
  [ipv4(100, 64), 10, "private"],
  [ipv4(127), 8, "private"],
  [ipv4(172, 16), 12, "private"],
  [ipv4(192, 0, 0), 24, "private"],
  [ipv4(192, 168), 16, "private"],
  [ipv4(198, 18), 15, "private"],
]

const reachOfIPv4 = (address: number): Reach => {
  for (const [first, bits, reach] of ranges) {
    const size = 2 ** (32 - bits)
    if (address >= first && address < first + size) return reach
  }
  return "public"
}

/** The eight 16-bit groups of an IPv6 address as the URL parser writes it. */
const hextets = (text: string): ReadonlyArray<number> => {
  const groups = (part: string | undefined) =>
    part === undefined || part === "" ? [] : part.split(":").map((group) => Number.parseInt(group, 16))
  const [before, after] = text.split("::")
  const head = groups(before)
  const tail = groups(after)
  return [...head, ...new Array<number>(8 - head.length - tail.length).fill(0), ...tail]
}

const reachOfIPv6 = (address: ReadonlyArray<number>): Reach => {
  const [a = 0, b = 0, c = 0, d = 0, e = 0, f = 0, g = 0, h = 0] = address
  const last = g * 65536 + h
  const upper = a + b + c + d
  if (upper + e + f + g === 0 && h <= 1) return h === 1 ? "private" : "never"
  // IPv4 within: compatible, mapped, translated; NAT64; 6to4; Teredo (its server, and its client inverted); ISATAP.
  if (upper === 0 && ((e === 0 && (f === 0 || f === 0xffff)) || (e === 0xffff && f === 0))) return reachOfIPv4(last)
  if (a === 0x64 && b === 0xff9b)
    return c === 0 && d + e + f === 0 ? reachOfIPv4(last) : worse("private", reachOfIPv4(last))
  if (a === 0x2002) return reachOfIPv4(b * 65536 + c)
  if (a === 0x2001 && b === 0) return worse(reachOfIPv4(c * 65536 + d), reachOfIPv4(0xffffffff - last))
  const embedded = (e & 0xfdff) === 0 && f === 0x5efe ? reachOfIPv4(last) : "public"
  return worse(reachOfPrefix(a, b, h), embedded)
}

const reachOfPrefix = (a: number, b: number, h: number): Reach => {
  if ((a & 0xffc0) === 0xfe80 || a >= 0xff00) return "never"
  // Metadata at Amazon (fd00:ec2::254 and its neighbours) and at Google (fd20:ce::254).
  if ((a === 0xfd00 && b === 0xec2) || (a === 0xfd20 && b === 0xce && h === 0x254)) return "never"
  return (a & 0xfe00) === 0xfc00 || (a & 0xffc0) === 0xfec0 ? "private" : "public"
}

const severity: Record<Reach, number> = { public: 0, private: 1, never: 2 }

const worse = (a: Reach, b: Reach): Reach => (severity[a] >= severity[b] ? a : b)
