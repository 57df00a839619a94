/** Instances of classes in a configuration, where it should have an object: each would be read as one without members. */
import { isJsonObject, isPlainObject } from "../domain/json/json.ts"
import { kindOf, type Path } from "../domain/json/Problem.ts"
import { deepest } from "../wire/jsonDepth.ts"
import { providerMembers } from "./fields/providerFields.ts"
import { withoutInline } from "./withoutInline.ts"

export interface Instance {
  readonly path: Path
  readonly message: string
}

/** Instances (such as a promise without `await`, or a `Map`) in the parts that the gateway itself reads. */
export const instancesIn = (raw: unknown): ReadonlyArray<Instance> => found(withoutInline(raw), [])

const found = (value: unknown, path: Path): ReadonlyArray<Instance> => {
  if (path.length > deepest || isOfPlugin(path)) return []
  if (Array.isArray(value)) return value.flatMap((item: unknown, at) => found(item, [...path, at]))
  if (!isJsonObject(value)) return []
  if (!isPlainObject(value)) return [{ path, message: `expected an object, got ${kindOf(value)}` }]
  return Object.entries(value).flatMap(([member, inner]) => found(inner, [...path, member]))
}

/** A plugin's own fields may have any values that its schema accepts. */
const isOfPlugin = ([section, , member]: Path): boolean =>
  member !== undefined &&
  ((section === "providers" && !providerMembers.includes(String(member))) || section === "routing")
