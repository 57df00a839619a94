/** Small pieces in canonical and in Anthropic's form, for the tests of the Messages protocol. */
import { expect } from "bun:test"
import { HostFailed } from "../../../src/domain/failures/Failure.ts"
import type { Host } from "../../../src/domain/hosts/Host.ts"
import type { JsonObject } from "../../../src/domain/json/json.ts"
import type { ChatChunk, ChatResponse } from "../../../src/domain/request/chat.ts"
import { messagesProtocol } from "../../../src/formats/messages/messagesHost.ts"
import type { ThinkingKind } from "../../../src/formats/messages/messagesThinking.ts"
import { sseReader } from "../../../src/wire/framing/sse.ts"
import { encodedBy, hostFor, requestWith } from "../../support/recordings/recordings.ts"

export const messages = messagesProtocol()

export const head = { status: 200, headers: new Headers() }
export const context = { request: requestWith({}), host: hostFor("claude-x") }

type More = Parameters<typeof requestWith>[1]

export const encoded = (body: JsonObject, more: More = {}, host: Partial<Host> = {}, kind?: ThinkingKind) =>
  encodedBy(messagesProtocol(kind === undefined ? {} : { thinking: () => kind }), requestWith(body, more), {
    ...hostFor("claude-x"),
    maxCompletionTokens: 8000,
    ...host,
  })

export const sent = (...given: Parameters<typeof encoded>): JsonObject => encoded(...given).body

export const user = (content: unknown) => ({ role: "user", content })
export const hello = [user("hello")]
export const textBlock = (text: string) => ({ type: "text", text })

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
export const thought = (more: JsonObject) => ({
  type: "reasoning.text" as const,
  format: "anthropic-claude-v1",
  ...more,
})

export const tool = {
  type: "function",
  function: { name: "f", description: "d", parameters: { properties: {} } },
}
export const strictTool = { ...tool, function: { ...tool.function, strict: true } }
export const answer = (content: ReadonlyArray<unknown>, more: JsonObject = {}): JsonObject => ({
  ...{ id: "msg_1", type: "message", role: "assistant", model: "claude-x", content, stop_reason: "end_turn" },
  usage: { input_tokens: 3, output_tokens: 4 },
  ...more,
})

export const read = (body: unknown): ChatResponse | HostFailed => messages.decode(head, body, context)

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
  const decoder = messages.decoder(head, context)
  const chunks: Array<ChatChunk> = []
  const bytes = typeof text === "string" ? new TextEncoder().encode(text) : text
  for (const frame of [...reader.push(bytes), ...reader.end()]) {
    const found = decoder.event(frame.name, JSON.parse(frame.data))
    if (found instanceof HostFailed) return { chunks, failure: found }
    chunks.push(...found)
  }
  const last = decoder.end()
  return last instanceof HostFailed ? { chunks, failure: last } : { chunks: [...chunks, ...last], failure: undefined }
}

export const deltasOf = ({ chunks }: Streamed) => chunks.flatMap(({ choices }) => choices.map(({ delta }) => delta))

export interface Row {
  readonly name: string
  readonly body: JsonObject
  readonly more?: More
  readonly host?: Partial<Host>
  readonly kind?: ThinkingKind
  /** Members of what is sent; `undefined`: not sent at all. */
  readonly expected: JsonObject
  /** The caller's members that are declared as not to be sent. Default: none. */
  readonly dropped?: ReadonlyArray<string>
}

export const expectRow = ({ body, more, host, kind, expected, dropped: lost = [] }: Row) => {
  const { body: result, dropped } = encoded({ messages: hello, ...body }, more, host, kind)
  expect(dropped?.toSorted()).toEqual(lost.toSorted())
  for (const [member, value] of Object.entries(expected)) {
    if (value === undefined) expect(result).not.toHaveProperty(member)
    else expect(result[member]).toEqual(value)
  }
}
