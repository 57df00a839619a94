/**
 * Members by which other routers do something with a request before a host gets it. This gateway does none of it, and says
 * so with a 400 in place of ignoring it. Names of their models, such as `openrouter/auto`, are unknown like any others.
 */
import { isJsonObject, type JsonObject } from "../../domain/json/Json.ts"
import { type Check, filledText, flag, type Issues, listOf, objectOf, oneOf, quoted, report } from "./checks.ts"
import { checkOperatorTool } from "./operatorMembers.ts"

const pluginShape = objectOf({ id: filledText, enabled: flag }, "id")

const plugin: Check = (value, path, issues) => {
  pluginShape(value, path, issues)
  if (!isJsonObject(value) || value["enabled"] === false) return
  const { id } = value
  if (typeof id !== "string" || id === "") return
  const instead = id === "web" ? ": for hosts with a web search of their own, add :online to the model's name" : ""
  report(issues, `${path}.id`, `${quoted(id)} is a plugin that this gateway does not run${instead}`)
}

/** Plugins that are switched off ask for nothing. */
export const plugins: Check = listOf(plugin)

export const preset: Check = (value, path, issues) => {
  if (typeof value !== "string" || value === "") filledText(value, path, issues)
  else report(issues, path, `${quoted(value)} is a preset, and this gateway keeps none`)
}

/** Prompts are never shortened. One that fits needs no `middle-out`, and one that does not is refused by its length. */
export const transforms: Check = listOf(oneOf("middle-out"))

/** A tool that is no function. Those that hosts run are judged for each host: `hosted.ts`. */
export const otherTool = (type: string, _tool: JsonObject, path: string, issues: Issues): void =>
  checkOperatorTool(type, path, issues)
