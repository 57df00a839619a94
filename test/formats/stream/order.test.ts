/** Text of a stream arrives in the order in which the host said it, wherever the finish stands. docs/guarantees.md#g11 */
import { heapStats } from "bun:jsc"
import { describe, expect, test } from "bun:test"
import * as FastCheck from "effect/FastCheck"
import type { ChatChunk, FinishReason } from "../../../src/domain/request/chat.ts"
import { chatDecoder } from "../../../src/formats/chat/chatStream.ts"
import { GenerateContentDecoder } from "../../../src/formats/generateContent/generateContentStream.ts"
import type { Decoder } from "../../../src/formats/Protocol.ts"
import { HostStream } from "../../../src/formats/stream/HostStream.ts"
import { Utf8Decoder } from "../../../src/wire/Utf8Decoder.ts"

interface Said {
  readonly text: string
  readonly finish: string | null
}

/** What a caller gets of a stream, and what was withheld until its end. */
const heard = (decoder: Decoder, events: ReadonlyArray<unknown>) => {
  const written: Array<ChatChunk> = []
  const stream = new HostStream({
    framing: "sse",
    usage: "last",
    decoder,
    transparent: false,
    excludeReasoning: false,
    choices: 1,
    writer: {
      chunk: (chunk) => {
        written.push(chunk)
        return "x"
      },
    },
  })
  const atOnce: Array<string> = []
  for (const event of events) {
    stream.push(new TextEncoder().encode(`data: ${JSON.stringify(event)}\n\n`))
    atOnce.push(written.map(({ choices }) => choices[0]?.delta.content ?? "").join(""))
  }
  stream.end()
  const [finish] = stream.finish().choices
  const isFinishWritten = written.some(({ choices }) => choices.some((choice) => choice.finish_reason !== null))
  return { atOnce, finish, isFinishWritten, state: stream.state, usage: stream.usage }
}

const googles = ({ text, finish }: Said) => ({
  candidates: [{ content: { parts: [{ text }], role: "model" }, ...(finish === null ? {} : { finishReason: finish }) }],
  usageMetadata: { promptTokenCount: 9, candidatesTokenCount: 4 },
})
const chats = ({ text, finish }: Said) => ({
  choices: [{ index: 0, delta: { content: text }, finish_reason: finish }],
})

const finishes: ReadonlyMap<string, FinishReason> = new Map([
  ["STOP", "stop"],
  ["MAX_TOKENS", "length"],
  ["RECITATION", "content_filter"],
  ["length", "length"],
  ["stop", "stop"],
  ["content_filter", "content_filter"],
])

type Protocol = readonly [string, () => Decoder, (said: Said) => unknown, ReadonlyArray<string>]

const protocols: ReadonlyArray<Protocol> = [
  ["Google's", () => new GenerateContentDecoder("gemini-2.0-flash"), googles, ["STOP", "MAX_TOKENS", "RECITATION"]],
  ["chat", () => chatDecoder({}, "m"), chats, ["stop", "length", "content_filter"]],
  [
    "canonical",
    (): Decoder => ({ event: (_, data) => [data as ChatChunk], end: () => [] }),
    chats,
    ["stop", "length", "content_filter"],
  ],
]

describe("text beside a finish", () => {
  test("arrived behind the text of a later event, and the later finish was lost", () => {
    const { atOnce, finish } = heard(new GenerateContentDecoder("gemini-2.0-flash"), [
      googles({ text: "Copyrighted text goes here", finish: "STOP" }),
      googles({ text: "More copyrighted text", finish: "RECITATION" }),
    ])
    expect(atOnce).toEqual(["Copyrighted text goes here", "Copyrighted text goes hereMore copyrighted text"])
    expect(finish).toMatchObject({
      delta: { content: "" },
      finish_reason: "content_filter",
      native_finish_reason: "RECITATION",
    })
  })

  test.each([...protocols])(
    "%s events in any order: each text at once, and the last finish",
    (_, decoder, event, words) => {
      const Event = FastCheck.record({
        text: FastCheck.string(),
        finish: FastCheck.option(FastCheck.constantFrom(...words), { nil: null }),
      })
      FastCheck.assert(
        FastCheck.property(FastCheck.array(Event, { minLength: 1, maxLength: 8 }), (said) => {
          const { atOnce, finish, isFinishWritten } = heard(decoder(), said.map(event))
          let before = ""
          const expected = said.map(({ text }) => {
            before += text
            return before
          })
          expect(atOnce).toEqual(expected)
          expect(isFinishWritten).toBe(false)
          const last = said.findLast((one) => one.finish !== null)?.finish
          expect(finish?.finish_reason).toBe(last == null ? undefined : finishes.get(last))
        }),
        { numRuns: 500 },
      )
    },
  )
})

describe("an error with a usage in the same event", () => {
  const word = { choices: [{ index: 0, delta: { content: "a" }, finish_reason: null }] }
  const usage = {
    prompt_tokens: 43,
    completion_tokens: 10,
    completion_tokens_details: { reasoning_tokens: 11 },
  }

  test.each([
    ["at the top", { error: { code: 502, message: "no" }, choices: [], usage }],
    [
      "in a choice",
      {
        choices: [{ index: 0, delta: {}, finish_reason: "error", error: { code: 502, message: "no" } }],
        usage,
      },
    ],
  ])("%s: the usage was not read", (_, error) => {
    expect(heard(chatDecoder({}, "m"), [word, error])).toMatchObject({ state: "failed", usage })
  })

  test("of Google's: the usage was not read", () => {
    const said = googles({ text: "a", finish: null })
    const error = { error: { code: 503 }, usageMetadata: { promptTokenCount: 43, candidatesTokenCount: 10 } }
    expect(heard(new GenerateContentDecoder("gemini-2.0-flash"), [said, error])).toMatchObject({
      state: "failed",
      usage: { prompt_tokens: 43, completion_tokens: 10 },
    })
  })
})

describe("a large event in small pieces", () => {
  test("30 MB in reads of 64 KiB: is read once, and little more than it is kept", () => {
    const image = "A".repeat(30_000_000)
    const bytes = new TextEncoder().encode(`data: ${JSON.stringify(chats({ text: image, finish: null }))}\n\n`)
    let characters = 0
    const stream = new HostStream({
      framing: "sse",
      decoder: chatDecoder({}, "m"),
      transparent: false,
      excludeReasoning: false,
      choices: 1,
      writer: {
        chunk: ({ choices }) => {
          characters += choices[0]?.delta.content?.length ?? 0
          return "x"
        },
      },
    })
    const { decode } = Utf8Decoder.prototype
    let decoded = 0
    Utf8Decoder.prototype.decode = function (read, start = 0, end = read.length) {
      decoded += end - start
      return decode.call(this, read, start, end)
    }
    const kept = () => {
      Bun.gc(true)
      const { heapSize, extraMemorySize } = heapStats()
      return heapSize + extraMemorySize
    }
    const before = kept()
    let most = before
    for (let at = 0; at < bytes.length; at += 65_536) {
      stream.push(Buffer.from(bytes.subarray(at, at + 65_536)))
      if (at % (100 * 65_536) === 0) most = Math.max(most, kept())
    }
    Utf8Decoder.prototype.decode = decode
    expect([characters, stream.state, decoded]).toEqual([30_000_000, "speaking", bytes.length])
    // Live bytes, garbage is none of them.
    expect(most - before).toBeLessThan(100_000_000)
  })
})
