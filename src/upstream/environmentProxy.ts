/** The HTTP proxy that the environment names for a URL, as other programs on the machine use it. */

type Environment = Readonly<Record<string, string | undefined>>

/**
 * A function from a URL to its proxy: `HTTPS_PROXY` for https, `HTTP_PROXY` for http, in either case; `undefined` for hosts
 * of `NO_PROXY` (names with their subdomains, `*`: all) and where nothing is set.
 */
export const environmentProxy = (environment: Environment): ((url: string) => string | undefined) => {
  const read = (name: string) => environment[name] || environment[name.toLowerCase()] || undefined
  const proxies = { "https:": read("HTTPS_PROXY"), "http:": read("HTTP_PROXY") }
  if (proxies["https:"] === undefined && proxies["http:"] === undefined) return () => undefined
  const direct = (read("NO_PROXY") ?? "")
    .split(",")
    .map((name) =>
      name
        .trim()
        .toLowerCase()
        .replace(/^\*?\./, "")
        .replace(/:\d+$/, ""),
    )
    .filter((name) => name !== "")
  return (url) => {
    const { protocol, hostname } = new URL(url)
    const isDirect = direct.some((name) => name === "*" || hostname === name || hostname.endsWith(`.${name}`))
    return isDirect || (protocol !== "https:" && protocol !== "http:") ? undefined : proxies[protocol]
  }
}
