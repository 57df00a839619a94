/** Requests and answers for the tests of Google's protocol. */
import * as Either from "effect/Either"
import { HostFailed, type Unsupported } from "../../../src/domain/failures/Failure.ts"
import type { JsonObject } from "../../../src/domain/json/json.ts"
import type { ChatChunk, ChatResponse } from "../../../src/domain/request/chat.ts"
import type { ChatRequest } from "../../../src/domain/request/request.ts"
import { generateContentProtocol } from "../../../src/formats/generateContent/generateContentHost.ts"
import { encodedBy, hostFor, requestWith } from "../../support/recordings/recordings.ts"

export const head = { status: 200, headers: new Headers() }
export const gemini = generateContentProtocol()
export const vertex = generateContentProtocol({ vertex: true })

export const user = (content: unknown): JsonObject => ({ role: "user", content })
export const hello = [user("Hi")]

export interface Asked {
  readonly model?: string
  readonly vertex?: boolean
  readonly more?: Partial<Pick<ChatRequest, "stream" | "maxTokens">>
}

/** What is sent for a body of the chat form: by default to Gemini 2.5 Flash in AI Studio. */
export const encoded = (body: JsonObject, { model = "gemini-2.5-flash", vertex: isVertex = false, more }: Asked = {}) =>
  encodedBy(isVertex ? vertex : gemini, requestWith({ messages: hello, ...body }, more), hostFor(model))

export const sent = (body: JsonObject, asked?: Asked): JsonObject => encoded(body, asked).body

/** The same, as far as tests look into it: a wrong shape fails them. */
// biome-ignore lint/suspicious/noExplicitAny: as above
export const sentAny = (body: JsonObject, asked?: Asked): any => sent(body, asked)

export const refused = (body: JsonObject, { model = "gemini-2.5-flash", vertex: isVertex = false }: Asked = {}) => {
  const protocol = isVertex ? vertex : gemini
  const result = protocol.encode(requestWith({ messages: hello, ...body }), hostFor(model))
  return Either.match(result, {
    onLeft: ({ path, reason }: Unsupported) => `${path}: ${reason}`,
    onRight: () => "carried",
  })
}

export const contextFor = (model = "gemini-3.5-flash") => ({
  request: requestWith({ messages: hello }),
  host: hostFor(model),
})

/** A whole answer, read; throws where it is a failure. */
export const answered = (body: unknown, model?: string): ChatResponse => {
  const answer = gemini.decode(head, body, contextFor(model))
  if (answer instanceof HostFailed) throw answer
  return answer
}

/** The chunks of these events, up to a failure. */
export const streamed = (events: ReadonlyArray<unknown>, model?: string): ReadonlyArray<ChatChunk | HostFailed> => {
  const decoder = gemini.decoder(head, contextFor(model))
  const chunks: Array<ChatChunk | HostFailed> = []
  for (const event of events) {
    const read = decoder.event("", event)
    if (read instanceof HostFailed) return [...chunks, read]
    chunks.push(...read)
  }
  const rest = decoder.end()
  return rest instanceof HostFailed ? [...chunks, rest] : [...chunks, ...rest]
}

/** The message that a caller puts together from chunks. */
export const gathered = (chunks: ReadonlyArray<ChatChunk | HostFailed>): JsonObject => {
  const deltas = chunks.flatMap((chunk) =>
    chunk instanceof HostFailed ? [] : chunk.choices.filter(({ index }) => index === 0).map(({ delta }) => delta),
  )
  const all = (member: string) =>
    deltas.flatMap((delta) => (Array.isArray(delta[member]) ? (delta[member] as ReadonlyArray<JsonObject>) : []))
  const calls = all("tool_calls").map(({ index: _, ...call }) => call)
  const images = all("images")
  return {
    role: "assistant",
    content: deltas.map((delta) => delta.content ?? "").join(""),
    reasoning: deltas.map((delta) => delta.reasoning ?? "").join(""),
    reasoning_details: all("reasoning_details"),
    ...(calls.length === 0 ? {} : { tool_calls: calls }),
    ...(images.length === 0 ? {} : { images }),
    annotations: all("annotations"),
  }
}

export const candidateOf = (parts: ReadonlyArray<JsonObject>, more: JsonObject = {}): JsonObject => ({
  content: { role: "model", parts },
  index: 0,
  ...more,
})
