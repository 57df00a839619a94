import { isJsonObject, type JsonObject } from "headgate/plugin"

/** The objects in what should be an array of them. */
export const objectsIn = (value: unknown): ReadonlyArray<JsonObject> =>
  Array.isArray(value) ? value.filter(isJsonObject) : []

export const objectIn = (value: unknown): JsonObject => (isJsonObject(value) ? value : {})

export const numberIn = (value: unknown): number | undefined => (typeof value === "number" ? value : undefined)

/** The members that are not undefined. */
export const given = <A extends JsonObject>(members: A): JsonObject =>
  Object.fromEntries(Object.entries(members).filter(([, value]) => value !== undefined))

export const format = "google-gemini-v1"
