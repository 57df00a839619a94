/** Addresses of the console: paths below its base, and parameters in them. */

export type Parameters = Readonly<Record<string, string | number | null | undefined>>

/** `/console/requests?model=a%2Fb`: parameters that are null, undefined or empty are left out. */
export const hrefIn = (base: string, path: string, parameters: Parameters = {}): string => {
  const query = new URLSearchParams()
  for (const [name, value] of Object.entries(parameters)) {
    if (value !== null && value !== undefined && value !== "") query.set(name, String(value))
  }
  const text = query.toString()
  return `${base}${path === "/" ? "" : path}${text === "" ? "" : `?${text}`}`
}

/** `current` with `changes`; what a change sets to null or "" is removed. */
export const changed = (current: URLSearchParams, changes: Parameters): URLSearchParams => {
  const next = new URLSearchParams(current)
  for (const [name, value] of Object.entries(changes)) {
    if (value === null || value === undefined || value === "") next.delete(name)
    else next.set(name, String(value))
  }
  return next
}

/** The path below `base`, always with a slash at its beginning and none at its end. */
export const pathBelow = (base: string, pathname: string): string => {
  const rest = pathname.startsWith(base) ? pathname.slice(base.length) : pathname
  const trimmed = rest.replace(/\/+$/, "")
  return trimmed === "" ? "/" : trimmed
}

/**
 * The parts of `path` that stand for the `:names` of `pattern`, decoded; `null` where it is another path. A name with `*` at its end
 * takes the rest, slashes too: `/models/:model*`.
 */
export const matched = (pattern: string, path: string): Readonly<Record<string, string>> | null => {
  const names: Array<string> = []
  const source = pattern.replace(/:(\w+)(\*?)/g, (_, name: string, rest: string) => {
    names.push(name)
    return rest === "*" ? "(.+)" : "([^/]+)"
  })
  const found = new RegExp(`^${source}$`).exec(path)
  if (found === null) return null
  try {
    return Object.fromEntries(names.map((name, at) => [name, decodeURIComponent(found[at + 1] ?? "")]))
  } catch {
    return null
  }
}
