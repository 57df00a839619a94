/**
 * Which base URLs are allowed, at start. The same rule holds again when a name is dialled (`domain/hosts/networkReach.ts`). The
 * WHATWG URL parser has already normalized every spelling of an IPv4 address (decimal, octal, hexadecimal, short).
 */
import { type Network, reachOf } from "../domain/hosts/networkReach.ts"

/** What is wrong with `text` as the address of a host; `undefined`: nothing. Does not repeat the text. */
export const checkBaseUrl = (text: string, network: Network): string | undefined => {
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
