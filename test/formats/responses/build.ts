/** Reads answers of the Responses form through the protocol, as a caller of the chat form would get them. */

import { HostFailed } from "../../../src/domain/failures/Failure.ts"
import type { JsonObject } from "../../../src/domain/json/json.ts"
import type { ChatChunk } from "../../../src/domain/request/chat.ts"
import type { Protocol } from "../../../src/formats/Protocol.ts"
import { frameReader } from "../../../src/wire/Framing.ts"
import { bodyOf, bytesOf, hostFor, type RecordedCase, requestWith } from "../../support/recordings/recordings.ts"

export const head = { status: 200, headers: new Headers() }
export const context = { request: requestWith({}), host: hostFor("m") }

/** All chunks of a stream; throws where the host fails in it. */
export const chunksOf = (protocol: Protocol, bytes: Uint8Array): ReadonlyArray<ChatChunk> => {
  const reader = frameReader(protocol.framing)
  const decoder = protocol.decoder(head, context)
  const chunks = [...reader.push(bytes), ...reader.end()]
    .filter(({ data }) => data !== "[DONE]")
    .map(({ name, data }) => decoder.event(name, JSON.parse(data)))
  return [...chunks, decoder.end()].flatMap((one) => {
    if (one instanceof HostFailed) throw one
    return [...one]
  })
}

const listed = (value: unknown): ReadonlyArray<unknown> => (Array.isArray(value) ? value : [])

/** The pieces of a stream put together as a caller would, without joining fragments of reasoning. */
export const joinedOf = (chunks: ReadonlyArray<ChatChunk>): JsonObject => {
  const choices = chunks.flatMap((chunk) => chunk.choices)
  const deltas = choices.map(({ delta }) => delta)
  const all = (member: string) => deltas.flatMap((delta) => listed(delta[member]))
  return {
    role: "assistant",
    content: deltas.map(({ content }) => content ?? "").join(""),
    reasoning_details: all("reasoning_details"),
    annotations: all("annotations"),
    images: all("images"),
    usage: chunks.findLast(({ usage }) => usage != null)?.usage,
    logprobs: choices.flatMap(({ logprobs }) => listed(logprobs?.["content"])),
    finish: choices.findLast(({ finish_reason: reason }) => reason !== null)?.finish_reason,
  }
}

/** The message of a recorded answer. */
export const heard = (protocol: Protocol, found: RecordedCase): JsonObject => {
  if (found.response.raw !== undefined) return joinedOf(chunksOf(protocol, bytesOf(found)))
  const answer = protocol.decode(head, bodyOf(found), context)
  if (answer instanceof HostFailed) throw answer
  const [choice] = answer.choices
  return { ...choice?.message, usage: answer.usage, logprobs: listed(choice?.logprobs?.["content"]) }
}
