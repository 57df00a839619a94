/**
 * `contents` as canonical messages, checked and translated in one pass, and canonical messages as `contents`:
 * instructions in front stand apart, turns are the user's or the model's, and adjacent ones of one kind are one.
 * Results of functions have a turn of their own, since Google wants as many of them as there were calls.
 */
import * as Either from "effect/Either"
import { Unsupported } from "../../domain/failures/Failure.ts"
import { type Issues, type JsonSchema, report } from "../../domain/json/checks.ts"
import { isJsonObject, type JsonObject, objectsIn, textOr } from "../../domain/json/json.ts"
import type { Content, ContentPart, Message, ToolCall, ToolMessage } from "../../domain/request/chat.ts"
import type { FormNeed } from "../../domain/request/request.ts"
import { innerJson } from "../../wire/jsonDepth.ts"
import { calledNames, partsOf, reminderOf, textOf } from "../content.ts"
import { lostOfMessages } from "../plainTools.ts"
import { type Dropped, dropOthers } from "../request/Dropped.ts"
import { messageOfTurn, type Placed, turnOfMessage } from "./generateContentModelTurn.ts"
import { addressedPart, embeddedPart, isOperatorsAddress, mediaPart, type Reader } from "./generateContentParts.ts"

const mostContents = 4096

const part: JsonSchema = {
  title: "GenerateContentPart",
  type: "object",
  description:
    "text, inlineData, fileData, functionCall or functionResponse, possibly a thought. Others go to Google's hosts only.",
}
const content: JsonSchema = { type: "object", properties: { parts: { type: "array", items: part } } }

export const contentsSchema: JsonSchema = { type: "array", items: content, minItems: 1, maxItems: mostContents }
export const instructionSchema: JsonSchema = { anyOf: [{ type: "string" }, content] }

const ownPaths: ReadonlyMap<string, string> = new Map([
  ["max_tokens", "generationConfig.maxOutputTokens"],
  ["tool_choice", "toolConfig.functionCallingConfig.allowedFunctionNames"],
])

// What a part may have. The signatures of turns of the model are read apart.
const textMembers: ReadonlySet<string> = new Set(["text", "thought", "thoughtSignature"])
const embeddedMembers: ReadonlySet<string> = new Set(["inlineData", "thought", "thoughtSignature"])
const addressedMembers: ReadonlySet<string> = new Set(["fileData", "thought", "thoughtSignature"])
const resultMembers: ReadonlySet<string> = new Set(["id", "name", "response", "parts"])

const ofGoogle: FormNeed = { path: "contents", reason: "only hosts of Google's format take parts of these kinds" }

export class History {
  readonly messages: Array<Message> = []
  /** Parts that the canonical form has no counterpart for. */
  readonly untranslated: Dropped = []
  private readonly places: Array<string> = []
  /** Calls without a result so far. */
  private readonly open: Array<{ readonly id: string; readonly name: string }> = []
  private readonly issues: Issues
  private calls = 0

  constructor(issues: Issues) {
    this.issues = issues
  }

  /** The caller's path for one in the canonical request. */
  readonly pathOf = (path: string): string =>
    ownPaths.get(path) ?? this.places[Number(/^messages\[(\d+)\]/.exec(path)?.[1])] ?? path

  instruction(value: unknown): void {
    if (value == null) return
    const path = "systemInstruction"
    const parts = typeof value === "string" ? [{ part: { text: value }, path }] : this.partsOf(value, path)
    const texts = parts.flatMap((placed) => {
      const { text: said } = placed.part
      if (typeof said === "string") return [said]
      this.untranslated.push(placed.path)
      return []
    })
    const text = texts.join("\n")
    if (text !== "") this.add({ role: "system", content: text }, path)
  }

  contents(value: unknown): void {
    if (!Array.isArray(value) || value.length === 0 || value.length > mostContents) {
      report(this.issues, "contents", `must be an array of 1 to ${mostContents} objects`)
      return
    }
    let said: Array<Placed> = []
    for (const [at, turn] of value.entries()) {
      const path = `contents[${at}]`
      const parts = this.partsOf(turn, path)
      const role: unknown = isJsonObject(turn) ? turn["role"] : undefined
      // Clients keep each event of a stream as a turn of its own.
      if (role === "model") said.push(...parts)
      else {
        this.answer(said)
        said = []
        if (role == null || role === "user" || role === "function") this.user(parts, path)
        else report(this.issues, `${path}.role`, "must be user or model")
      }
    }
    this.answer(said)
    const saysNothing = this.onlyForm !== undefined && this.untranslated.length === 0
    if (saysNothing && this.issues.length === 0) report(this.issues, "contents", "must have a part that says something")
  }

