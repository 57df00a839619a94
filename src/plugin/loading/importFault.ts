/** Why a module could not be imported, in one line for the operator: of code that does not compile, with its place and text. */
import { isAbsolute, relative } from "node:path"
import { isJsonObject } from "../../domain/json/json.ts"
import { reasonOf } from "../checks/PluginInvalid.ts"

/** `folder`: the plugin's own, from which files are named. */
export const importFault = (cause: unknown, folder: string): string => {
  const faults = cause instanceof AggregateError ? cause.errors : [cause]
  const [first] = faults
  const place = placeOf(first, folder)
  if (place === undefined) return reasonOf(cause)
  const more = faults.length > 1 ? ` (and ${faults.length - 1} more)` : ""
  return `${place.at}: ${reasonOf(first)}: ${place.text}${more}`
}

/** Where the compiler of the runtime found a fault: `index.ts:4:3`, and the line there, 120 characters at most. */
const placeOf = (fault: unknown, folder: string): { readonly at: string; readonly text: string } | undefined => {
  const position = isJsonObject(fault) ? fault["position"] : undefined
  if (!isJsonObject(position)) return undefined
  const { file, line, column, lineText } = position
  if (typeof file !== "string" || typeof lineText !== "string") return undefined
  const within = relative(folder, file)
  const name = within.startsWith("..") || isAbsolute(within) ? file : within
  return { at: `${name}:${line}:${column}`, text: lineText.trim().slice(0, 120) }
}
