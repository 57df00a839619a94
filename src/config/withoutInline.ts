import { isJsonObject } from "../domain/json/json.ts"

/** What a configuration file says, without the plugins that it defines itself: they are values of a program, and no data. */
export const withoutInline = (raw: unknown): unknown => {
  if (!isJsonObject(raw) || !isJsonObject(raw["plugins"])) return raw
  const { inline: _, ...plugins } = raw["plugins"]
  return { ...raw, plugins }
}
