/** Converts an answer of Cohere's chat to the canonical form, and has what whole and streamed answers share. */
import {
  type Annotation,
  type AssistantPart,
  type ChatResponse,
  type ChatUsage,
  callIdOf,
  type FinishReason,
  type HostFailed,
  isJsonObject,
  type JsonObject,
  malformed,
  type ReasoningDetail,
  saidInOrder,
  type ToolCall,
  textOr,
} from "headgate/plugin"
import { brokenOff } from "../failure.ts"
import { planId, reasoningFormat } from "./content.ts"

const finishReasons: ReadonlyMap<string, FinishReason> = new Map([
  ["COMPLETE", "stop"],
  ["STOP_SEQUENCE", "stop"],
  ["TOOL_CALL", "tool_calls"],
  ["MAX_TOKENS", "length"],
  ["ERROR_LIMIT", "length"],
  ["ERROR_TOXIC", "content_filter"],
])

/** How an answer ended. Unknown words count as a stop. */
export const finishReasonOf = (native: string): FinishReason | HostFailed =>
  native === "ERROR" || native === "TIMEOUT" ? brokenOff(native) : (finishReasons.get(native) ?? "stop")

/**
 * The canonical `usage`, of `billed_units`: Cohere adds tokens of its own to prompts and answers, counts them in `tokens`, and
 * does not charge for them ("How does Cohere's pricing work", read in 2026-11). Thinking is billed as output. `cached_tokens`
 * are part of `tokens`, often more than all that is billed, and have no price of their own, so they are left out.
 */
export const usageOf = (usage: unknown): ChatUsage | undefined => {
  if (!isJsonObject(usage)) return undefined
  const { billed_units: billed, tokens } = usage
  const counted = isJsonObject(billed) ? billed : tokens
  if (!isJsonObject(counted)) return undefined
  const { input_tokens: input, output_tokens: output } = counted
  // Without a count it is estimated: nobody says that zeros are left out.
  if (input == null || output == null) return undefined
  const parts = isJsonObject(tokens) ? tokens : {}
  return {
    prompt_tokens: input,
    completion_tokens: output,
    prompt_tokens_details: { image_tokens: parts["image_tokens"] ?? 0 },
    completion_tokens_details: { reasoning_tokens: parts["reasoning_tokens"] ?? 0 },
  }
}

export const thought = (index: number, text: string): ReasoningDetail => ({
  type: "reasoning.text",
  text,
  format: reasoningFormat,
  index,
})

/** What the model says before it calls tools. */
export const plan = (index: number, text: string): ReasoningDetail => ({ ...thought(index, text), id: planId })

/**
 * The sources of a citation. `text`: the block that it is about; `offset`: UTF-16 units of the answer's text before that. A
 * source is a document of the request or a result of a tool: without an address, its id stands for one.
 */
export const annotationsOf = (citation: unknown, text: string, offset: number): ReadonlyArray<Annotation> => {
  if (!isJsonObject(citation)) return []
  const { type, start, end, text: cited, sources } = citation
  // Other kinds are about the plan or the thinking.
  if ((type !== undefined && type !== "TEXT_CONTENT") || typeof start !== "number" || typeof end !== "number") return []
  const isUtf16 = text.slice(start, end) === cited
  const place = (at: number): number => offset + (isUtf16 ? at : unitsBefore(text, at))
  const annotations: Array<Annotation> = []
  for (const source of Array.isArray(sources) ? sources : []) {
    if (!isJsonObject(source) || typeof source["id"] !== "string") continue
    const { id, document } = source
    const facts = isJsonObject(document) ? document : {}
    const url = textOr(facts["url"], id)
    const title = textOr(facts["title"], id)
    annotations.push({
      type: "url_citation",
      url_citation: { url, title, start_index: place(start), end_index: place(end) },
    })
  }
  return annotations
}

/** UTF-16 units of so many characters: Cohere counts characters. */
const unitsBefore = (text: string, characters: number): number => Array.from(text).slice(0, characters).join("").length

/** A whole answer. */
export const cohereAnswer = (body: unknown): ChatResponse | HostFailed => {
  if (!isJsonObject(body)) return malformed()
  const { message, finish_reason: native, usage } = body
  if (!isJsonObject(message) || typeof native !== "string") return malformed()
  const finish = finishReasonOf(native)
  if (typeof finish !== "string") return finish
  const counted = usageOf(usage)
  return {
    choices: [
      { index: 0, finish_reason: finish, native_finish_reason: native, logprobs: null, message: messageOf(message) },
    ],
    ...(counted === undefined ? {} : { usage: counted }),
  }
}

const messageOf = ({ content, tool_plan: planned, tool_calls: called, citations }: JsonObject) => {
  const parts: Array<AssistantPart> = []
  /** Text of each block, with what stands before it. */
  const blocks = new Map<number, { readonly text: string; readonly offset: number }>()
  let text: string | undefined
  let reasoning = ""
  const think = (detail: ReasoningDetail): void => {
    parts.push({ type: "reasoning", details: [detail] })
    reasoning += detail.text ?? ""
  }
  for (const [at, block] of (typeof content === "string" ? [{ text: content }] : listOf(content)).entries()) {
    if (!isJsonObject(block)) continue
    if (typeof block["thinking"] === "string") think(thought(0, block["thinking"]))
    if (typeof block["text"] !== "string") continue
    parts.push({ type: "content", content: { type: "text", text: block["text"] } })
    blocks.set(at, { text: block["text"], offset: text?.length ?? 0 })
    text = (text ?? "") + block["text"]
  }
  if (typeof planned === "string" && planned !== "") think(plan(0, planned))
  const calls = listOf(called).flatMap(callOf)
  parts.push(...calls.map((call): AssistantPart => ({ type: "call", call })))
  const [firstBlock] = blocks.keys()
  const annotations = listOf(citations).flatMap((citation) => {
    const index = isJsonObject(citation) ? (citation["content_index"] ?? firstBlock) : undefined
    const block = typeof index === "number" ? blocks.get(index) : undefined
    return block === undefined ? [] : annotationsOf(citation, block.text, block.offset)
  })
  const { reasoning_details: details } = saidInOrder(parts)
  return {
    role: "assistant" as const,
    content: text ?? (calls.length === 0 ? "" : null),
    refusal: null,
    reasoning: reasoning === "" ? null : reasoning,
    ...(details == null ? {} : { reasoning_details: details }),
    ...(calls.length === 0 ? {} : { tool_calls: calls }),
    ...(annotations.length === 0 ? {} : { annotations }),
  }
}

const callOf = (call: unknown): ReadonlyArray<ToolCall> => {
  const called = isJsonObject(call) ? call["function"] : undefined
  if (!isJsonObject(call) || !isJsonObject(called)) return []
  const written = textOr(called["arguments"], "") || "{}"
  return [
    { id: callIdOf(call["id"]), type: "function", function: { name: textOr(called["name"], ""), arguments: written } },
  ]
}

const listOf = (value: unknown): ReadonlyArray<unknown> => (Array.isArray(value) ? value : [])
