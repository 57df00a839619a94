/** The cookie of a session. */
import type { Place } from "./place.ts"

/**
 * A browser takes a cookie with this prefix only over TLS, for this host alone and for all of its paths. Over plain HTTP, on this machine,
 * it cannot be had.
 */
const nameAt = ({ isSecure }: Place): string => (isSecure ? "__Host-headgate" : "headgate")

/** The id of the session in the header `Cookie`; `undefined`: there is none. Of two one may be of somebody else, so neither is taken. */
export const sessionIn = (headers: Headers, place: Place): string | undefined => {
  const name = nameAt(place)
  const found = (headers.get("cookie") ?? "").split(";").flatMap((pair) => {
    const at = pair.indexOf("=")
    return at >= 0 && pair.slice(0, at).trim() === name ? [pair.slice(at + 1).trim()] : []
  })
  return found.length === 1 ? found[0] : undefined
}

/** The value of `Set-Cookie`. It ends with the browser's session, or when the gateway's does. */
export const cookieOf = (id: string, place: Place): string =>
  `${nameAt(place)}=${id}; Path=/; HttpOnly; SameSite=Strict${place.isSecure ? "; Secure" : ""}`

/** The same, to take it away. */
export const noCookie = (place: Place): string => `${cookieOf("", place)}; Max-Age=0`

/** What depends on who asks, for caches. */
export const notCached = { "cache-control": "no-store", vary: "Cookie, Authorization" } as const
