/** What a request says of tools, for protocols that know functions, and of the choice only whether and which one. */
import { isJsonObject, objectsIn } from "../domain/json/json.ts"
import type { ChatPayload, Tool, ToolChoice } from "../domain/request/chat.ts"

export interface OfferedTools {
  /** With their places in the request. */
  readonly tools: ReadonlyArray<readonly [at: number, tool: Tool]>
  /** Never `allowed_tools`: only those tools are offered then. */
  readonly choice: ToolChoice | null | undefined
  /** Tools whose input is text, which these protocols do not have. */
  readonly dropped: ReadonlyArray<string>
}

export const offeredTools = ({ tools, tool_choice: choice }: ChatPayload): OfferedTools => {
  const placed = [...(tools ?? []).entries()]
  const texts = placed.filter(([, tool]) => isCustom(tool))
  const functions = texts.length === 0 ? placed : placed.filter(([, tool]) => !isCustom(tool))
  const dropped = texts.map(([at]) => `tools[${at}]`)
  if (isJsonObject(choice) && choice["type"] === "custom") {
    return { tools: functions, choice: undefined, dropped: [...dropped, "tool_choice"] }
  }
  const allowed = isJsonObject(choice) && choice["type"] === "allowed_tools" ? choice["allowed_tools"] : undefined
  if (!isJsonObject(allowed)) return { tools: functions, choice, dropped }
  const listed = objectsIn(allowed["tools"])
  const isAllowed = (tool: Tool): boolean =>
    listed.some(({ type, function: named }) =>
      tool.function === undefined ? type === tool.type : isJsonObject(named) && named["name"] === tool.function.name,
    )
  const isRequired = allowed["mode"] === "required"
  return { tools: functions.filter(([, tool]) => isAllowed(tool)), choice: isRequired ? "required" : "auto", dropped }
}

/** OpenAI's tools whose input is text. */
const isCustom = (tool: Tool): boolean => tool.type === "custom" && isJsonObject(tool["custom"])
