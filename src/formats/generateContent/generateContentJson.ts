/** Small readings that requests and answers share. */
import { isJsonObject, type JsonObject } from "../../domain/json/json.ts"

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

const nothing: JsonObject = {}

/** The object that is a member of a value; an empty one where there is none. */
export const objectIn = (value: unknown, member: string): JsonObject => {
  const found = isJsonObject(value) ? value[member] : undefined
  return isJsonObject(found) ? found : nothing
}
