/** The HTTP proxies that the environment names, as other programs on the machine use them. */

import { withoutBrackets } from "../domain/hosts/networkReach.ts"
import type { Problem } from "../domain/json/Problem.ts"

type Environment = Readonly<Record<string, string | undefined>>

const variableNames = { https: "HTTPS_PROXY", http: "HTTP_PROXY" } as const

/**
 * The proxy URL for each scheme, from `HTTPS_PROXY` and `HTTP_PROXY` in either case. An empty value counts as absent.
 * A value without a scheme is an http URL, as in curl, Go and Python. Values that `proxyProblems` reports are
 * returned unchanged.
 */
export const proxiesOf = (environment: Environment): Readonly<Record<"https" | "http", string | undefined>> => ({
  https: proxyIn(environment, variableNames.https),
  http: proxyIn(environment, variableNames.http),
})

const proxyIn = (environment: Environment, name: string): string | undefined => {
  const written = valueOf(environment, name)?.trim()
  return written === undefined || schemeIn(written) !== undefined ? written : `http://${written}`
}

const schemeIn = (written: string): string | undefined => /^([a-z][a-z\d+.-]*):\/\//i.exec(written)?.[1]

/** Problems with the variables that name a proxy. Leaves out their values, which may contain a password. */
export const proxyProblems = (environment: Environment): ReadonlyArray<Problem> =>
  Object.values(variableNames).flatMap((name) => {
    const proxy = proxyIn(environment, name)
    if (proxy === undefined || isProxyUrl(proxy)) return []
    const scheme = schemeIn(proxy)?.toLowerCase() ?? "http"
    const got = /^https?$/.test(scheme) ? "a value that is not one" : `one that begins with ${scheme}://`
    const path = environment[name] ? name : name.toLowerCase()
    return [{ path, message: `expected the URL of an HTTP proxy, such as "http://127.0.0.1:3128", got ${got}` }]
  })

const valueOf = (environment: Environment, name: string): string | undefined =>
  environment[name] || environment[name.toLowerCase()] || undefined

/** Whether this is the absolute URL of an HTTP proxy. */
export const isProxyUrl = (written: string): boolean => /^https?:\/\/[^/]/i.test(written) && URL.canParse(written)

/** More origins than a gateway calls. When it is reached, the cache is cleared. */
const maxOrigins = 1_024

/** An entry of `NO_PROXY`. `port`: the only port that it exempts; `undefined`: all ports. */
interface Exemption {
  readonly name: string
  readonly port: string | undefined
}

/**
 * Returns a function from an absolute URL to its proxy; `undefined`: a host of `NO_PROXY`, no proxy set, or not a
 * URL. `NO_PROXY` lists addresses, names with their subdomains, and `*` for all. As in curl, an entry with a port
 * exempts that port only. Ranges such as 10.0.0.0/8 exempt nothing. The result for each origin is cached.
 */
export const environmentProxy = (environment: Environment): ((url: string) => string | undefined) => {
  const { https, http } = proxiesOf(environment)
  if (https === undefined && http === undefined) return () => undefined
  const exempt = (valueOf(environment, "NO_PROXY") ?? "").split(",").map(exemptionOf)
  const known = new Map<string, string | undefined>()
  const find = (origin: string): string | undefined => {
    if (!URL.canParse(origin)) return undefined
    const { protocol, hostname, port } = new URL(origin)
    const host = withoutBrackets(hostname)
    const at = port !== "" ? port : protocol === "https:" ? "443" : "80"
    const isExempt = exempt.some(
      (entry) =>
        entry.name !== "" &&
        (entry.port === undefined || entry.port === at) &&
        (entry.name === "*" || host === entry.name || host.endsWith(`.${entry.name}`)),
    )
    if (isExempt) return undefined
    if (protocol === "https:") return https
    return protocol === "http:" ? http : undefined
  }
  return (url) => {
    const origin = originIn(url)
    const found = known.get(origin)
    if (found !== undefined || known.has(origin)) return found
    if (known.size >= maxOrigins) known.clear()
    const proxy = find(origin)
    known.set(origin, proxy)
    return proxy
  }
}

/** Scheme, host and port of a URL, without parsing it. */
const originIn = (url: string): string => {
  const end = url.indexOf("/", "https://".length)
  return end === -1 ? url : url.slice(0, end)
}

/** Parses an item of `NO_PROXY`: `.acme.example`, `*.acme.example`, `acme.example:443`, `[::1]:443`, `::1`. */
const exemptionOf = (item: string): Exemption => {
  const name = item
    .trim()
    .toLowerCase()
    .replace(/^\*?\./, "")
  const hasPort = name.startsWith("[") || name.split(":").length === 2
  const port = hasPort ? /:(\d+)$/.exec(name)?.[1] : undefined
  return {
    name: withoutBrackets(port === undefined ? name : name.slice(0, -port.length - 1)),
    port: port === undefined ? undefined : String(Number(port)),
  }
}

/**
 * Runs a function while the environment has no `NO_PROXY`. The runtime's `fetch` honours it even for a proxy that is passed
 * to it, when it is called: it would then dial the host itself, at an address that nobody has checked.
 */
export const withoutNoProxy = <A>(run: () => A): A => {
  const { NO_PROXY: upper, no_proxy: lower } = process.env
  if (upper === undefined && lower === undefined) return run()
  delete process.env["NO_PROXY"]
  delete process.env["no_proxy"]
  try {
    return run()
  } finally {
    if (upper !== undefined) process.env["NO_PROXY"] = upper
    if (lower !== undefined) process.env["no_proxy"] = lower
  }
}
