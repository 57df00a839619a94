/** A JSON object whose members have not been checked. */
export type JsonObject = { readonly [member: string]: unknown }

/** Whether `value` is an object with members: not null, not an array. */
export const isJsonObject = (value: unknown): value is JsonObject =>
  typeof value === "object" && value !== null && !Array.isArray(value)

/** Whether `value` has members as JSON has them: it is no instance of a class, such as a promise or a `Map`. */
export const isPlainObject = (value: unknown): value is JsonObject => {
  if (!isJsonObject(value)) return false
  const prototype: unknown = Object.getPrototypeOf(value)
  // The `Object.prototype` of another realm is as good.
  return prototype === null || Object.getPrototypeOf(prototype) === null
}

/** Whether lists and objects are nested more than `most` deep, or contain themselves: recursion over them could overflow the stack. */
export const isNestedDeeper = (value: unknown, most: number): boolean => {
  const heights = new Map<unknown, number>()
  const heightOf = (inner: unknown, levelsLeft: number): number => {
    if (!Array.isArray(inner) && !isPlainObject(inner)) return 0
    const known = heights.get(inner)
    if (known !== undefined) return known
    let highest = 0
    if (levelsLeft > 0)
      for (const part of Object.values(inner)) {
        highest = Math.max(highest, heightOf(part, levelsLeft - 1))
        if (highest === Number.POSITIVE_INFINITY) return highest
      }
    const height = levelsLeft > 0 ? highest + 1 : Number.POSITIVE_INFINITY
    heights.set(inner, height)
    return height
  }
  return heightOf(value, most) > most
}

const noMembers: JsonObject = {}

/** The value, where it is an object; else one without members. */
export const objectIn = (value: unknown): JsonObject => (isJsonObject(value) ? value : noMembers)

/** The objects of a list; none, where it is no list. */
export const objectsIn = (value: unknown): ReadonlyArray<JsonObject> =>
  Array.isArray(value) ? value.filter(isJsonObject) : []

export const textOr = <Otherwise>(value: unknown, otherwise: Otherwise): string | Otherwise =>
  typeof value === "string" ? value : otherwise
