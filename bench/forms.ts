/**
 * Processor time per text chunk of a stream, by the form of the caller and of the host, from the host's bytes to the caller's
 * text and without sockets: `bun bench/forms.ts`.
 */
import { chunkWriter } from "../src/http/data/chat/stream.ts"
import { messagesWriter } from "../src/http/data/messages/stream.ts"
import type { ChunkWriter } from "../src/wire/ChunkWriter.ts"
import { chatProtocol } from "../src/wire/chat.ts"
import { HostStream } from "../src/wire/HostStream.ts"
import { messagesProtocol } from "../src/wire/messages.ts"
import type { Protocol } from "../src/wire/Protocol.ts"
import { chunkOf } from "../test/support/hosts/host.ts"
import { eventText, startEvent } from "../test/support/hosts/messages.ts"
import { hostFor, requestWith } from "../test/support/recordings/recordings.ts"

const chunks = 200_000
const host = hostFor("upstream")
const context = { request: requestWith({ messages: [{ role: "user", content: "Hi" }] }), host }
const words = "some words of a text delta, about as long as usual "

const chat = { generationId: "gen-1", created: 1, model: "acme/small", metadata: undefined }
const messages = {
  requestId: "req_1",
  generationId: "gen-1",
  model: "acme/small",
  omitsThinking: false,
  metadata: undefined,
}

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

for (let round = 0; round < 3; round++) {
  for (const [name, { protocol, first, chunk }] of Object.entries(hosts)) {
    const isNative = name === "messages"
    const toChat = measured(protocol, first, chunk, chunkWriter(chat, host), false)
    const toMessages = measured(protocol, first, chunk, messagesWriter(messages, host), isNative)
    process.stdout.write(
      `host ${name}: chat caller ${toChat.toFixed(2)} µs, Messages caller ${toMessages.toFixed(2)} µs\n`,
    )
  }
}
