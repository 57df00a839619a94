/**
 * Canonical messages as Google's `contents`: instructions stand apart, turns are the user's or the model's, and adjacent ones
 * of one kind are one. Results of functions have a turn of their own, since Google wants as many of them as there were calls.
 */
import * as Either from "effect/Either"
import { Unsupported } from "../../domain/failures/Failure.ts"
import { isJsonObject, type JsonObject, objectsIn } from "../../domain/json/json.ts"
import type { AssistantMessage, Content, ContentPart, Message, ToolMessage } from "../../domain/request/chat.ts"
import { innerJson } from "../../wire/jsonDepth.ts"
import { argumentsObject, calledNames, partsOf, readDataUrl, textOf } from "../content.ts"
import { inline, mediaPart, type Reader } from "./generateContentMedia.ts"
import { type SignedSpan, thoughtsOf } from "./Thoughts.ts"

export interface Conversation {
  readonly system: ReadonlyArray<JsonObject>
  readonly contents: ReadonlyArray<JsonObject>
}

interface Turn {
  readonly role: "user" | "model"
  readonly hasResults: boolean
  readonly parts: Array<JsonObject>
}

export const conversationOf = (
  messages: ReadonlyArray<Message>,
  reader: Reader,
): Either.Either<Conversation, Unsupported> => {
  const writer = new TurnWriter(calledNames(messages), reader)
  for (const [at, message] of messages.entries()) writer.message(message, `messages[${at}]`)
  return writer.conversation()
}

/** Stands for the signature of a call that another host made: Google's page on thought signatures gives it for that. */
const foreignCall = "skip_thought_signature_validator"

/** What the result of a function may have in itself, from Gemini 3 on. */
const fitsInResult = (part: JsonObject): boolean => {
  const media = part["inlineData"] ?? part["fileData"]
  const type = isJsonObject(media) ? String(media["mimeType"]) : ""
  return type.startsWith("image/") || type === "application/pdf" || type === "text/plain"
}

/** Characters of results that are read as JSON, in all. */
const mostRead = 1_000_000

class TurnWriter {
  private readonly system: Array<JsonObject> = []
  private readonly turns: Array<Turn> = []
  /** Media of results, which follow them in a turn of the user's. */
  private media: Array<JsonObject> = []
  private unsupported: Unsupported | undefined
  /** Of results that were read as JSON. */
  private readCharacters = 0
  private readonly names: ReadonlyMap<string, string>
  private readonly reader: Reader

  constructor(names: ReadonlyMap<string, string>, reader: Reader) {
    this.names = names
    this.reader = reader
  }

  message(message: Message, path: string): void {
    if (message.role === "tool") {
      this.result(message, path)
      return
    }
    this.sayMedia()
    if (message.role === "user") this.say("user", this.partsOf(message.content, path))
    else if (message.role === "assistant") this.say("model", this.answer(message, path))
    else this.system.push(...this.partsOf(message.content, path))
  }

  conversation(): Either.Either<Conversation, Unsupported> {
    this.sayMedia()
    if (this.unsupported !== undefined) return Either.left(this.unsupported)
    const contents = this.turns.map(({ role, parts }) => ({ role, parts }))
    // Google requires at least one turn, so instructions alone become a user's turn.
    if (contents.length > 0) return Either.right({ system: this.system, contents })
    return Either.right({
      system: [],
      contents: this.system.length === 0 ? [] : [{ role: "user", parts: this.system }],
    })
  }

  private say(role: Turn["role"], parts: ReadonlyArray<JsonObject>, hasResults = false): void {
    if (parts.length === 0) return
    const last = this.turns.at(-1)
    if (last?.role === role && last.hasResults === hasResults) last.parts.push(...parts)
    else this.turns.push({ role, hasResults, parts: [...parts] })
  }

  private sayMedia(): void {
    this.say("user", this.media)
    this.media = []
  }

  private refuse(path: string, reason: string): void {
    this.unsupported ??= new Unsupported({ path, reason })
  }

  private partsOf(content: Content | null | undefined, path: string): ReadonlyArray<JsonObject> {
    const parts: Array<JsonObject> = []
    for (const [at, part] of partsOf(content).entries()) {
      const carried = this.part(part)
      if (typeof carried === "string") this.refuse(`${path}.content[${at}]`, carried)
      else if (carried["text"] !== "") parts.push(carried)
    }
    return parts
  }

  private part(part: ContentPart): JsonObject | string {
    if (part.type === "text") return { text: part.text }
    return part.type === "refusal" ? { text: part.refusal } : mediaPart(part, this.reader)
  }

