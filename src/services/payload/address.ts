/** Addresses that a host would fetch: a caller may name public ones alone. See docs/guarantees.md#g36. */
import { longestName, withoutEndDots } from "../../domain/hostName.ts"
import { reachOf } from "../../upstream/addresses.ts"

const kinds = "must be an http(s) URL or a data URL"
/** Characters of an address. A longer one is fetched by no host, and takes a parser seconds. */
const longestAddress = 65_536
const tooLong = `must be an address of at most ${longestAddress} characters`
const inside = "must be a public address: this one is within the network of the host"

/** Names that only resolvers of a network know. */
const innerNames = /\.(?:internal|local|localdomain|lan|home|corp|intranet|private|home\.arpa)$/

/** Parsers of addresses leave blanks and control characters out. */
// biome-ignore lint/suspicious/noControlCharactersInRegex: those are meant.
const blanks = /[\u0000-\u0020]+/g

/** Why a value may not stand where a host expects an address; `undefined`: it may, or is none, such as base64. */
export const addressFault = (value: unknown): string | undefined => {
  if (typeof value !== "string") return undefined
  const head = value.slice(0, 256).replace(blanks, "")
  const [, scheme] = /^([a-z][a-z0-9+.-]*):/i.exec(head) ?? []
  if (scheme === undefined) return /^[/\\]{2}/.test(head) ? kinds : undefined
  switch (scheme.toLowerCase()) {
    case "data":
      return undefined
    case "http":
    case "https":
      if (value.length > longestAddress) return tooLong
      return isPublic(value) ? undefined : inside
    default:
      return kinds
  }
}

const isPublic = (text: string): boolean => {
  const url = URL.parse(text)
  if (url === null || url.hostname.length > longestName) return false
  const name = withoutEndDots(url.hostname)
  // A name of one label is known to resolvers of a network alone.
  const isOneLabel = !/[.:]/.test(name)
  return reachOf(url.hostname) === "public" && !isOneLabel && !innerNames.test(name)
}
