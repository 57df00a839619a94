/** Addresses that a host would fetch: a caller may name public ones alone. See docs/guarantees.md#g36. */
import { longestName, withoutEndDots } from "../../domain/hosts/hostName.ts"
import { reachOf } from "../../domain/hosts/networkReach.ts"

const kinds = "must be an http(s) URL or a data URL"
/** Characters of an address. A longer one is fetched by no host, and takes a parser seconds. */
const longestAddress = 65_536
const tooLong = `must be an address of at most ${longestAddress} characters`
const inside = "must be a public address: this one is within the network of the host"

/** Names that only resolvers of a network know. */
const innerNames = /\.(?:internal|local|localdomain|lan|home|corp|intranet|private|svc|consul|fritz\.box|home\.arpa)$/

/** Parsers of addresses leave some of these out: blanks, control characters, and characters that are not seen. */
const blanks = /[\s\p{C}]+/gu

/** What is looked at of a value, and how much of that has to be more than blanks: lines of base64 have few. */
const looked = 256
const leastSaid = 64

/** A path of the host's machine, or an address without its scheme. Images in base64 may begin with a slash. */
const path = /^(?:[/\\]{2}|[\\~.]|\/(?!9j\/))/

/** Why a value may not stand where a host expects an address; `undefined`: it may, or is none, such as base64. */
export const addressFault = (value: unknown): string | undefined => {
  if (typeof value !== "string") return undefined
  const head = headOf(value)
  return path.test(head) ? kinds : schemeFault(head, value)
}

/** The same of what is usually base64, which may begin as a path does: sound, above all. */
export const dataFault = (value: unknown): string | undefined => {
  return typeof value === "string" ? schemeFault(headOf(value), value) : undefined
}

const headOf = (value: string): string => value.slice(0, looked).replace(blanks, "")

const schemeFault = (head: string, value: string): string | undefined => {
  const [, scheme] = /^([a-z][a-z0-9+.-]*):/i.exec(head) ?? []
  switch (scheme?.toLowerCase()) {
    case undefined:
      // What blanks are there to hide stands behind them.
      return head.length < leastSaid && value.length > looked ? kinds : undefined
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

/** An address up to its path. */
const upToPath = /^[^:/?#]*:\/*[^/?#]*/
/** Some parsers take a backslash for a slash, and others for a part of the name: it would be two hosts. */
const ambiguous = /[\\\s\p{C}]/u

const isPublic = (text: string): boolean => {
  const trimmed = text.trim()
  if (ambiguous.test(upToPath.exec(trimmed)?.[0] ?? "")) return false
  const url = URL.parse(trimmed)
  if (url === null || url.hostname.length > longestName) return false
  const name = withoutEndDots(url.hostname)
  // A name of one label is known to resolvers of a network alone.
  const isOneLabel = !/[.:]/.test(name)
  return reachOf(url.hostname) === "public" && !isOneLabel && !innerNames.test(name)
}
