/** Deltas of a stream: what they contain, and chunks of one. */
import { HostFailed } from "../domain/failures/Failure.ts"
import { type JsonObject, objectsIn } from "../domain/json/json.ts"
import type {
  ChatChunk,
  ChatChunkChoice,
  ChatDelta,
  ChatMessage,
  ChatResponse,
  OutputImage,
  ReasoningDetail,
  ToolCall,
  ToolCallDelta,
} from "../domain/request/chat.ts"
import { byText } from "./content.ts"
import { type AssistantPart, isOrderEntry, partsInOrder, textOfDetail } from "./conversation.ts"
import type { Decoder } from "./Protocol.ts"

/** Whether a delta has more than a role. Only such a delta commits the caller to this host. */
export const says = ({ delta, logprobs }: ChatChunkChoice): boolean => {
  for (const member in delta) {
    const value = delta[member]
    if (member !== "role" && value != null && value !== "" && !(Array.isArray(value) && value.length === 0)) return true
  }
  return logprobs != null
}

/** The text of a delta that has nothing else. */
export const plainText = ({ delta, logprobs }: ChatChunkChoice): string | undefined => {
  for (const member in delta) {
    if (member !== "role" && member !== "content" && delta[member] != null) return undefined
  }
  return logprobs == null && typeof delta.content === "string" ? delta.content : undefined
}

export const withoutReasoning = <A extends Pick<ChatChunkChoice, "delta">>(choice: A): A => {
  if (choice.delta.reasoning === undefined && choice.delta.reasoning_details === undefined) return choice
  const { reasoning: _, reasoning_details: __, ...delta } = choice.delta
  return { ...choice, delta }
}

/** The one chunk that adds this to an answer with one choice. */
export const chunkOf = (delta: ChatDelta, rest: Pick<ChatChunkChoice, "logprobs"> = {}): ReadonlyArray<ChatChunk> => [
  { choices: [{ index: 0, delta, finish_reason: null, ...rest }] },
]

/** The same answer as a stream: what each choice says, and one chunk with the finishes. */
export const chunksOf = ({ choices, ...rest }: ChatResponse): ReadonlyArray<ChatChunk> => [
  ...choices.flatMap(({ index, message, logprobs = null }) =>
    deltasOf(message, logprobs).map((said) => ({ choices: [{ index, finish_reason: null, ...said }] })),
  ),
  {
    ...rest,
    choices: choices.map(({ index, finish_reason: reason, native_finish_reason: native }) => ({
      index,
      delta: { content: "" },
      finish_reason: reason ?? "stop",
      native_finish_reason: native,
    })),
  },
]

/**
 * A whole message as deltas: one, or, where its parts have an order of their own, one for each part. A citation
 * comes with the text that it was read from; `logprobs` and what else the message has come with the last text.
 */
export const deltasOf = (
  message: ChatMessage,
  logprobs: JsonObject | null,
): ReadonlyArray<Pick<ChatChunkChoice, "delta" | "logprobs">> => {
  const { content, reasoning, reasoning_details: details = [], tool_calls: calls, annotations, ...rest } = message
  const entry = details.find(isOrderEntry)
  if (entry === undefined) {
    const { tool_calls: _, ...said } = message
    const numbered = calls?.map((call, index) => ({ ...call, index }))
    return [{ delta: numbered === undefined ? said : { ...said, tool_calls: numbered }, logprobs }]
  }
  const { parts } = partsInOrder({ content, reasoning_details: details, tool_calls: calls ?? null })
  const isApart = Boolean(reasoning) && !details.some((detail) => textOfDetail(detail) !== "")
  const deltas: Array<ChatDelta> = isApart ? [{ reasoning: reasoning ?? null }] : []
  for (const part of parts) deltas.push(...deltaOf(part, calls ?? []))
  const spoken = [...deltas.keys()].filter((at) => deltas[at]?.content != null)
  const texts = spoken.map((at) => deltas[at]?.content ?? "")
  for (const [place, cited] of byText(annotations ?? [], texts).entries()) {
    const at = spoken[place] ?? 0
    if (cited.length > 0) deltas[at] = { ...deltas[at], annotations: cited }
  }
  const last = spoken.at(-1)
  if (last === undefined) deltas.push(annotations === undefined ? rest : { ...rest, annotations })
  else deltas[last] = { ...deltas[last], ...rest }
  const place = last ?? 0
  return [...deltas, { reasoning_details: [entry] }].map((delta, at) => ({
    delta,
    logprobs: at === place ? logprobs : null,
  }))
}

