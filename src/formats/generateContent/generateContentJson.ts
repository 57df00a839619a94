/** Small readings that requests and answers share. */
import type { JsonObject } from "../../domain/json/json.ts"

/** The object without members that are `undefined`. */
export const given = (members: JsonObject): JsonObject => {
  const kept: Record<string, unknown> = {}
  for (const name in members) if (members[name] !== undefined) kept[name] = members[name]
  return kept
}

/** The same; `undefined` where no member is left. */
export const givenSome = (members: JsonObject): JsonObject | undefined => {
  for (const name in members) if (members[name] !== undefined) return given(members)
  return undefined
}
