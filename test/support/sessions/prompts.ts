/**
 * The prompt that a request is to a vendor, in the order in which vendors cache it: tools, instructions, conversation. Reasoning is left
 * out: whether it stands in a later prompt differs by vendor.
 */
import type { JsonObject } from "../../../src/domain/json/json.ts"
import type { HostName } from "../agents/hosts.ts"
import { objectIn, objectsIn, textIn } from "../forms/script.ts"

/** One block of a prompt. */
export interface Block {
  readonly text: string
  readonly tokens: number
  /** How long the prompt up to this block is to be kept. */
  readonly mark?: "5m" | "1h"
}

const imageTokens = 1500

const block = (what: string, text: string): Block => ({ text: `${what}: ${text}`, tokens: Math.ceil(text.length / 4) })
const image = (data: unknown): Block => ({ text: `image: ${textIn(data)}`, tokens: imageTokens })
const call = (name: unknown, input: unknown): Block => block("call", `${textIn(name)} ${JSON.stringify(input)}`)
const tool = (name: unknown, description: unknown, schema: unknown): Block =>
  block("tool", `${textIn(name)} ${textIn(description)} ${JSON.stringify(schema)}`)

const marked = (of: Block, mark: unknown): Block =>
  mark === undefined ? of : { ...of, mark: objectIn(mark)["ttl"] === "1h" ? "1h" : "5m" }

/** The data of a data URL. */
const dataIn = (url: unknown): string => textIn(url).replace(/^data:[^,]*,/, "")

type Reader = (role: string, part: JsonObject) => ReadonlyArray<Block>
const read = (role: unknown, content: unknown, reader: Reader): ReadonlyArray<Block> =>
  typeof content === "string"
    ? reader(textIn(role), { type: "text", text: content })
    : objectsIn(content).flatMap((part) => reader(textIn(role), part))

const messagesBlocks: Reader = (role, part) => {
  const { type, text, source, name, input, content, cache_control: mark } = part
  const blocks = (): ReadonlyArray<Block> => {
    if (type === "thinking" || type === "redacted_thinking") return []
    if (type === "image") return [image(objectIn(source)["data"])]
    if (type === "tool_use") return [call(name, input)]
    if (type === "tool_result") return read("result", content, messagesBlocks)
    return [block(role, textIn(text))]
  }
  return blocks().map((one, at, all) => (at === all.length - 1 ? marked(one, mark) : one))
}

const messages = (body: JsonObject): ReadonlyArray<Block> => {
  const blocks = [
    ...objectsIn(body["tools"]).map(({ name, description, input_schema: schema, cache_control: mark }) =>
      marked(tool(name, description, schema), mark),
    ),
    ...read("system", body["system"], messagesBlocks),
    ...objectsIn(body["messages"]).flatMap(({ role, content }) => read(role, content, messagesBlocks)),
  ]
  const last = blocks.at(-1)
  return last === undefined ? [] : [...blocks.slice(0, -1), marked(last, body["cache_control"])]
}

/** A cache point marks what stands before it. */
const withPoints = (
  parts: ReadonlyArray<JsonObject>,
  reader: (part: JsonObject) => ReadonlyArray<Block>,
): ReadonlyArray<Block> => {
  const blocks: Array<Block> = []
  for (const part of parts) {
    const last = blocks.at(-1)
    if (part["cachePoint"] === undefined) blocks.push(...reader(part))
    else if (last !== undefined) blocks[blocks.length - 1] = marked(last, part["cachePoint"])
  }
  return blocks
}

const converseBlocks = (role: string, part: JsonObject): ReadonlyArray<Block> => {
  const { text, image: shown, toolUse, toolResult, reasoningContent } = part
  if (reasoningContent !== undefined) return []
  if (shown !== undefined) return [image(objectIn(objectIn(shown)["source"])["bytes"])]
  if (toolUse !== undefined) return [call(objectIn(toolUse)["name"], objectIn(toolUse)["input"])]
  if (toolResult !== undefined)
    return objectsIn(objectIn(toolResult)["content"]).flatMap((one) => converseBlocks("result", one))
  return [block(role, textIn(text))]
}