  /** Present where other hosts would be sent no messages. */
  get onlyForm(): FormNeed | undefined {
    return this.messages.every(({ role }) => role === "system") ? ofGoogle : undefined
  }

  private add(message: Message, path: string): void {
    this.messages.push(message)
    this.places.push(path)
  }

  private partsOf(value: unknown, path: string): ReadonlyArray<Placed> {
    const parts: unknown = isJsonObject(value) ? value["parts"] : undefined
    if (!isJsonObject(value)) report(this.issues, path, "must be an object")
    else if (parts != null && !Array.isArray(parts)) report(this.issues, `${path}.parts`, "must be an array")
    if (!Array.isArray(parts)) return []
    return parts.flatMap((one: unknown, at): ReadonlyArray<Placed> => {
      const place = `${path}.parts[${at}]`
      if (!isJsonObject(one)) {
        report(this.issues, place, "must be an object")
        return []
      }
      this.files(one, place)
      return [{ part: one, path: place }]
    })
  }

  /**
   * Google's hosts get all parts as they came, so that a file is looked at wherever it stands, and beside whatever
   * else.
   */
  private files({ fileData, functionResponse }: JsonObject, path: string): void {
    if (isJsonObject(functionResponse))
      for (const inner of objectsIn(functionResponse["parts"])) this.files(inner, `${path}.functionResponse.parts`)
    if (!isJsonObject(fileData)) return
    const { fileUri: uri } = fileData
    if (typeof uri !== "string") report(this.issues, `${path}.fileData.fileUri`, "must be a string")
    else if (isOperatorsAddress(uri)) {
      const reason = "refers to something in the account of the operator, which is not allowed"
      report(this.issues, `${path}.fileData.fileUri`, reason)
    }
  }

  private user(parts: ReadonlyArray<Placed>, path: string): void {
    const content: Array<ContentPart> = []
    for (const placed of parts) {
      const { functionResponse: result } = placed.part
      if (isJsonObject(result)) content.push(...this.result(result, placed.path))
      else content.push(...this.content(placed))
    }
    const [only, more] = content
    if (only === undefined && parts.length > 0) return
    const isText = only === undefined || (only.type === "text" && more === undefined)
    this.add({ role: "user", content: isText ? textOr(only?.text, "") : content }, path)
  }

  /** Adds the text of a result, and returns its media, which other forms take from the user. */
  private result(result: JsonObject, path: string): ReadonlyArray<ContentPart> {
    const { response, id: given } = result
    const name = textOr(result["name"], "")
    const at = this.open.findIndex((call) => (typeof given === "string" ? call.id === given : call.name === name))
    const [called] = at === -1 ? [] : this.open.splice(at, 1)
    const id = textOr(given, "") || called?.id
    if (id === undefined)
      report(this.issues, `${path}.functionResponse.name`, "no call in the conversation has this name")
    dropOthers(result, resultMembers, `${path}.functionResponse`, this.untranslated)
    this.add({ role: "tool", tool_call_id: id ?? "", content: textOfResult(response) }, path)
    const media = objectsIn(result["parts"]).map((inner) => ({ part: inner, path: `${path}.functionResponse.parts` }))
    return media.flatMap((inner) => this.content(inner))
  }

  private answer(said: ReadonlyArray<Placed>): void {
    const [first] = said
    if (first === undefined) return
    const message = messageOfTurn(said, {
      call: (call, path) => this.call(call, path),
      content: (placed) => this.content(placed),
      untranslated: this.untranslated,
    })
    this.add(message, first.path.replace(/\.parts\[\d+\]$/, ""))
  }

  private call({ id: given, name, args }: JsonObject, path: string): ToolCall {
    if (typeof name !== "string" || name === "")
      report(this.issues, `${path}.functionCall.name`, "must be a non-empty string")
    const id = textOr(given, "") || `call_${this.calls}`
    this.calls += 1
    this.open.push({ id, name: textOr(name, "") })
    const json = JSON.stringify(isJsonObject(args) ? args : {})
    return { id, type: "function", function: { name: textOr(name, ""), arguments: json } }
  }

