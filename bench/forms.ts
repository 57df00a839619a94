/**
 * Processor time per text chunk of a stream, by the form of the caller and of the host, from the host's bytes to the caller's
 * text and without sockets: `bun bench/forms.ts`.
 */
import type { ChunkWriter } from "../src/formats/ChunkWriter.ts"
import { chat } from "../src/formats/chat/chatClient.ts"
import { chatProtocol } from "../src/formats/chat/chatHost.ts"
import { messages } from "../src/formats/messages/messagesClient.ts"
import { messagesProtocol } from "../src/formats/messages/messagesHost.ts"
import type { Protocol } from "../src/formats/Protocol.ts"
import { HostStream } from "../src/formats/stream/HostStream.ts"
import { Target } from "../src/formats/Target.ts"
import { answerNames } from "../test/support/formats/answerNames.ts"
import { chunkOf } from "../test/support/hosts/host.ts"
import { eventText, startEvent } from "../test/support/hosts/messages.ts"
import { hostFor, requestWith } from "../test/support/recordings/recordings.ts"

const chunks = 200_000
const host = hostFor("upstream")
const words = "some words of a text delta, about as long as usual "

const request = requestWith({ messages: [{ role: "user", content: "Hi" }] })
const names = answerNames()
const context = { request, host }

const block = { type: "content_block_start", index: 0, content_block: { type: "text", text: "" } }
const delta = { type: "content_block_delta", index: 0, delta: { type: "text_delta", text: words } }
const hosts = {
  chat: {
    protocol: chatProtocol({}),
    first: "",
    chunk: `data: ${chunkOf({ delta: { content: words }, finish_reason: null })}\n\n`,
  },
  messages: { protocol: messagesProtocol(), first: eventText(startEvent) + eventText(block), chunk: eventText(delta) },
}

/** Microseconds of processor time per chunk. */
const measured = (protocol: Protocol, first: string, chunk: string, writer: ChunkWriter, native: boolean): number => {
  const decoder = protocol.decoder({ status: 200, headers: new Headers() }, context)
  const transparent = protocol.transparent === true
  const stream = new HostStream({
    framing: "sse",
    transparent,
    decoder,
    writer,
    native,
    excludeReasoning: false,
    choices: 1,
  })
  stream.push(Buffer.from(first))
  const bytes = Buffer.from(chunk)
  for (let at = 0; at < chunks / 10; at++) stream.push(bytes)
  const before = process.cpuUsage().user
  for (let at = 0; at < chunks; at++) stream.push(bytes)
  return (process.cpuUsage().user - before) / chunks
}

const target = new Target("/api/v1/chat/completions", "")

for (let round = 0; round < 3; round++) {
  for (const [name, { protocol, first, chunk }] of Object.entries(hosts)) {
    const isNative = name === "messages"
    const toChat = measured(protocol, first, chunk, chat.stream(names, request, target)(host), false)
    const toMessages = measured(protocol, first, chunk, messages.stream(names, request, target)(host), isNative)
    process.stdout.write(
      `host ${name}: chat caller ${toChat.toFixed(2)} µs, Messages caller ${toMessages.toFixed(2)} µs\n`,
    )
  }
}
