/**
 * Tools for hosts that know functions, and a choice of one of them, alone; and the small things that some hosts lack.
 */
import { isJsonObject, type JsonObject, objectsIn } from "../domain/json/json.ts"
import type { ChatPayload, ContentPart, Message, Tool, ToolChoice } from "../domain/request/chat.ts"
import { isCustom, withFunctions } from "./customTools.ts"

/** What a request says of tools, without what OpenAI alone has. */
export interface OfferedTools {
  /** With their places in the request. Only the allowed ones, if there are `allowed_tools`. */
  readonly tools: ReadonlyArray<readonly [at: number, tool: Tool]>
  /** Never `allowed_tools` or a custom tool. */
  readonly choice: ToolChoice | null | undefined
  /** Paths of the custom tools that `withFunctions` leaves, and of a choice that the host cannot be asked for. */
  readonly dropped: ReadonlyArray<string>
}

export const offeredTools = ({ tools, tool_choice: choice }: ChatPayload): OfferedTools => {
  const placed = [...(tools ?? []).entries()]
  const customs = placed.filter(([, tool]) => isCustom(tool))
  const functions = customs.length === 0 ? placed : placed.filter(([, tool]) => !isCustom(tool))
  const dropped = customs.map(([at]) => `tools[${at}]`)
  if (!isJsonObject(choice)) return { tools: functions, choice, dropped }
  const within = isJsonObject(choice["allowed_tools"]) ? choice["allowed_tools"] : choice
  const isList = choice.type === "allowed_tools"
  if (choice.type === "custom" || (isList && !Array.isArray(within["tools"])))
    return { tools: functions, choice: undefined, dropped: [...dropped, "tool_choice"] }
  if (!isList) return { tools: functions, choice, dropped }
  const listed = objectsIn(within["tools"])
  const isAllowed = (tool: Tool): boolean =>
    listed.some((one) => one["type"] === tool.type && (tool.function === undefined || nameOf(one) === nameOf(tool)))
  const allowed = functions.filter(([, tool]) => isAllowed(tool))
  if (allowed.length === 0) return { tools: functions, choice: "none", dropped }
  return { tools: allowed, choice: within["mode"] === "required" ? "required" : "auto", dropped }
}

/**
 * The payload with custom tools as functions, and only the allowed tools. Returns the same payload if it has nothing
 * that only OpenAI has.
 */
export const withPlainTools = (given: ChatPayload, dropped: Array<string>): ChatPayload => {
  const payload = withFunctions(given, dropped)
  const { tools, tool_choice: choice, parallel_tool_calls: parallel, ...rest } = payload
  const isPlain = !isJsonObject(choice) || (choice.type !== "custom" && choice.type !== "allowed_tools")
  if (isPlain && tools?.some(isCustom) !== true) return payload
  const offered = offeredTools(payload)
  dropped.push(...offered.dropped)
  if (offered.tools.length === 0) return rest
  return {
    ...rest,
    tools: offered.tools.map(([, tool]) => tool),
    ...(offered.choice == null ? {} : { tool_choice: offered.choice }),
    ...(parallel == null ? {} : { parallel_tool_calls: parallel }),
  }
}

/** Chat has the name of a function within `function`, Responses beside its type. */
const nameOf = (tool: JsonObject): unknown => (isJsonObject(tool["function"]) ? tool["function"]["name"] : tool["name"])

/** Paths of the `strict` members that a host without strict functions is not sent. */
export const lostStrict = (tools: ReadonlyArray<Tool>): ReadonlyArray<string> =>
  tools.flatMap(({ function: called }, at) => (called?.strict === true ? [`tools[${at}].function.strict`] : []))

/**
 * For a host that lacks them: the places of names of speakers, of details of images that ask for something, and of
 * images that a model made in an earlier turn; `cache_control`, where anything has a mark of the cache. Every protocol
 * that writes the messages anew names here what its form lacks.
 */
export const lostOfMessages = (
  messages: ReadonlyArray<Message>,
  lacks: ReadonlyArray<"name" | "detail" | "images" | "marks">,
): ReadonlyArray<string> => [
  ...(lacks.includes("marks") && messages.some(hasMark) ? ["cache_control"] : []),
  ...messages.flatMap(({ role, name, content, images }, at) => [
    ...(lacks.includes("name") && role !== "tool" && name != null && name !== "" ? [`messages[${at}].name`] : []),
    ...(lacks.includes("images") && Array.isArray(images) && images.length > 0 ? [`messages[${at}].images`] : []),
    ...(lacks.includes("detail") && Array.isArray(content) ? detailsAt(content, at) : []),
  ]),
]

const isMarked = ({ cache_control: mark }: JsonObject): boolean => mark != null

/** Whether a message, a part or a call of it has a mark of the cache. */
export const hasMark = (message: Message): boolean =>
  isMarked(message) ||
  (Array.isArray(message.content) && message.content.some(isMarked)) ||
  (message.role === "assistant" && message.tool_calls?.some(isMarked) === true)

const detailsAt = (content: ReadonlyArray<ContentPart>, at: number): ReadonlyArray<string> =>
  content.flatMap((part, place) => {
    if (part.type !== "image_url" || part.image_url.detail == null || part.image_url.detail === "auto") return []
    return [`messages[${at}].content[${place}].image_url.detail`]
  })
