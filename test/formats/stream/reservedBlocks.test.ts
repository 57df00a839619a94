/** What is reserved for the output of a stream, event by event. docs/guarantees.md#g1 */
import { expect, test } from "bun:test"
import { chatDecoder } from "../../../src/formats/chat/chatStream.ts"
import { HostStream } from "../../../src/formats/stream/HostStream.ts"
import { chunkText } from "../../support/clients/chunkText.ts"
import { chunkOf } from "../../support/hosts/host.ts"

const token = "four"

/** A stream with 100 tokens reserved, and `blocks` of 100 more to be had, after one event of so many tokens. */
const afterEvent = (tokens: number, blocks: number) => {
  let taken = 0
  const stream = new HostStream({
    framing: "sse",
    decoder: chatDecoder({}, "m"),
    transparent: false,
    excludeReasoning: false,
    choices: 1,
    writer: chunkText({
      id: "gen-1",
      provider: "Acme",
      model: "acme/small",
      object: "chat.completion.chunk",
      created: 7,
    }),
    output: {
      outputTokens: 100,
      extend: () => {
        if (taken === blocks) return 0
        taken += 1
        return 100
      },
    },
  })
  const event = chunkOf({ delta: { content: token.repeat(tokens) }, finish_reason: null })
  stream.push(new TextEncoder().encode(`data: ${event}\n\n`))
  return { taken, isCut: stream.isCut }
}

test.each([
  [100, 0],
  [101, 1],
  [200, 1],
  [1000, 9],
  [1001, 10],
])("an event of %i tokens reserves %i blocks more, however many that are", (tokens, blocks) => {
  expect(afterEvent(tokens, 50)).toEqual({ taken: blocks, isCut: false })
})

test("an event for which not enough is left cuts the answer", () => {
  expect(afterEvent(1000, 5)).toEqual({ taken: 5, isCut: true })
})
