/**
 * The model's turn as an assistant's message, and the message as the parts of a turn: both in the order that was said.
 */
import { isJsonObject, type JsonObject, objectsIn, textOr } from "../../domain/json/json.ts"
import type {
  AssistantMessage,
  ContentPart,
  HostToolCall,
  ReasoningDetail,
  ToolCall,
} from "../../domain/request/chat.ts"
import { argumentsObject, textOf } from "../content.ts"
import { type AssistantPart, addReasoning, partsInOrder, saidInOrder } from "../conversation.ts"
import { embeddedImage } from "./generateContentParts.ts"
import {
  reasoningFormat,
  SignedText,
  thoughtsOf,
  unwrappedSignature,
  withSignature,
} from "./generateContentThoughts.ts"

/** A part of Google's, and the caller's path for it. */
export interface Placed {
  readonly part: JsonObject
  readonly path: string
}

/** What reads the parts of any turn. */
export interface TurnReader {
  readonly call: (call: JsonObject, path: string) => ToolCall
  readonly content: (placed: Placed) => ReadonlyArray<ContentPart>
  /** Paths of the parts that the canonical form has no counterpart for. */
  readonly untranslated: { readonly push: (path: string) => unknown }
}

/** Signatures of Google's own are left out: its hosts get the turn as it came. */
export const messageOfTurn = (said: ReadonlyArray<Placed>, reader: TurnReader): AssistantMessage => {
  const parts: Array<AssistantPart> = []
  const images: Array<ContentPart> = []
  let thought = ""
  const think = (detail: ReasoningDetail) => addReasoning(parts, detail)
  const endThought = () => {
    if (thought !== "") think({ type: "reasoning.text", text: thought, format: reasoningFormat })
    thought = ""
  }
  for (const placed of said) {
    const { text, thought: isThought, functionCall: call, thoughtSignature: signature } = placed.part
    const wrapped = call === undefined ? unwrappedSignature(signature) : undefined
    if (isThought === true || wrapped !== undefined) thought += textOr(text, "")
    if (wrapped?.type === "reasoning.encrypted") {
      endThought()
      think(wrapped)
    } else if (wrapped !== undefined) {
      const own = wrapped.text ?? wrapped.summary ?? thought
      think({ ...wrapped, [wrapped.type === "reasoning.summary" ? "summary" : "text"]: own })
      thought = ""
    } else if (isThought !== true) {
      endThought()
      if (isJsonObject(call)) parts.push({ type: "call", call: reader.call(call, placed.path) })
      else
        for (const content of reader.content(placed)) {
          if (content.type === "text") parts.push({ type: "content", content })
          else if (content.type === "image_url") images.push(content)
          else reader.untranslated.push(placed.path)
        }
    }
  }
  endThought()
  const message = saidInOrder(parts)
  const details = parts.flatMap((one) => (one.type === "reasoning" ? one.details : []))
  const reasoning = details.map((each) => each.text ?? "").join("")
  return {
    role: "assistant",
    ...message,
    ...(message.content === null && message.tool_calls === undefined ? { content: "" } : {}),
    ...(reasoning === "" ? {} : { reasoning }),
    ...(images.length === 0 ? {} : { images }),
  }
}

/** Stands for the signature of a call that another host made: Google's page on thought signatures gives it for that. */
export const foreignCall = "skip_thought_signature_validator"

/** What writes the parts of any turn, or refuses them. */
export interface TurnWriter {
  /** `at`: its place in the content. */
  readonly content: (part: ContentPart, at: number) => ReadonlyArray<JsonObject>
  readonly refuse: (path: string, reason: string) => void
  /** What is not said of the message. */
  readonly lost: { readonly add: (name: string) => unknown }
  /** From Gemini 3 on, the first call of an answer has to be signed. */
  readonly signsCalls: boolean
  /**
   * From Gemini 3 on, calls have ids; before, some hosts refuse them (mlflow/mlflow#24127, 2026-06;
   * BerriAI/litellm#34603).
   */
  readonly hasCallIds: boolean
}

/** Where images stood is not known: they stand before the calls. */
export const turnOfMessage = (
  message: AssistantMessage,
  path: string,
  writer: TurnWriter,
): ReadonlyArray<JsonObject> => {
  const { parts, isInOrder } = partsInOrder(message)
  if (!isInOrder) writer.lost.add("order")
  const { ofCalls, ofTexts, ofImages } = thoughtsOf(message.reasoning_details ?? [])
  const text = new SignedText(textOf(message.content), ofTexts)
  const said: Array<JsonObject> = []
  /** Signed parts without text, which end what was said before a call. */
  const alone: Array<JsonObject> = []
  const given = objectsIn(message["images"])
  const images = given.map(embeddedImage).filter(isJsonObject)
  if (images.length < given.length) writer.lost.add(`${path}.images`)
  const pause = () => {
    for (const [place, image] of images.splice(0).entries()) said.push(withSignature(image, ofImages.get(place)))
    said.push(...alone.splice(0))
  }
  let calls = 0
  let contents = 0
  for (const part of parts) {
    if (part.type === "reasoning") {
      const own = thoughtsOf(part.details)
      if (own.thoughts.length > 0 && alone.length > 0) pause()
      said.push(...own.thoughts)
      alone.push(...own.alone)
    } else if (part.type === "content") {
      const { content } = part
      said.push(...(content.type === "text" ? text.next(content.text) : writer.content(content, contents)))
      contents += 1
    } else {
      pause()
      const isMarked = writer.signsCalls && calls === 0
      const written = callPart(part.call, ofCalls, isMarked ? foreignCall : undefined, writer.hasCallIds)
      if (written === undefined)
        writer.refuse(`${path}.tool_calls[${calls}]`, "this host takes calls of functions only")
      else said.push(written)
      calls += 1
    }
  }
  if (typeof message.refusal === "string" && message.refusal !== "") said.push({ text: message.refusal })
  pause()
  return text.signed(said)
}

/** Of several calls in one answer only the first one is signed. `otherwise`: the signature of an unsigned one. */
const callPart = (
  call: ToolCall | HostToolCall,
  signatures: ReadonlyMap<string, string>,
  otherwise: string | undefined,
  hasId: boolean,
): JsonObject | undefined => {
  if (call.function === undefined) return undefined
  const id = hasId ? { id: call.id } : {}
  const part = { functionCall: { ...id, name: call.function.name, args: argumentsObject(call) } }
  return withSignature(part, signatures.get(call.id) ?? otherwise)
}
