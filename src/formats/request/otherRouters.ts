/**
 * Members by which other routers do something with a request before a host gets it. This gateway does none of it, and says
 * so with a 400 in place of ignoring it. Names of their models, such as `openrouter/auto`, are unknown like any others.
 */

import {
  type Check,
  checkOf,
  described,
  filledText,
  flag,
  listOf,
  objectOf,
  oneOf,
  quoted,
  refined,
  report,
} from "../../domain/json/checks.ts"
import { isJsonObject } from "../../domain/json/json.ts"

const pluginShape = objectOf({ id: filledText, enabled: flag }, "id")

/** A plugin that is switched off. */
const switchedOff = { properties: { id: filledText.schema, enabled: { const: false } }, required: ["id", "enabled"] }

const plugin = refined(pluginShape, switchedOff, (value, path, issues) => {
  if (!isJsonObject(value) || value["enabled"] === false) return
  const { id } = value
  if (typeof id !== "string" || id === "") return
  const instead = id === "web" ? ": for hosts with a web search of their own, add :online to the model's name" : ""
  report(issues, `${path}.id`, `${quoted(id)} is a plugin that this gateway does not run${instead}`)
})

/** Plugins that are switched off ask for nothing. */
export const plugins: Check = described("This gateway runs none: each must be switched off.", listOf(plugin))

export const preset: Check = checkOf(
  { type: "null", description: "Refused: this gateway keeps no presets." },
  (value, path, issues) => {
    if (typeof value !== "string" || value === "") filledText(value, path, issues)
    else report(issues, path, `${quoted(value)} is a preset, and this gateway keeps none`)
  },
)

/** Prompts are never shortened. One that fits needs no `middle-out`, and one that does not is refused by its length. */
export const transforms: Check = described("Prompts are never shortened.", listOf(oneOf("middle-out")))
