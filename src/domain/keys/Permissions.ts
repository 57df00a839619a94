/** The models and providers that a key may use: lists of patterns, matched against hosts. Pure. */
import type { Host } from "../hosts/Host.ts"

/** `null`: everything is allowed. A list that is not null has at least one pattern. */
export interface Permissions {
  /** Patterns of model ids. */
  readonly allowedModels: ReadonlyArray<string> | null
  /** Patterns of a host's tag, of its provider's slug, or of the provider's display name. */
  readonly allowedProviders: ReadonlyArray<string> | null
}

/** Everything is allowed. */
export const unrestricted: Permissions = { allowedModels: null, allowedProviders: null }

/** The list of a key that excludes a host. */
export type ForbiddenBy = "allowed_models" | "allowed_providers"

/** The list that does not allow this host; `undefined`: it may be called. */
export const forbiddenBy = ({ allowedModels, allowedProviders }: Permissions, host: Host): ForbiddenBy | undefined => {
  if (allowedModels !== null && !allowedModels.some((pattern) => matches(pattern, host.model))) return "allowed_models"
  if (allowedProviders === null) return undefined
  const isAllowed = allowedProviders.some(
    (pattern) => matches(pattern, host.tag) || matches(pattern, host.provider) || matches(pattern, host.providerName),
  )
  return isAllowed ? undefined : "allowed_providers"
}

/**
 * Whether a text is of a pattern: `*` stands for any characters, also none and also slashes; every other character for
 * itself, in either case. Takes time of the order of both lengths multiplied, whatever the pattern.
 */
export const matches = (pattern: string, text: string): boolean => {
  const wanted = pattern.toLowerCase()
  const given = text.toLowerCase()
  let p = 0
  /** Where the pattern goes on after its last `*`, and the text that this `*` stands for ends. */
  let afterStar = -1
  let starEnds = 0
  let t = 0
  while (t < given.length) {
    if (wanted[p] === "*") {
      p += 1
      afterStar = p
      starEnds = t
    } else if (wanted[p] === given[t]) {
      p += 1
      t += 1
    } else if (afterStar >= 0) {
      // The last star takes one character more.
      starEnds += 1
      p = afterStar
      t = starEnds
    } else return false
  }
  while (wanted[p] === "*") p += 1
  return p === wanted.length
}
