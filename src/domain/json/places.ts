/** Entries of a list that belong to places in another one. */
import { isJsonObject, type JsonObject } from "./json.ts"

/** How many entries there are. 0: one of them has no `index` below `most`, or the same one as another. */
export const distinctPlaces = (list: ReadonlyArray<JsonObject>, most: number): number => {
  const places = new Set<unknown>()
  for (const { index } of list) {
    if (typeof index !== "number" || !Number.isInteger(index) || index < 0 || index >= most) return 0
    places.add(index)
  }
  return places.size === list.length ? places.size : 0
}

export const isListOfObjects = (list: unknown): list is ReadonlyArray<JsonObject> =>
  Array.isArray(list) && list.every(isJsonObject)
