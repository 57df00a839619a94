/** Where tools stand in a body of the Responses form: in `tools`, and in items that add some. */
import { isJsonObject, type JsonObject } from "../../domain/json/json.ts"

/** A tool where it is offered. */
export interface OfferedTool {
  readonly tool: JsonObject
  /** Among `input`, the item that adds it; `undefined`: it stands in `tools` of the body. */
  readonly item: number | undefined
  /** Among the `tools` of the body, or of the item. */
  readonly index: number
}

const addingTypes: ReadonlySet<unknown> = new Set(["additional_tools", "tool_search_output"])

/** Whether an item adds tools, which can be called from there on. */
export const addsTools = (item: unknown): item is JsonObject => isJsonObject(item) && addingTypes.has(item["type"])

/** Whether an item of a body adds tools. */
export const hasAddedTools = ({ input }: JsonObject): boolean => Array.isArray(input) && input.some(addsTools)

/** All tools of a body in their order; first those of `tools`. */
export const offeredIn = ({ tools, input }: JsonObject): ReadonlyArray<OfferedTool> => {
  const offered: Array<OfferedTool> = []
  add(tools, undefined, offered)
  if (Array.isArray(input)) {
    for (const [at, item] of input.entries()) if (addsTools(item)) add(item["tools"], at, offered)
  }
  return offered
}

const add = (tools: unknown, item: number | undefined, offered: Array<OfferedTool>): void => {
  if (!Array.isArray(tools)) return
  for (const [index, tool] of tools.entries()) if (isJsonObject(tool)) offered.push({ tool, item, index })
}

/** `tools[2]`, or `input[0].tools[2]`. */
export const pathOfOffered = ({ item, index }: Omit<OfferedTool, "tool">): string =>
  item === undefined ? `tools[${index}]` : `input[${item}].tools[${index}]`