const converse = (body: JsonObject): ReadonlyArray<Block> => [
  ...withPoints(objectsIn(objectIn(body["toolConfig"])["tools"]), ({ toolSpec }) => {
    const { name, description, inputSchema } = objectIn(toolSpec)
    return [tool(name, description, objectIn(inputSchema)["json"])]
  }),
  ...withPoints(objectsIn(body["system"]), (part) => converseBlocks("system", part)),
  ...withPoints(
    objectsIn(body["messages"]).flatMap(({ role, content }) => objectsIn(content).map((part) => ({ ...part, role }))),
    ({ role, ...part }) => converseBlocks(textIn(role), part),
  ),
]

const chatBlocks: Reader = (role, { type, text, image_url: shown }) =>
  type === "image_url" ? [image(dataIn(objectIn(shown)["url"]))] : [block(role, textIn(text))]

const chat = (body: JsonObject): ReadonlyArray<Block> => [
  ...objectsIn(body["tools"]).map(({ function: given }) => {
    const { name, description, parameters } = objectIn(given)
    return tool(name, description, parameters)
  }),
  ...objectsIn(body["messages"]).flatMap(({ role, content, tool_calls: calls }) => [
    ...read(role === "tool" ? "result" : role, content, chatBlocks),
    ...objectsIn(calls).map((one) => {
      const { name, arguments: json } = objectIn(one["function"])
      return call(name, JSON.parse(textIn(json)))
    }),
  ]),
]

const itemBlocks: Reader = (role, { type, text, image_url: url }) =>
  type === "input_image" ? [image(dataIn(url))] : [block(role, textIn(text))]

const responses = (body: JsonObject): ReadonlyArray<Block> => [
  ...objectsIn(body["tools"]).map(({ name, description, parameters }) => tool(name, description, parameters)),
  ...read("system", body["instructions"], itemBlocks),
  ...objectsIn(body["input"]).flatMap((item) => {
    const { type, role = "user", content, name, arguments: json, output } = item
    if (type === "reasoning") return []
    if (type === "function_call") return [call(name, JSON.parse(textIn(json)))]
    if (type === "function_call_output") return read("result", output, itemBlocks)
    return read(role === "developer" ? "system" : role, content, itemBlocks)
  }),
]

const geminiBlocks = (role: string, part: JsonObject): ReadonlyArray<Block> => {
  const { text, thought, inlineData, functionCall, functionResponse } = part
  if (thought === true) return []
  if (inlineData !== undefined) return [image(objectIn(inlineData)["data"])]
  if (functionCall !== undefined) return [call(objectIn(functionCall)["name"], objectIn(functionCall)["args"])]
  if (functionResponse === undefined) return [block(role, textIn(text))]
  const { response, parts } = objectIn(functionResponse)
  const said = objectIn(response)["result"] ?? objectIn(response)["output"]
  return [
    ...(said === undefined ? [] : [block("result", typeof said === "string" ? said : JSON.stringify(said))]),
    ...objectsIn(parts).flatMap((one) => geminiBlocks("result", one)),
  ]
}

const gemini = (body: JsonObject): ReadonlyArray<Block> => [
  ...objectsIn(body["tools"]).flatMap(({ functionDeclarations }) =>
    objectsIn(functionDeclarations).map(({ name, description, parametersJsonSchema: schema }) =>
      tool(name, description, schema),
    ),
  ),
  ...objectsIn(objectIn(body["systemInstruction"])["parts"]).flatMap((part) => geminiBlocks("system", part)),
  ...objectsIn(body["contents"]).flatMap(({ role, parts }) =>
    objectsIn(parts).flatMap((part) => geminiBlocks(role === "model" ? "assistant" : "user", part)),
  ),
]

/** Protocols of vendors that cache prompts. */
export const cachingProtocols = [
  "messages",
  "converse",
  "responses",
  "chat",
  "gemini",
] as const satisfies ReadonlyArray<HostName>
export type CachingProtocol = (typeof cachingProtocols)[number]

/** The prompt of a request's body, by protocol. */
export const promptOf: Readonly<Record<CachingProtocol, (body: JsonObject) => ReadonlyArray<Block>>> = {
  ...{ messages, converse, responses, chat, gemini },
}