  /** Thoughts first, then the text, images, and the calls. */
  private answer(message: AssistantMessage, path: string): ReadonlyArray<JsonObject> {
    const { thoughts, ofCalls, ofTexts, ofImages, alone } = thoughtsOf(message.reasoning_details ?? [])
    const images = objectsIn(message["images"]).flatMap(embeddedImage)
    return [
      ...thoughts,
      ...this.texts(message.content, ofTexts, path),
      ...images.map((image, place) => withSignature(image, ofImages.get(place))),
      ...alone.map((signature) => withSignature({ text: "" }, signature)),
      ...this.calls(message, ofCalls, path),
    ]
  }

  private texts(content: Content | null | undefined, spans: ReadonlyArray<SignedSpan>, path: string) {
    const parts = this.partsOf(content, path)
    if (spans.length === 0) return parts
    const isText = parts.every((part) => typeof part["text"] === "string")
    const cut = isText ? cutAt(textOf(content), spans) : undefined
    if (cut !== undefined) return cut
    // The text is not the one that was signed: its last part gets the last signature.
    return parts.map((part, at) => (at === parts.length - 1 ? withSignature(part, spans.at(-1)?.signature) : part))
  }

  private calls(message: AssistantMessage, signatures: ReadonlyMap<string, string>, path: string) {
    const parts: Array<JsonObject> = []
    for (const [at, call] of (message.tool_calls ?? []).entries()) {
      if (call.function === undefined) {
        this.refuse(`${path}.tool_calls[${at}]`, "this host takes calls of functions only")
        continue
      }
      // Of several calls in one answer only the first one is signed.
      const otherwise = this.reader.facts.isThird && parts.length === 0 ? foreignCall : undefined
      const part = { functionCall: { id: call.id, name: call.function.name, args: argumentsObject(call) } }
      parts.push(withSignature(part, signatures.get(call.id) ?? otherwise))
    }
    return parts
  }

  /**
   * What a result says. It stays a text where it has numbers that JavaScript cannot hold, and once there is more of results than can
   * be read at once without making other requests wait.
   */
  private read(text: string): unknown {
    this.readCharacters += text.length
    return this.readCharacters > mostRead || /\d{16}/.test(text) ? text : parsed(text)
  }

  private result(message: ToolMessage, path: string): void {
    const id = message.tool_call_id
    const name = this.names.get(id) ?? message["name"]
    if (typeof name !== "string") {
      this.refuse(`${path}.tool_call_id`, "no call in the conversation has this id")
      return
    }
    const media = this.partsOf(message.content, path).filter((part) => part["text"] === undefined)
    const inside = this.reader.facts.isThird ? media.filter(fitsInResult) : []
    this.media.push(...media.filter((part) => !inside.includes(part)))
    const response = responseOf(this.read(textOf(message.content)), message["is_error"] === true)
    const parts = inside.length === 0 ? {} : { parts: inside }
    this.say("user", [{ functionResponse: { id, name, response, ...parts } }], true)
  }
}

const withSignature = (part: JsonObject, signature: string | undefined): JsonObject =>
  signature === undefined ? part : { ...part, thoughtSignature: signature }

/** An image of an earlier answer, as it came. */
const embeddedImage = ({ image_url: image }: JsonObject): ReadonlyArray<JsonObject> => {
  const url = isJsonObject(image) && typeof image["url"] === "string" ? readDataUrl(image["url"]) : undefined
  return url === undefined || !url.base64 ? [] : [inline(url.mediaType, url.data)]
}

/** The text in the parts that were signed, and those between them; `undefined` when the places do not fit the text. */
const cutAt = (text: string, spans: ReadonlyArray<SignedSpan>): ReadonlyArray<JsonObject> | undefined => {
  const parts: Array<JsonObject> = []
  let done = 0
  for (const { from, to, signature } of spans.toSorted((a, b) => a.from - b.from)) {
    if (from < done || to < from || to > text.length) return undefined
    if (from > done) parts.push({ text: text.slice(done, from) })
    parts.push(withSignature({ text: text.slice(from, to) }, signature))
    done = to
  }
  if (done < text.length) parts.push({ text: text.slice(done) })
  return parts
}

/** The result as an object, which Google requires. */
const responseOf = (value: unknown, isError: boolean): JsonObject => {
  if (isError) return { error: value }
  return isJsonObject(value) ? value : { result: value }
}

const parsed = (text: string): unknown => {
  const value = innerJson(text)
  return value === undefined ? text : value
}
