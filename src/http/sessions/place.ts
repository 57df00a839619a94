/** What a session needs to know of where a request came from: which page sent it, and whether others could read the cookie on its way. */
import { isLoopback } from "../../domain/addresses/ipRange.ts"
import { NotPermitted } from "../../domain/failures/Failure.ts"

/** Where this gateway is for a browser. */
export interface Place {
  /** Of its own pages, such as `https://gateway.acme.example`; `null`: it is not known. */
  readonly origin: string | null
  /** Whether browsers reach it over TLS. */
  readonly isSecure: boolean
  /** Whether its name is a loopback name, which only this machine can reach. */
  readonly isHere: boolean
}

/**
 * `publicUrl`: `server.public_url`, which counts if it is https. `url`: of a request, as it came: no
 * URL where the request has no `Host` (HTTP/1.0), or one that names no host.
 */
export const placeOf = (publicUrl: string | null, url: string): Place => {
  const parsed = URL.parse(publicUrl?.startsWith("https:") === true ? publicUrl : url)
  if (parsed === null) return { origin: null, isSecure: false, isHere: false }
  const { origin, protocol, hostname } = parsed
  return { origin, isSecure: protocol === "https:", isHere: isLocalName(hostname) }
}

const isLocalName = (hostname: string): boolean =>
  hostname === "localhost" || hostname.endsWith(".localhost") || isLoopback(hostname.replace(/^\[|\]$/g, ""))

/** What a browser says of the page that sent a request. */
interface Sent {
  readonly method: string
  readonly headers: Headers
}

/**
 * Whether a request that has a cookie was sent by one of our own pages. `Sec-Fetch-Site` cannot be set by a page; where a browser does not
 * send it, `Origin` has to be ours. A request that changes nothing may come without either, such as from the address bar.
 */
export const isFromOwnPage = ({ method, headers }: Sent, { origin }: Place): boolean => {
  const changesNothing = method === "GET" || method === "HEAD"
  const site = headers.get("sec-fetch-site")
  if (site !== null) return site === "same-origin" || (site === "none" && changesNothing)
  const sender = headers.get("origin")
  return sender === null ? changesNothing : sender === origin
}

export const foreignPage = new NotPermitted({
  rule: "A session is for pages of the gateway itself: this request came from another origin. Behind a proxy, server.public_url has to be the address that browsers use.",
})

/**
 * Why nobody may sign in from there. `peer` and `address`: of the other end of the connection, and of the caller; `null`: not known, as
 * where an app gives the request.
 */
export const signInRefusal = (
  { headers }: Sent,
  place: Place,
  { peer, address }: { readonly peer: string | null; readonly address: string | null },
): NotPermitted | undefined => {
  const isBrowser = headers.has("sec-fetch-site") || headers.has("origin")
  if (isBrowser && !isFromOwnPage({ method: "POST", headers }, place)) return foreignPage
  if (place.isSecure) return undefined
  // Through a proxy the browser may be anywhere, whatever name the proxy asks for. One that adds no header to say so leaves `Origin`.
  const sender = headers.get("origin")
  const isDirect = !proxied.some((name) => headers.has(name)) && (sender === null || sender === place.origin)
  const isLocal = [peer, address].every((each) => each === null || isLoopback(each))
  return place.isHere && isDirect && isLocal ? undefined : plainHttp
}

const proxied = ["forwarded", "via", "x-forwarded-for", "x-forwarded-proto", "x-forwarded-host", "x-real-ip"]

const plainHttp = new NotPermitted({
  rule: "Over plain HTTP one can sign in on the machine of the gateway alone: put TLS in front of the gateway, and set server.public_url to its https address.",
})
