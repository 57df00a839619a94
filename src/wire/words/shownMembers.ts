/** Replaces the short texts that a host puts beside the output of its model. Pure. */
import { isJsonObject, type JsonObject } from "../../domain/json/json.ts"

/** Replaces each direct text member by the result of `shown`. Returns `given` itself if nothing changes. */
export const withShownTexts = <A extends object>(given: A, shown: (text: string) => string): A => {
  let changed: Record<string, string> | undefined
  for (const name in given) {
    const value = given[name]
    if (typeof value !== "string") continue
    const text = shown(value)
    if (text === value) continue
    changed ??= {}
    changed[name] = text
  }
  return changed === undefined ? given : { ...given, ...changed }
}

/**
 * The same for an event or answer in the host's own format, including the answer so far that its first and last
 * events contain.
 */
export const withShownAnswer = (event: JsonObject, shown: (text: string) => string): JsonObject => {
  const { message, response } = event
  const within = {
    ...(isJsonObject(message) ? { message: withShownTexts(message, shown) } : {}),
    ...(isJsonObject(response) ? { response: withShownTexts(response, shown) } : {}),
  }
  return { ...withShownTexts(event, shown), ...within }
}
