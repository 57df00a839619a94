/** Why a call got no answer, for the person who runs the gateway. Pure; no secret is in it. */
import type { HostFailed } from "../../domain/failures/Failure.ts"

export interface Called {
  readonly url: string
  /** URL of the proxy that it went through. */
  readonly proxy: string | undefined
}

const codesOf = (failure: HostFailed): ReadonlyArray<string> => {
  const codes: Array<string> = []
  for (let cause = failure.cause; cause instanceof Error; cause = cause.cause) {
    if ("code" in cause && typeof cause.code === "string") codes.push(cause.code)
    codes.push(cause.message)
  }
  return codes
}

/** Why a connection could not be made, or broke. */
export type ConnectionFault =
  | "dns"
  | "address-not-allowed"
  | "no-route"
  | "refused"
  | "tls"
  | "connect-timeout"
  | "closed"

/** Codes of Node's resolver, sockets and OpenSSL, and the texts of the dialler; the first that matches counts. */
const faults: ReadonlyArray<
  readonly [pattern: RegExp, fault: ConnectionFault, say: (host: string, text: string) => string]
> = [
  [
    /ENOTFOUND|EAI_|ENODATA|has no address|DNS/i,
    "dns",
    (host) => `the name ${host} cannot be looked up (DNS): it does not exist, or this machine has no network`,
  ],
  [
    /may not be called/,
    "address-not-allowed",
    (host) => `${host} is a private address or one that is never called: a server of your own needs network: "private"`,
  ],
  [/ENETUNREACH|EHOSTUNREACH|ENETDOWN/, "no-route", (host) => `no network leads to ${host}`],
  [
    /ConnectionRefused|ECONNREFUSED|Unable to connect|Failed to connect/i,
    "refused",
    (host) => `nothing listens at ${host}`,
  ],
  [
    /CERT|SELF_SIGNED|UNABLE_TO_|certificate|ERR_TLS|ERR_SSL|EPROTO|handshake|TLS/i,
    "tls",
    (host, text) => `TLS to ${host} failed: ${text}`,
  ],
  [/no connection after/, "connect-timeout", (host) => `${host} does not answer: no connection after 5 seconds`],
  [/ECONNRESET|closed|EPIPE/i, "closed", (host) => `${host} closed the connection`],
]

/** The fault of a call that failed as `unreachable`; `undefined`: another failure, or an unknown fault. */
export const connectionFault = (failure: HostFailed): ConnectionFault | undefined => {
  if (failure.reason !== "unreachable") return undefined
  const text = codesOf(failure).join(" ")
  return faults.find(([pattern]) => pattern.test(text))?.[1]
}

/** As a member of a call that ended. */
export const faultOf = (failure: HostFailed | undefined): { readonly fault?: ConnectionFault } => {
  const fault = failure === undefined ? undefined : connectionFault(failure)
  return fault === undefined ? {} : { fault }
}

/** Host and port of a URL, without user, password, path and query. */
export const placeOf = (url: string): string => URL.parse(url)?.host ?? "its address"

export const callFault = (failure: HostFailed, { url, proxy }: Called): string => {
  const host = placeOf(proxy ?? url)
  const through = proxy === undefined ? "" : `through the proxy ${host}: `
  if (failure.reason === "timeout") return `${through}${placeOf(url)} does not answer in time`
  const texts = codesOf(failure)
  const text = texts.join(" ")
  const code = texts.find((each) => /^[A-Z][A-Z0-9_]+$/.test(each)) ?? texts.at(-1) ?? failure.reason
  const known = faults.find(([pattern]) => pattern.test(text))
  if (known !== undefined) return `${through}${known[2](host, code)}`
  if (failure.reason === "malformed") return `${through}what answers at ${placeOf(url)} does not speak HTTP`
  return `${through}${placeOf(url)} cannot be called: ${code}`
}
