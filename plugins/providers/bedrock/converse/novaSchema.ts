/**
 * The schema of a tool for Nova, which takes `type`, `properties` and `required` at the top and no references:
 * "extraneous key [definitions] is not permitted" (zed-industries/zed#28521, 2025-04; pydantic/pydantic-ai#1623,
 * 2025-05).
 */
import { isJsonObject, type JsonObject } from "headgate/plugin"

/**
 * Objects that references may make of one schema: they can name each other, so that a short one stands for a huge one.
 */
const mostObjects = 2_000

export const novaSchema = (schema: JsonObject): JsonObject => {
  const { type, properties, required } = new Inliner(schema).whole()
  return {
    type: type ?? "object",
    properties: isJsonObject(properties) ? properties : {},
    ...(Array.isArray(required) ? { required } : {}),
  }
}

/** Writes local references out. One within itself, one to elsewhere, and those beyond the bound become "anything". */
class Inliner {
  private readonly root: JsonObject
  private objects = 0

  constructor(root: JsonObject) {
    this.root = root
  }

  whole(): JsonObject {
    const written = this.written(this.root, [])
    return isJsonObject(written) ? written : {}
  }

  private written(value: unknown, open: ReadonlyArray<string>): unknown {
    if (Array.isArray(value)) return value.map((one: unknown) => this.written(one, open))
    if (!isJsonObject(value)) return value
    this.objects += 1
    if (this.objects > mostObjects) return {}
    const { $ref: reference, $defs: _, definitions: __, ...others } = value
    const own = Object.fromEntries(Object.entries(others).map(([name, inner]) => [name, this.written(inner, open)]))
    if (typeof reference !== "string") return own
    const target = open.includes(reference) ? undefined : this.at(reference)
    const inlined = target === undefined ? {} : this.written(target, [...open, reference])
    return isJsonObject(inlined) ? { ...inlined, ...own } : own
  }

  /** `#/$defs/Place`, or `#`. */
  private at(reference: string): JsonObject | undefined {
    const [start, ...names] = reference.split("/")
    if (start !== "#") return undefined
    let found: unknown = this.root
    for (const name of names) {
      const key = name.replaceAll("~1", "/").replaceAll("~0", "~")
      found = isJsonObject(found) && Object.hasOwn(found, key) ? found[key] : undefined
    }
    return isJsonObject(found) ? found : undefined
  }
}
