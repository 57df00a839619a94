/**
 * Canonical messages as Google's `contents`: instructions stand apart, turns are the user's or the model's, and adjacent ones
 * of one kind are one. Results of functions have a turn of their own, since Google wants as many of them as there were calls.
 */
import * as Either from "effect/Either"
import { Unsupported } from "../../domain/failures/Failure.ts"
import { isJsonObject, type JsonObject, objectsIn, textOr } from "../../domain/json/json.ts"
import type {
  AssistantMessage,
  Content,
  ContentPart,
  HostToolCall,
  Message,
  ToolCall,
  ToolMessage,
} from "../../domain/request/chat.ts"
import { innerJson } from "../../wire/jsonDepth.ts"
import { argumentsObject, calledNames, partsOf, readDataUrl, textOf } from "../content.ts"
import { partsInOrder } from "../conversation.ts"
import { inline, mediaPart, type Reader } from "./generateContentMedia.ts"
import { type SignedSpan, thoughtsOf } from "./Thoughts.ts"

export interface Conversation {
  readonly system: ReadonlyArray<JsonObject>
  readonly contents: ReadonlyArray<JsonObject>
  /** What it does not say of the messages. */
  readonly dropped: ReadonlyArray<string>
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
  for (const [at, message] of resultsFirst(messages)) writer.message(message, `messages[${at}]`)
  return writer.conversation(messages.at(-1)?.role === "user")
}

/**
 * Messages with their places, of those after an answer the results of its calls first: Google wants as many results in
 * the next turn as there were calls.
 */
const resultsFirst = (messages: ReadonlyArray<Message>): Iterable<readonly [at: number, message: Message]> => {
  const inOrder: Array<readonly [number, Message]> = []
  let others: Array<readonly [number, Message]> = []
  for (const placed of messages.entries()) {
    const { role } = placed[1]
    if (role === "tool") inOrder.push(placed)
    else if (role === "assistant") {
      inOrder.push(...others, placed)
      others = []
    } else others.push(placed)
  }
  inOrder.push(...others)
  return inOrder
}

/** Stands for the signature of a call that another host made: Google's page on thought signatures gives it for that. */
export const foreignCall = "skip_thought_signature_validator"

/** What the result of a function may have in itself, from Gemini 3 on. */
const fitsInResult = (part: JsonObject): boolean => {
  const media = part["inlineData"] ?? part["fileData"]
  const type = isJsonObject(media) ? String(media["mimeType"]) : ""
  return type.startsWith("image/") || type === "application/pdf" || type === "text/plain"
}

/** A member of JSON such as `$ref`, by which Google would look for a part of the result (400 if there is none). */
const hasReference = /"(?:\$|\\u0024)[^"]*"\s*:/

/** Characters of results that are read as JSON, in all. */
const mostRead = 1_000_000

