/** Small canonical and Anthropic pieces that the tests of the Messages form are made of. */
import { expect } from "bun:test"
import type { ChatChunk, ChatRequest, ChatResponse } from "../../../src/domain/Chat.ts"
import { HostFailed } from "../../../src/domain/Failure.ts"
import type { Host } from "../../../src/domain/Host.ts"
import type { JsonObject } from "../../../src/domain/Json.ts"
import type { ThinkingKind } from "../../../src/wire/messages/thinking.ts"
import { messagesForm } from "../../../src/wire/messages.ts"
import { sseReader } from "../../../src/wire/sse.ts"
import { hostFor, requestWith } from "../../support/recordings.ts"

export const form = messagesForm()

export const sent = (
  body: JsonObject,
  more: Partial<ChatRequest> = {},
  host: Partial<Host> = {},
  kind?: ThinkingKind,
): JsonObject =>
  messagesForm(kind === undefined ? {} : { thinking: () => kind }).request(requestWith(body, more), {
    ...hostFor("claude-x"),
    maxCompletionTokens: 8000,
    ...host,
  }).body

export const user = (content: unknown) => ({ role: "user", content })
export const hello = [user("hello")]
export const said = (text: string) => ({ type: "text", text })

export const call = (id: string, written: string, name = "f") => ({
  id,
  type: "function",
  function: { name, arguments: written },
})
export const toolUse = (id: string, input: unknown, name = "f") => ({ type: "tool_use", id, name, input })
export const assistant = (more: JsonObject) => ({ role: "assistant", content: null, ...more })
export const result = (id: string, content: unknown) => ({ role: "tool", tool_call_id: id, content })
export const cached = { type: "ephemeral", ttl: "1h" }
export const png = "data:image/png;base64,AAAA"
export const thought = (more: JsonObject) => ({ type: "reasoning.text", format: "anthropic-claude-v1", ...more })

export const tool = {
  type: "function",
  function: { name: "f", description: "d", parameters: { properties: {} }, strict: true },
}
export const answer = (content: ReadonlyArray<unknown>, more: JsonObject = {}): JsonObject => ({
  ...{ id: "msg_1", type: "message", role: "assistant", model: "claude-x", content, stop_reason: "end_turn" },
  usage: { input_tokens: 3, output_tokens: 4 },
  ...more,
})

export const read = (body: unknown): ChatResponse | HostFailed =>
  form.response(body, requestWith({}), hostFor("claude-x"))

export const choiceOf = (response: ChatResponse | HostFailed) => {
  if (response instanceof HostFailed) throw response
  const [choice] = response.choices
  if (choice === undefined) throw new Error("no choice")
  return choice
}

export interface Streamed {
  readonly chunks: ReadonlyArray<ChatChunk>
  readonly failure: HostFailed | undefined
}

export const streamed = (text: string | Uint8Array): Streamed => {
  const reader = sseReader()
  const decoder = form.decoder(requestWith({}), hostFor("claude-x"))
  const chunks: Array<ChatChunk> = []
  const bytes = typeof text === "string" ? new TextEncoder().encode(text) : text
  for (const frame of [...reader.push(bytes), ...reader.end()]) {
    const found = decoder.event(frame.event, JSON.parse(frame.data))
    if (found instanceof HostFailed) return { chunks, failure: found }
    chunks.push(...found)
  }
  return { chunks: [...chunks, ...decoder.end()], failure: undefined }
}

export const deltasOf = ({ chunks }: Streamed) => chunks.map((chunk) => chunk.choices[0]?.delta)

export interface Row {
  readonly name: string
  readonly body: JsonObject
  readonly more?: Partial<ChatRequest>
  readonly host?: Partial<Host>
  readonly kind?: ThinkingKind
  /** Members of what is sent; `undefined`: not sent at all. */
  readonly expected: JsonObject
}

export const expectRow = ({ body, more, host, kind, expected }: Row) => {
  const result = sent({ messages: hello, ...body }, more, host, kind)
  for (const [member, value] of Object.entries(expected)) {
    if (value === undefined) expect(result).not.toHaveProperty(member)
    else expect(result[member]).toEqual(value)
  }
}
