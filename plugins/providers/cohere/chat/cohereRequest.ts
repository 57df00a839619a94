/** A canonical request as a call of Cohere's chat. The host refuses members that it does not know. */
import * as Either from "effect/Either"
import {
  type ChatPayload,
  type ChatRequest,
  type Encoded,
  type Host,
  isJsonObject,
  type JsonObject,
  jsonBody,
  lostOfMessages,
  lostStrict,
  reasoningWish,
  type Tool,
  tokensFor,
  Unsupported,
  withPlainTools,
} from "headgate/plugin"
import { type Conversation, conversationOf } from "./cohereMessages.ts"

/** Cohere's own members, and those that it calls as the canonical form does. */
const passed = ["citation_options", "safety_mode", "strict_tools", "seed"] as const

const share = (value: number | null | undefined): number | undefined =>
  value != null && value >= 0 && value <= 1 ? value : undefined

interface Parameter {
  readonly name: string
  /** What Cohere calls it. */
  readonly at: string
  /** Its value there; `null` and `undefined`: it has no counterpart. */
  readonly as: (payload: ChatPayload) => unknown
}

/** Parameters of sampling, in the order in which they are sent. */
const sampling: ReadonlyArray<Parameter> = [
  { name: "temperature", at: "temperature", as: ({ temperature }) => temperature },
  // From 0.01 to 0.99 here.
  { name: "top_p", at: "p", as: ({ top_p: p }) => (p == null ? undefined : Math.min(Math.max(p, 0.01), 0.99)) },
  { name: "top_k", at: "k", as: ({ top_k: k }) => (k == null ? undefined : Math.min(k, 500)) },
  // Only from 0 to 1 here; what is beyond has no counterpart.
  { name: "frequency_penalty", at: "frequency_penalty", as: (payload) => share(payload.frequency_penalty) },
  { name: "presence_penalty", at: "presence_penalty", as: (payload) => share(payload.presence_penalty) },
]

export const encodeChat = (request: ChatRequest, host: Host): Either.Either<Encoded, Unsupported> => {
  const lost: Array<string> = []
  const payload = withPlainTools(request.payload, lost)
  lost.push(...lostOfMessages(payload.messages, ["name", "images", "marks"]))
  if (payload.tools?.every(isStrict) === false) lost.push(...lostStrict(payload.tools))
  const conversation = conversationOf(payload.messages)
  if (conversation instanceof Unsupported) return Either.left(conversation)
  const tools = toolsOf(payload)
  if (tools instanceof Unsupported) return Either.left(tools)
  const documents = documentsOf(payload, conversation)
  const thinking = thinkingOf(request, host)
  const body: JsonObject = {
    model: host.upstreamModel,
    messages: conversation.messages,
    stream: request.stream,
    max_tokens: boundOf(request, host),
    ...Object.fromEntries(passed.flatMap((name) => (payload[name] == null ? [] : [[name, payload[name]]]))),
    ...tools,
    ...(documents.length === 0 ? {} : { documents }),
    ...formatOf(payload),
    ...samplingOf(payload),
    ...stopOf(payload.stop),
    ...(thinking === undefined ? {} : { thinking }),
  }
  return Either.right({
    path: "/chat",
    ...jsonBody(body),
    dropped: [...lost, ...droppedOf(payload, body), ...(conversation.isInOrder ? [] : ["order"])],
  })
}

const isStrict = ({ function: called }: Tool): boolean => called?.strict === true

const boundOf = ({ maxTokens }: ChatRequest, { maxCompletionTokens }: Host): number =>
  Math.min(maxTokens ?? maxCompletionTokens, maxCompletionTokens)

/** The caller's documents, and the files of the conversation. */
const documentsOf = ({ documents }: ChatPayload, conversation: Conversation): ReadonlyArray<unknown> => [
  ...(Array.isArray(documents) ? documents : []),
  ...conversation.documents,
]