class TurnWriter {
  private readonly system: Array<JsonObject> = []
  private readonly lost = new Set<string>()
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
    if (message["name"] != null) this.lost.add(`${path}.name`)
    if (message.role === "user") this.say("user", this.partsOf(message.content, path))
    else if (message.role === "assistant") this.say("model", this.answer(message, path))
    else this.system.push(...this.partsOf(message.content, path))
  }

  /** `asks`: the last message is the user's, which must not vanish where it is blank: the model would go on with its answer. */
  conversation(asks: boolean): Either.Either<Conversation, Unsupported> {
    this.sayMedia()
    if (asks && this.turns.at(-1)?.role === "model") this.say("user", [{ text: " " }])
    const dropped = [...this.lost]
    if (this.unsupported !== undefined) return Either.left(this.unsupported)
    const contents = this.turns.map(({ role, parts }) => ({ role, parts }))
    // Google requires at least one turn, so instructions alone become a user's turn.
    if (contents.length > 0) return Either.right({ system: this.system, contents, dropped })
    return Either.right({
      system: [],
      contents: this.system.length === 0 ? [] : [{ role: "user", parts: this.system }],
      dropped,
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

  /** `from`: the place of the first part. */
  private partsOf(content: Content | null | undefined, path: string, from = 0): ReadonlyArray<JsonObject> {
    const parts: Array<JsonObject> = []
    for (const [at, part] of partsOf(content).entries()) {
      const place = `${path}.content[${from + at}]`
      if (part.type === "image_url" && isWish(part.image_url.detail)) this.lost.add(`${place}.image_url.detail`)
      const carried = this.part(part)
      if (typeof carried === "string") this.refuse(place, carried)
      else if (carried["text"] !== "") parts.push(carried)
    }
    return parts
  }

  private part(part: ContentPart): JsonObject | string {
    if (part.type === "text") return { text: part.text }
    return part.type === "refusal" ? { text: part.refusal } : mediaPart(part, this.reader)
  }

  /** The parts in the order in which they were said. Where images stood is not known: they stand before the calls. */
  private answer(message: AssistantMessage, path: string): ReadonlyArray<JsonObject> {
    const { parts, isInOrder } = partsInOrder(message)
    if (!isInOrder) this.lost.add("order")
    const { ofCalls, ofTexts, ofImages } = thoughtsOf(message.reasoning_details ?? [])
    const text = new SignedText(textOf(message.content), ofTexts)
    const said: Array<JsonObject> = []
    let alone: ReadonlyArray<string> = []
    const images = objectsIn(message["images"])
      .flatMap(embeddedImage)
      .map((image, place) => withSignature(image, ofImages.get(place)))
    const pause = () => {
      said.push(
        ...text.rest(),
        ...images.splice(0),
        ...alone.map((signature) => withSignature({ text: "" }, signature)),
      )
      alone = []
    }
    let calls = 0
    let contents = 0
    for (const part of parts) {
      if (part.type === "reasoning") {
        const own = thoughtsOf(part.details)
        if (own.thoughts.length > 0 && alone.length > 0) pause()
        said.push(...own.thoughts)
        alone = [...alone, ...own.alone]
      } else if (part.type === "content") {
        const { content } = part
        if (content.type === "text") said.push(...text.next(content.text))
        else said.push(...this.partsOf([content], path, contents))
        contents += 1
      } else {
        pause()
        said.push(...this.call(part.call, ofCalls, `${path}.tool_calls[${calls}]`, calls === 0))
        calls += 1
      }
    }
    if (typeof message.refusal === "string" && message.refusal !== "") said.push({ text: message.refusal })
    pause()
    return text.fits ? said : signedLast(said, ofTexts.at(-1)?.signature)
  }

  private call(
    call: ToolCall | HostToolCall,
    signatures: ReadonlyMap<string, string>,
    path: string,
    isFirst: boolean,
  ): ReadonlyArray<JsonObject> {
    if (call.function === undefined) {
      this.refuse(path, "this host takes calls of functions only")
      return []
    }
    // Of several calls in one answer only the first one is signed.
    const otherwise = this.reader.facts.isThird && isFirst ? foreignCall : undefined
    const part = { functionCall: { id: call.id, name: call.function.name, args: argumentsObject(call) } }
    return [withSignature(part, signatures.get(call.id) ?? otherwise)]
  }

  /**
   * What a result says. It stays a text where it has numbers that JavaScript cannot hold or references, and once there is more of
   * results than can be read at once without making other requests wait.
   */
  private read(text: string): unknown {
    this.readCharacters += text.length
    return this.readCharacters > mostRead || /\d{16}/.test(text) || hasReference.test(text) ? text : parsed(text)
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

/** How closely an image is looked at, where that is not Google's own choice. */
const isWish = (detail: unknown): boolean => detail != null && detail !== "auto"

/** The parts of a message's text that were signed, and those between them, in the pieces in which the text comes. */
class SignedText {
  /** `false`: the text is not the one that was signed. */
  readonly fits: boolean
  private readonly cut: Array<JsonObject> | undefined
  private at = 0

  constructor(text: string, spans: ReadonlyArray<SignedSpan>) {
    this.cut = spans.length === 0 ? undefined : cutAt(text, spans)
    this.fits = spans.length === 0 || this.cut !== undefined
  }

  next(text: string): ReadonlyArray<JsonObject> {
    const { cut } = this
    const parts: Array<JsonObject> = []
    let rest = text
    while (rest !== "") {
      const piece = cut?.[this.at]
      const own = textOr(piece?.["text"], "")
      if (cut === undefined || piece === undefined) return [...parts, { text: rest }]
      if (own.length <= rest.length) {
        parts.push(piece)
        this.at += 1
      } else {
        parts.push({ text: rest })
        cut[this.at] = { ...piece, text: own.slice(rest.length) }
      }
      rest = rest.slice(own.length)
    }
    return parts
  }

  /** Signed parts without text that stand here. */
  rest(): ReadonlyArray<JsonObject> {
    const from = this.at
    while (this.cut?.[this.at]?.["text"] === "") this.at += 1
    return this.cut?.slice(from, this.at) ?? []
  }
}

/** The last part of the text gets the signature. */
const signedLast = (parts: ReadonlyArray<JsonObject>, signature: string | undefined): ReadonlyArray<JsonObject> => {
  const last = parts.findLastIndex((part) => typeof part["text"] === "string" && part["thought"] !== true)
  return parts.map((part, at) => (at === last ? withSignature(part, signature) : part))
}

/** An image of an earlier answer, as it came. */
const embeddedImage = ({ image_url: image }: JsonObject): ReadonlyArray<JsonObject> => {
  const url = isJsonObject(image) && typeof image["url"] === "string" ? readDataUrl(image["url"]) : undefined
  return url === undefined || !url.base64 ? [] : [inline(url.mediaType, url.data)]
}

/** The text in the parts that were signed, and those between them; `undefined` when the places do not fit the text. */
const cutAt = (text: string, spans: ReadonlyArray<SignedSpan>): Array<JsonObject> | undefined => {
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
