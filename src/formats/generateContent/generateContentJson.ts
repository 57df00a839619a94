/** Small readings that requests and answers share. */
import type { JsonObject } from "../../domain/json/json.ts"

/** Marks reasoning that came from Gemini and may go back to it. */
export const reasoningFormat = "google-gemini-v1"

/** The object without members that are `undefined`. */
export const given = (members: JsonObject): JsonObject => {
  const kept: Record<string, unknown> = {}
  for (const name in members) if (members[name] !== undefined) kept[name] = members[name]
  return kept
}
