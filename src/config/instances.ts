/** Values of a program where a configuration has an object: each would be read as an object without members. */
import { isJsonObject, isPlainObject } from "../domain/Json.ts"
import { kindOf, type Path } from "../domain/Problem.ts"
import { deepest } from "../wire/jsonDepth.ts"
import { providerMembers } from "./providerFields.ts"
import { withoutInline } from "./withoutInline.ts"

export interface Instance {
  readonly path: Path
  readonly message: string
}

/** The instances of classes (a promise that nobody awaited, a `Map`) in the parts that are the gateway's own to read. */
export const instancesIn = (raw: unknown): ReadonlyArray<Instance> => found(withoutInline(raw), [])

const found = (value: unknown, path: Path): ReadonlyArray<Instance> => {
  if (path.length > deepest || isOfPlugin(path)) return []
  if (Array.isArray(value)) return value.flatMap((item: unknown, at) => found(item, [...path, at]))
  if (!isJsonObject(value)) return []
  if (!isPlainObject(value)) return [{ path, message: `expected an object, got ${kindOf(value)}` }]
  return Object.entries(value).flatMap(([member, inner]) => found(inner, [...path, member]))
}

/** What a plugin reads itself may be anything that its schema takes. */
const isOfPlugin = ([section, , member]: Path): boolean =>
  member !== undefined &&
  ((section === "providers" && !providerMembers.includes(String(member))) || section === "routing")
