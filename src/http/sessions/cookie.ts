/** The cookie of a session. */
import type { Place } from "./place.ts"

/**
 * A browser accepts the prefix `__Host-` only over TLS, from this host alone and for all of its paths. Over plain HTTP, which is for this
 * machine alone, the cookie has no prefix.
 */
const nameAt = ({ isSecure }: Place): string => (isSecure ? "__Host-headgate" : "headgate")

/** The id of the session in the header `Cookie`; `undefined`: there is none, or there are several, one of which may be of somebody else. */
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

/** The value of `Set-Cookie` that removes it. */
export const noCookie = (place: Place): string => `${cookieOf("", place)}; Max-Age=0`

/** Headers of an answer that depends on who asks: no cache keeps it. */
export const notCached = { "cache-control": "no-store", vary: "Cookie, Authorization" } as const