const toolsOf = ({ tools, tool_choice: choice }: ChatPayload): JsonObject | Unsupported => {
  const none: JsonObject = {}
  if (tools == null || tools.length === 0) return none
  const foreign = tools.findIndex((tool) => tool.function === undefined)
  if (foreign !== -1) return new Unsupported({ path: `tools[${foreign}]`, reason: "this host takes functions only" })
  const functions = tools.flatMap((tool) => tool.function ?? [])
  const named: unknown =
    isJsonObject(choice) && isJsonObject(choice["function"]) ? choice["function"]["name"] : undefined
  if (isJsonObject(choice) && named === undefined) {
    const reason = "this host knows auto, none, required and one function only"
    return new Unsupported({ path: "tool_choice", reason })
  }
  // A single function cannot be chosen, but it can be the only one.
  const offered = named === undefined ? functions : functions.filter(({ name }) => name === named)
  if (offered.length === 0) return new Unsupported({ path: "tool_choice", reason: "no tool has this name" })
  const required = choice === "required" || named !== undefined
  return {
    ...none,
    tools: offered.map(({ name, description, parameters }) => ({
      type: "function",
      function: {
        name,
        ...(typeof description === "string" ? { description } : {}),
        parameters: isJsonObject(parameters) ? parameters : { type: "object", properties: {} },
      },
    })),
    ...(required ? { tool_choice: "REQUIRED" } : choice === "none" ? { tool_choice: "NONE" } : {}),
    ...(offered.every(({ strict }) => strict === true) ? { strict_tools: true } : {}),
  }
}

const formatOf = ({ response_format: format }: ChatPayload): JsonObject => {
  if (format?.type === "json_object") return { response_format: { type: "json_object" } }
  if (format?.type !== "json_schema") return {}
  const schema = format.json_schema?.schema
  return { response_format: { type: "json_object", ...(schema == null ? {} : { json_schema: schema }) } }
}

const samplingOf = (payload: ChatPayload): JsonObject => {
  const members: Record<string, unknown> = {}
  for (const { at, as } of sampling) {
    const value = as(payload)
    if (value != null) members[at] = value
  }
  return members
}

const stopOf = (stop: ChatPayload["stop"]): JsonObject => {
  const texts = (typeof stop === "string" ? [stop] : (stop ?? [])).filter((text) => text !== "")
  return texts.length === 0 ? {} : { stop_sequences: texts }
}

/** Cohere's models think without a bound unless they are given one. */
const thinkingOf = (request: ChatRequest, host: Host): unknown => {
  const given = request.payload["thinking"]
  if (isJsonObject(given)) return given
  const wish = reasoningWish(request.reasoning)
  if (wish === undefined) return undefined
  if (wish === "off" || wish.tokens === 0) return { type: "disabled" }
  const tokens = wish.tokens ?? tokensFor(wish.effort, boundOf(request, host))
  return { type: "enabled", token_budget: Math.max(1, Math.floor(tokens)) }
}

/** Members that are translated, as far as that is possible. */
const counterparts: ReadonlyMap<string, string> = new Map([
  ...["messages", "tools", "documents", "thinking", ...passed].map((name) => [name, name] as const),
  ...sampling.map(({ name, at }) => [name, at] as const),
  ["stop", "stop_sequences"],
])

/** Names of the caller's members that are not sent to the host in any form. */
const droppedOf = (payload: ChatPayload, body: JsonObject): ReadonlyArray<string> =>
  Object.keys(payload).filter((name) => payload[name] != null && !isSent(name, payload, body))

const isSent = (name: string, payload: ChatPayload, body: JsonObject): boolean => {
  const { tools, response_format: format } = payload
  const hasTools = tools != null && tools.length > 0
  switch (name) {
    case "tools":
    case "tool_choice":
      return true
    case "parallel_tool_calls":
      return payload.parallel_tool_calls === true || !hasTools
    case "response_format":
      return format?.type === "text" || body["response_format"] !== undefined
    case "stop":
      return body["stop_sequences"] !== undefined || payload.stop?.length === 0
    default:
      return body[counterparts.get(name) ?? ""] !== undefined
  }
}
