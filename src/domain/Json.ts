/** A JSON object whose members have not been checked. */
export type JsonObject = { readonly [member: string]: unknown }

/** Whether `value` is an object with members: not null, not an array. */
export const isJsonObject = (value: unknown): value is JsonObject =>
  typeof value === "object" && value !== null && !Array.isArray(value)

/** The objects of a list; none, where it is no list. */
export const objectsIn = (value: unknown): ReadonlyArray<JsonObject> =>
  Array.isArray(value) ? value.filter(isJsonObject) : []

export const textOr = <Otherwise>(value: unknown, otherwise: Otherwise): string | Otherwise =>
  typeof value === "string" ? value : otherwise