const deltaOf = (part: AssistantPart, calls: ReadonlyArray<ToolCall>): ReadonlyArray<ChatDelta> => {
  switch (part.type) {
    case "content":
      return part.content.type === "text" ? [{ content: part.content.text }] : []
    case "reasoning": {
      const reasoning = part.details.map(textOfDetail).join("")
      return [{ ...(reasoning === "" ? {} : { reasoning }), reasoning_details: part.details }]
    }
    case "call": {
      const all: ReadonlyArray<unknown> = calls
      const index = all.indexOf(part.call)
      const call = calls[index]
      return call === undefined ? [] : [{ tool_calls: [{ ...call, index }] }]
    }
  }
}

/**
 * Reads a whole answer with one choice by the decoder of the streams, so that a host's blocks are read in one place.
 * `events`: what the host would send to stream the answer, with its finish.
 */
export const answerFrom = (
  decoder: Pick<Decoder, "event">,
  events: Iterable<readonly [name: string, data: unknown]>,
): ChatResponse | HostFailed => {
  const whole = new WholeAnswer()
  for (const [name, data] of events) {
    const chunks = decoder.event(name, data)
    if (chunks instanceof HostFailed) return chunks
    for (const chunk of chunks) whole.add(chunk)
  }
  return whole.answer()
}

class WholeAnswer {
  private text = ""
  private refusal = ""
  private reasoning = ""
  private readonly details: Array<ReasoningDetail> = []
  private readonly calls: Array<ToolCall> = []
  private readonly annotations: Array<JsonObject> = []
  private readonly images: Array<OutputImage> = []
  private finish: ChatChunkChoice | undefined
  private logprobs: JsonObject | null = null
  private unseen = 0
  private readonly rest: Record<string, unknown> = {}

  add(chunk: ChatChunk): void {
    for (const name in chunk) if (name !== "choices" && name !== "unseen") this.rest[name] = chunk[name]
    if (chunk.unseen !== undefined) this.unseen += chunk.unseen
    const [choice] = chunk.choices
    if (choice === undefined) return
    const { delta, finish_reason: reason } = choice
    this.text += delta.content ?? ""
    this.refusal += delta.refusal ?? ""
    this.reasoning += delta.reasoning ?? ""
    for (const annotation of delta.annotations ?? []) this.annotations.push(annotation)
    for (const image of delta.images ?? []) this.images.push(image)
    for (const detail of delta.reasoning_details ?? []) this.think(detail)
    for (const call of delta.tool_calls ?? []) this.call(call)
    if (reason !== null) this.finish = choice
    if (choice.logprobs != null) this.logprobs = joinedLogprobs(this.logprobs, choice.logprobs)
  }

  answer(): ChatResponse {
    const { text, refusal, reasoning, details, calls, annotations, images, finish, logprobs, unseen } = this
    const message: ChatMessage = {
      role: "assistant",
      content: text === "" && calls.length > 0 ? null : text,
      refusal: refusal === "" ? null : refusal,
      reasoning: reasoning === "" ? null : reasoning,
      ...(details.length === 0 ? {} : { reasoning_details: details }),
      ...(calls.length === 0 ? {} : { tool_calls: calls }),
      ...(annotations.length === 0 ? {} : { annotations }),
      ...(images.length === 0 ? {} : { images }),
    }
    const { finish_reason = null, native_finish_reason = null } = finish ?? {}
    const choice = { index: 0, finish_reason, native_finish_reason, logprobs, message }
    return { choices: [choice], ...this.rest, ...(unseen === 0 ? {} : { unseen }) }
  }

  /** Pieces of one text are one entry, as whole answers have them. */
  private think(detail: ReasoningDetail): void {
    const last = this.details.at(-1)
    const continues = last?.type === "reasoning.text" && last.type === detail.type && last.index === detail.index
    if (!continues) this.details.push(detail)
    else this.details[this.details.length - 1] = { ...last, ...detail, text: textOfDetail(last) + textOfDetail(detail) }
  }

  private call({ index, id = "", type = "function", function: piece }: ToolCallDelta): void {
    const name = piece?.name ?? ""
    const call = this.calls[index] ?? { id, type, function: { name, arguments: "" } }
    const given = call.function.arguments + (piece?.arguments ?? "")
    this.calls[index] = { ...call, function: { ...call.function, arguments: given } }
  }
}

/** The tokens of a text that came in several pieces. */
const joinedLogprobs = (before: JsonObject | null, more: JsonObject): JsonObject => {
  if (before === null) return more
  return { ...before, ...more, content: [...objectsIn(before["content"]), ...objectsIn(more["content"])] }
}
