/** The HTTP proxies that the environment names, as other programs on the machine use them. */
import { withoutBrackets } from "./addresses.ts"

type Environment = Readonly<Record<string, string | undefined>>

/** URLs of the proxies for each scheme. `HTTPS_PROXY` and `HTTP_PROXY`, in either case; an empty one counts as absent. */
export const proxiesOf = (environment: Environment): Readonly<Record<"https" | "http", string | undefined>> => ({
  https: valueOf(environment, "HTTPS_PROXY"),
  http: valueOf(environment, "HTTP_PROXY"),
})

const valueOf = (environment: Environment, name: string): string | undefined =>
  environment[name] || environment[name.toLowerCase()] || undefined

/** More origins than a gateway calls. When it is reached, the cache is cleared. */
const maxOrigins = 1_024

/**
 * A function from an absolute URL to its proxy; `undefined` for hosts of `NO_PROXY` (addresses, names with their
 * subdomains, `*`: all; a port behind them is not looked at), where nothing is set, and for what is no URL.
 */
export const environmentProxy = (environment: Environment): ((url: string) => string | undefined) => {
  const { https, http } = proxiesOf(environment)
  if (https === undefined && http === undefined) return () => undefined
  const exempt = (valueOf(environment, "NO_PROXY") ?? "").split(",").map(nameOf)
  const known = new Map<string, string | undefined>()
  const find = (origin: string): string | undefined => {
    if (!URL.canParse(origin)) return undefined
    const { protocol, hostname } = new URL(origin)
    const host = withoutBrackets(hostname)
    const isExempt = exempt.some((name) => name !== "" && (name === "*" || host === name || host.endsWith(`.${name}`)))
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

/** The name or address in an item of `NO_PROXY`: `.acme.example`, `*.acme.example`, `acme.example:443`, `[::1]:443`, `::1`. */
const nameOf = (item: string): string => {
  const name = item
    .trim()
    .toLowerCase()
    .replace(/^\*?\./, "")
  const hasPort = name.startsWith("[") || name.split(":").length === 2
  return withoutBrackets(hasPort ? name.replace(/:\d+$/, "") : name)
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