  private content({ part, path }: Placed): ReadonlyArray<ContentPart> {
    const { text, inlineData, fileData } = part
    if (typeof text === "string") {
      dropOthers(part, textMembers, path, this.untranslated)
      return [{ type: "text", text }]
    }
    if (isJsonObject(inlineData)) {
      dropOthers(part, embeddedMembers, path, this.untranslated)
      const { mimeType, data } = inlineData
      if (typeof mimeType === "string" && typeof data === "string") return [embeddedPart(mimeType, data)]
      report(this.issues, `${path}.inlineData`, "must have the strings mimeType and data")
    } else if (isJsonObject(fileData)) {
      dropOthers(part, addressedMembers, path, this.untranslated)
      return [addressedPart(textOr(fileData["mimeType"], ""), textOr(fileData["fileUri"], ""))]
    } else if (text !== undefined) report(this.issues, `${path}.text`, "must be a string")
    else if (Object.keys(part).some((name) => name !== "thoughtSignature")) this.untranslated.push(path)
    return []
  }
}

// --- canonical messages as contents

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
  const writer = new ContentsWriter(calledNames(messages), reader)
  for (const [at, message] of resultsFirst(messages)) writer.message(message, `messages[${at}]`)
  return writer.conversation(messages)
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

const asReminder = (part: JsonObject): JsonObject =>
  typeof part["text"] === "string" ? { ...part, text: reminderOf(part["text"]) } : part

class ContentsWriter {
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
    if (message.role === "user") this.say("user", this.partsOf(message.content, path))
    else if (message.role === "assistant") {
      const parts = turnOfMessage(message, path, {
        content: (part, at) => this.partsOf([part], path, at),
        refuse: (place, reason) => this.refuse(place, reason),
        lost: this.lost,
        signsCalls: this.reader.facts.isThird,
        hasCallIds: this.reader.facts.isThird,
      })
      this.say("model", parts)
    } else if (this.turns.length === 0) this.system.push(...this.partsOf(message.content, path))
    else this.say("user", this.partsOf(message.content, path).map(asReminder))
  }

  /** A last message of the user must not vanish where it is blank: the model would go on with its answer. */
  conversation(messages: ReadonlyArray<Message>): Either.Either<Conversation, Unsupported> {
    this.sayMedia()
    if (messages.at(-1)?.role === "user" && this.turns.at(-1)?.role === "model") this.say("user", [{ text: " " }])
    if (this.unsupported !== undefined) return Either.left(this.unsupported)
    const dropped = [...lostOfMessages(messages, ["name", "detail", "marks"]), ...this.lost]
    const contents = this.turns.map(({ role, parts }) => ({ role, parts }))
    if (contents.length > 0 || this.system.length === 0) return Either.right({ system: this.system, contents, dropped })
    // Google requires at least one turn, so instructions alone become a user's turn.
    return Either.right({ system: [], contents: [{ role: "user", parts: this.system }], dropped })
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
      const text = part.type === "text" ? part.text : part.type === "refusal" ? part.refusal : undefined
      const carried = text === undefined ? mediaPart(part, this.reader) : { text }
      if (typeof carried === "string") this.refuse(place, carried)
      else if (text !== "") parts.push(carried)
    }
    return parts
  }

  /**
   * What a result says. It stays a text where it has numbers that JavaScript cannot hold or references, and once there
   * is more of results than can be read at once without making other requests wait.
   */
  private read(text: string): unknown {
    this.readCharacters += text.length
    if (this.readCharacters > mostRead || /\d{16}/.test(text) || hasReference.test(text)) return text
    const value = innerJson(text)
    return value === undefined ? text : value
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
    const own = this.reader.facts.isThird ? { id } : {}
    this.say("user", [{ functionResponse: { ...own, name, response, ...parts } }], true)
  }
}

// --- results

/** Google's clients put what a function says into `output` or `result`. */
const textOfResult = (response: unknown): string => {
  if (!isJsonObject(response)) return textOr(response, "")
  const [name, more] = Object.keys(response)
  const only = name !== undefined && more === undefined && /^(?:output|result)$/.test(name) ? response[name] : undefined
  return typeof only === "string" ? only : JSON.stringify(response)
}

/** The result as an object, which Google requires. */
const responseOf = (value: unknown, isError: boolean): JsonObject => {
  if (isError) return { error: value }
  return isJsonObject(value) ? value : { result: value }
}
