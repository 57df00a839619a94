/** What a request asks for by its address: a path with a parameter, and a query. */
import type { RoutePath } from "../domain/request/forms.ts"

export class Target {
  /** As the route has it: `/api/v1beta/models/{model}:generateContent`. */
  readonly path: RoutePath
  private readonly url: string

  constructor(path: RoutePath, url: string) {
    this.path = path
    this.url = url
  }

  /** The parameter of the path, decoded; `undefined`: the path has none. */
  get parameter(): string | undefined {
    return parameterIn(this.path, this.url)
  }

  /** The first value of this name in the query. */
  inQuery(name: string): string | undefined {
    return queryOf(this.url).get(name) ?? undefined
  }
}

/** The query of a URL, which is none where the request has no valid `Host`. */
export const queryOf = (url: string): URLSearchParams => new URLSearchParams(/\?([^#]*)/.exec(url)?.[1])

/** The path in a URL, without what stands before and behind it. */
export const pathIn = (url: string): string => /^(?:[a-z][a-z0-9+.-]*:\/\/[^/?#]*)?([^?#]*)/i.exec(url)?.[1] ?? ""

/** The text before the parameter of a path: all of it, where there is none. */
export const leadOf = (path: string): string => path.split("{", 1)[0] ?? ""

/** The same with the version that Google's newest client asks for (`@google/genai` 3). */
export const otherLead = (lead: string): string => lead.replace("/v1beta/", "/v1/")

/**
 * The parameter of a path, decoded; `undefined`: the URL is not of this path, or not in its one spelling, since another
 * spelling could pass a filter by path (docs/guarantees.md#g25). What stands before the path, where the gateway is
 * mounted, does not matter.
 */
export const parameterIn = (path: string, url: string): string | undefined => {
  const lead = leadOf(path)
  const tail = path.slice(path.indexOf("}") + 1)
  if (lead === path) return undefined
  const given = pathIn(url)
  const before = [lead, otherLead(lead)].find((text) => given.includes(text))
  if (before === undefined || !given.endsWith(tail)) return undefined
  const value = given.slice(given.indexOf(before) + before.length, given.length - tail.length)
  if (value.split("/").some((segment) => /^\.{0,2}$/.test(segment))) return undefined
  try {
    return decodeURIComponent(value)
  } catch {
    return undefined
  }
}
