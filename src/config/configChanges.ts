/** What is different between two readings of a configuration file, member by member. */
import { isJsonObject, type JsonObject } from "../domain/json/json.ts"
import { type Path, renderPath } from "../domain/json/Problem.ts"
import { withoutInline } from "./withoutInline.ts"

type Shown = string | number | boolean | null

export interface ConfigChange {
  readonly path: string
  /** The member of the file that it is in, such as `limits`. */
  readonly section: string
  /** As they are written; `null`: absent; "…": an object, a list, or what may be a secret. */
  readonly before: Shown
  readonly after: Shown
}

/** The members that differ. Models are compared by their ids, and hosts by their tags, wherever they stand. */
export const changesIn = (before: unknown, after: unknown): ReadonlyArray<ConfigChange> =>
  differences(byName(before), byName(after), [])

const differences = (before: unknown, after: unknown, path: Path): ReadonlyArray<ConfigChange> => {
  // A section that is left out is an empty one.
  if (path.length === 1 && before === undefined && isJsonObject(after)) return differences({}, after, path)
  if (path.length === 1 && after === undefined && isJsonObject(before)) return differences(before, {}, path)
  if (isJsonObject(before) && isJsonObject(after)) {
    const members = [...new Set([...Object.keys(before), ...Object.keys(after)])]
    return members.flatMap((member) => differences(before[member], after[member], [...path, member]))
  }
  if (Bun.deepEquals(before, after)) return []
  const shownAt = (value: unknown) => shown(value, path)
  return [{ path: renderPath(path), section: String(path[0]), before: shownAt(before), after: shownAt(after) }]
}

/** Sections without secrets. Anything may be in a strategy's own configuration. */
const isOpen = ([section, member]: Path): boolean =>
  section !== "providers" &&
  section !== "storage" &&
  !(section === "alerts" && member === "webhooks") &&
  !(section === "routing" && member === "strategies")

const shown = (value: unknown, path: Path): Shown => {
  if (value === undefined || value === null) return null
  if (typeof value === "number" || typeof value === "boolean") return value
  return typeof value === "string" && isOpen(path) ? value : "…"
}

/** Lists of models and hosts as objects. Plugins that are defined in the file are other values each time. */
const byName = (written: unknown): unknown => {
  const raw = withoutInline(written)
  if (!isJsonObject(raw)) return raw
  const { $schema: _, models, ...others } = raw
  return {
    ...others,
    ...(models === undefined ? {} : { models: named(models, (model) => model["id"], modelByName) }),
  }
}

const modelByName = (model: JsonObject): JsonObject => ({
  ...model,
  hosts: named(model["hosts"] ?? [], ({ provider, variant }) => [provider, variant].filter(Boolean).join("/")),
})

const named = (
  list: unknown,
  nameOf: (item: JsonObject) => unknown,
  inner: (item: JsonObject) => JsonObject = (item) => item,
): unknown =>
  Array.isArray(list) && list.every(isJsonObject)
    ? Object.fromEntries(list.map((item) => [String(nameOf(item)), inner(item)]))
    : list
