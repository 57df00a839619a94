/** Tools for hosts that know functions, and a choice of one of them, alone; and the small things that some hosts lack. */
import { isJsonObject, type JsonObject, objectsIn } from "../domain/json/json.ts"
import type { ChatPayload, ContentPart, Message, Tool } from "../domain/request/chat.ts"

/**
 * The payload without what OpenAI alone has: of `allowed_tools` those are sent that are allowed, with its mode; a custom tool,
 * whose calls have a form of their own, is left out, and its place added to `dropped`. The same payload where there is nothing of
 * these.
 */
export const withPlainTools = (payload: ChatPayload, dropped: Array<string>): ChatPayload => {
  const { tools: given, tool_choice: choice, parallel_tool_calls: parallel, ...rest } = payload
  const offered = given ?? []
  const isPlain = !isJsonObject(choice) || (choice.type !== "custom" && choice.type !== "allowed_tools")
  if (isPlain && !offered.some(isCustom)) return payload
  for (const [at, tool] of offered.entries()) if (isCustom(tool)) dropped.push(`tools[${at}]`)
  const functions = offered.filter((tool) => !isCustom(tool))
  const { tools, choice: chosen } = isPlain ? { tools: functions, choice } : chosenAmong(functions, choice, dropped)
  if (tools.length === 0) return rest
  return {
    ...rest,
    tools,
    ...(chosen == null ? {} : { tool_choice: chosen }),
    ...(parallel == null ? {} : { parallel_tool_calls: parallel }),
  }
}

/** The functions that a choice allows, and whether one of them must be called. */
const chosenAmong = (functions: ReadonlyArray<Tool>, choice: JsonObject, dropped: Array<string>) => {
  if (choice["type"] === "custom") {
    dropped.push("tool_choice")
    return { tools: functions, choice: undefined }
  }
  const within = isJsonObject(choice["allowed_tools"]) ? choice["allowed_tools"] : choice
  const names = new Set(objectsIn(within["tools"]).map(nameOf))
  const allowed = functions.filter((tool) => names.has(nameOf(tool)))
  if (allowed.length === 0) return { tools: functions, choice: "none" as const }
  return { tools: allowed, choice: within["mode"] === "required" ? ("required" as const) : ("auto" as const) }
}

const isCustom = ({ type }: Tool): boolean => type === "custom"

/** Chat has the name of a function within `function`, Responses beside its type. */
const nameOf = (tool: JsonObject): unknown => (isJsonObject(tool["function"]) ? tool["function"]["name"] : tool["name"])

/** For a host that knows no `strict`: the places of those that ask for it. */
export const lostStrict = (tools: ReadonlyArray<Tool>): ReadonlyArray<string> =>
  tools.flatMap(({ function: called }, at) => (called?.strict === true ? [`tools[${at}].function.strict`] : []))

/** For a host that lacks them: the places of names of speakers, and of details of images that ask for something. */
export const lostOfMessages = (
  messages: ReadonlyArray<Message>,
  lacks: ReadonlyArray<"name" | "detail">,
): ReadonlyArray<string> =>
  messages.flatMap((message, at) => [
    ...(lacks.includes("name") && message.role !== "tool" && message["name"] != null ? [`messages[${at}].name`] : []),
    ...(lacks.includes("detail") && Array.isArray(message.content) ? detailsAt(message.content, at) : []),
  ])

const detailsAt = (content: ReadonlyArray<ContentPart>, at: number): ReadonlyArray<string> =>
  content.flatMap((part, place) => {
    if (part.type !== "image_url" || part.image_url.detail == null || part.image_url.detail === "auto") return []
    return [`messages[${at}].content[${place}].image_url.detail`]
  })
