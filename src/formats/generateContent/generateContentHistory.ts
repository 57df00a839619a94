/** The `contents` of Google's clients in the canonical form, checked and translated in one pass. */
import { type Issues, type JsonSchema, report } from "../../domain/json/checks.ts"
import { isJsonObject, type JsonObject, objectsIn, textOr } from "../../domain/json/json.ts"
import type { ContentPart, Message } from "../../domain/request/chat.ts"
import { type AssistantPart, addReasoning, saidInOrder } from "../conversation.ts"
import type { Dropped } from "../request/Dropped.ts"
import { reasoningFormat } from "./generateContentJson.ts"
import { isOperatorsAddress } from "./generateContentMedia.ts"
import { unwrappedSignature } from "./generateContentParts.ts"

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

interface Placed {
  readonly part: JsonObject
  readonly path: string
}

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
    path === "max_tokens"
      ? "generationConfig.maxOutputTokens"
      : (this.places[Number(/^messages\[(\d+)\]/.exec(path)?.[1])] ?? path)

  instruction(value: unknown): void {
    if (value == null) return
    const path = "systemInstruction"
    const parts = typeof value === "string" ? [{ part: { text: value }, path }] : this.partsOf(value, path)
    const text = parts.map(({ part: { text: said } }) => textOr(said, "")).join("\n")
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
      if (isJsonObject(one)) return [{ part: one, path: `${path}.parts[${at}]` }]
      report(this.issues, `${path}.parts[${at}]`, "must be an object")
      return []
    })
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
    this.add({ role: "tool", tool_call_id: id ?? "", content: textOfResult(response) }, path)
    const media = objectsIn(result["parts"]).map((inner) => ({ part: inner, path: `${path}.functionResponse.parts` }))
    return media.flatMap((inner) => this.content(inner))
  }

  private answer(said: ReadonlyArray<Placed>): void {
    const [first] = said
    if (first === undefined) return
    const parts: Array<AssistantPart> = []
    const images: Array<ContentPart> = []
    let thought = ""
    const endThought = () => {
      if (thought !== "") addReasoning(parts, { type: "reasoning.text", text: thought, format: reasoningFormat })
      thought = ""
    }
    for (const placed of said) {
      const { text, thought: isThought, functionCall: call, thoughtSignature: signature } = placed.part
      const wrapped = unwrappedSignature(signature)
      if (wrapped !== undefined && call === undefined) {
        const own = wrapped.text ?? wrapped.summary ?? thought + textOr(text, "")
        if (wrapped.type === "reasoning.encrypted") {
          endThought()
          addReasoning(parts, wrapped)
        } else addReasoning(parts, { ...wrapped, [wrapped.type === "reasoning.summary" ? "summary" : "text"]: own })
        thought = ""
        continue
      }
      if (isThought === true) {
        thought += textOr(text, "")
        continue
      }
      endThought()
      if (isJsonObject(call)) parts.push({ type: "call", call: this.call(call, placed.path) })
      else {
        for (const content of this.content(placed)) {
          if (content.type === "text") parts.push({ type: "content", content })
          else if (content.type === "image_url") images.push(content)
          else this.untranslated.push(placed.path)
        }
      }
    }
    endThought()
    const message = saidInOrder(parts)
    const text = parts
      .flatMap((one) => (one.type === "reasoning" ? one.details.map((each) => each.text ?? "") : []))
      .join("")
    this.add(
      {
        role: "assistant",
        ...message,
        ...(message.content === null && message.tool_calls === undefined ? { content: "" } : {}),
        ...(text === "" ? {} : { reasoning: text }),
        ...(images.length === 0 ? {} : { images }),
      },
      first.path.replace(/\.parts\[\d+\]$/, ""),
    )
  }

  private call({ id: given, name, args }: JsonObject, path: string) {
    if (typeof name !== "string" || name === "")
      report(this.issues, `${path}.functionCall.name`, "must be a non-empty string")
    const id = textOr(given, "") || `call_${this.calls}`
    this.calls += 1
    this.open.push({ id, name: textOr(name, "") })
    const json = JSON.stringify(isJsonObject(args) ? args : {})
    return { id, type: "function", function: { name: textOr(name, ""), arguments: json } }
  }

  private content({ part: { text, inlineData, fileData, ...others }, path }: Placed): ReadonlyArray<ContentPart> {
    if (typeof text === "string") return [{ type: "text", text }]
    if (isJsonObject(inlineData)) {
      const { mimeType, data } = inlineData
      if (typeof mimeType === "string" && typeof data === "string") return [mediaOf(mimeType, data)]
      report(this.issues, `${path}.inlineData`, "must have the strings mimeType and data")
    } else if (isJsonObject(fileData)) {
      const { fileUri: uri } = fileData
      if (typeof uri !== "string") report(this.issues, `${path}.fileData.fileUri`, "must be a string")
      else if (isOperatorsAddress(uri)) {
        const reason = "refers to something in the account of the operator, which is not allowed"
        report(this.issues, `${path}.fileData.fileUri`, reason)
      } else return [fileOf(textOr(fileData["mimeType"], ""), uri)]
    } else if (text !== undefined) report(this.issues, `${path}.text`, "must be a string")
    else if (Object.keys(others).some((name) => name !== "thoughtSignature")) this.untranslated.push(path)
    return []
  }
}

/** Google's clients put what a function says into `output` or `result`. */
const textOfResult = (response: unknown): string => {
  if (!isJsonObject(response)) return textOr(response, "")
  const [name, more] = Object.keys(response)
  const only = name !== undefined && more === undefined && /^(?:output|result)$/.test(name) ? response[name] : undefined
  return typeof only === "string" ? only : JSON.stringify(response)
}

const mediaOf = (mimeType: string, data: string): ContentPart => {
  const url = `data:${mimeType};base64,${data}`
  const [kind = "", subtype = ""] = mimeType.toLowerCase().split(/[/;]/)
  if (kind === "image") return { type: "image_url", image_url: { url } }
  if (kind === "video") return { type: "video_url", video_url: { url } }
  const format = subtype === "mpeg" ? "mp3" : subtype.replace(/^x-/, "")
  if (kind === "audio") return { type: "input_audio", input_audio: { data, format } }
  return { type: "file", file: { filename: `file.${subtype === "plain" ? "txt" : subtype}`, file_data: url } }
}

/** An address without a type is one of YouTube, where clients may leave it out. */
const fileOf = (mimeType: string, url: string): ContentPart => {
  if (mimeType.startsWith("image/")) return { type: "image_url", image_url: { url } }
  if (mimeType === "" || mimeType.startsWith("video/")) return { type: "video_url", video_url: { url } }
  return { type: "file", file: { filename: url.split(/[?#]/)[0]?.split("/").at(-1) || "file", file_data: url } }
}
