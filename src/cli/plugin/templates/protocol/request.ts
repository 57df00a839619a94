/** A request in the vendor's words. */
import * as Either from "effect/Either"
import {
  type AssistantMessage,
  argumentsObject,
  base64Of,
  type ContentPart,
  type HostToolCall,
  type JsonObject,
  type Message,
  type Protocol,
  partsInOrder,
  partsOf,
  type ReasoningDetail,
  readDataUrl,
  reasoningWish,
  type Tool,
  type ToolCall,
  type ToolChoice,
  textOf,
  Unsupported,
} from "headgate/plugin"

/** The vendor's own mark on its reasoning: pieces with another format go to no host of this protocol. */
export const format = "vendor-name-v1"

export const encode: Protocol["encode"] = ({ payload, stream, maxTokens, reasoning }, host) =>
  Either.gen(function* () {
    const turns = yield* turnsOf(payload.messages)
    const functions = yield* functionsOf(payload.tools ?? [])
    const { tool_choice: choice, temperature, top_p, seed, stop } = payload
    const wish = reasoningWish(reasoning)
    const body = {
      model: host.upstreamModel,
      instructions: payload.messages.filter(isInstruction).map(({ content }) => textOf(content)),
      turns,
      ...(functions.length === 0 ? {} : { functions }),
      ...(choice == null ? {} : { use: useOf(choice) }),
      limit: maxTokens,
      think: wish === undefined ? undefined : wish !== "off",
      ...{ temperature, top_p, seed },
      stop: typeof stop === "string" ? [stop] : stop,
    }
    return {
      path: stream ? "/generate-stream" : "/generate",
      // `undefined` members are left out.
      body: JSON.stringify(body),
      dropped: Object.keys(payload).filter((name) => payload[name] != null && !known.has(name)),
    }
  })

/** The vendor refuses members that it does not know. So none is passed on, and all are named. */
const known = new Set(["messages", "tools", "tool_choice", "temperature", "top_p", "seed", "stop"])

const isInstruction = ({ role }: Message): boolean => role === "system" || role === "developer"

// --- messages

type Read<A> = Either.Either<A, Unsupported>

const turnsOf = (messages: ReadonlyArray<Message>): Read<ReadonlyArray<JsonObject>> =>
  Either.gen(function* () {
    const turns: Array<JsonObject> = []
    for (const [at, message] of messages.entries()) {
      if (isInstruction(message)) continue
      if (message.role === "assistant") {
        turns.push({ from: "model", said: yield* saidBy(message, `messages[${at}].content`) })
        continue
      }
      const said = yield* Either.all(
        partsOf(message.content).map((part, place) => partOf(part, `messages[${at}].content[${place}]`)),
      )
      if (message.role === "tool") turns.push({ from: "function", id: message.tool_call_id, said })
      else turns.push({ from: "user", said })
    }
    return turns
  })

const partOf = (part: ContentPart, path: string): Read<JsonObject> => {
  if (part.type === "text") return Either.right({ text: part.text })
  if (part.type === "refusal") return Either.right({ text: part.refusal })
  const image = part.type === "image_url" ? readDataUrl(part.image_url.url) : undefined
  if (image !== undefined) return Either.right({ picture: { type: image.mediaType, data: base64Of(image) } })
  return Either.left(new Unsupported({ path, reason: "this host takes text and embedded images only" }))
}

/** What the model said, in the order in which it said it: the vendor refuses sealed reasoning in another place. */
const saidBy = (message: AssistantMessage, path: string): Read<ReadonlyArray<JsonObject>> =>
  Either.all(
    partsInOrder(message).parts.flatMap((part): ReadonlyArray<Read<JsonObject>> => {
      if (part.type === "content") return [partOf(part.content, path)]
      const said = part.type === "reasoning" ? thoughtOf(part.details) : callOf(part.call)
      return said === undefined ? [] : [Either.right(said)]
    }),
  )

/** Sealed reasoning of earlier turns goes back as it came. `undefined`: it is of another vendor. */
const thoughtOf = (details: ReadonlyArray<ReasoningDetail>): JsonObject | undefined => {
  const own = details.filter((piece) => piece.format === format)
  if (own.length === 0) return undefined
  return { thought: own.map(({ text }) => text ?? "").join(""), seal: own.map(sealOf).join("") }
}

const sealOf = ({ signature }: ReasoningDetail): string => signature ?? ""

const callOf = (call: ToolCall | HostToolCall): JsonObject | undefined =>
  call.function === undefined
    ? undefined
    : { call: { id: call.id, name: call.function.name, input: argumentsObject(call) } }

// --- tools

const functionsOf = (tools: ReadonlyArray<Tool>): Read<ReadonlyArray<JsonObject>> =>
  Either.all(
    tools.map((tool, at): Read<JsonObject> => {
      if (tool.function === undefined)
        return Either.left(new Unsupported({ path: `tools[${at}]`, reason: "this host has no tools of its own" }))
      const { name, description, parameters } = tool.function
      return Either.right({ name, about: description ?? "", input: parameters ?? { type: "object" } })
    }),
  )

const useOf = (choice: ToolChoice): string => {
  if (choice === "required") return "any"
  if (typeof choice === "string") return choice
  const called = choice["function"]
  return typeof called === "object" && called !== null && "name" in called ? `only ${called.name}` : "any"
}
