/** Replaces short texts that a host put beside what its model said. Pure. */
import { isJsonObject, type JsonObject } from "../../domain/json/json.ts"

/** `given` with each text that is a member of it replaced by what `shown` says; the same object where nothing changes. */
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

/** The same for a host's own event or answer, and for the answer so far that its first and its last event have. */
export const withShownAnswer = (event: JsonObject, shown: (text: string) => string): JsonObject => {
  const { message, response } = event
  const within = {
    ...(isJsonObject(message) ? { message: withShownTexts(message, shown) } : {}),
    ...(isJsonObject(response) ? { response: withShownTexts(response, shown) } : {}),
  }
  return { ...withShownTexts(event, shown), ...within }
}
