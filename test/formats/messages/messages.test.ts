/** The Messages protocol against everything that was recorded of it. */
import { describe, expect, test } from "bun:test"
import type { JsonObject } from "../../../src/domain/json/json.ts"
import { reporting } from "../../support/recordings/recordedTable.ts"
import {
  bodyOf,
  bytesOf,
  hostFor,
  type RecordedCase,
  recordings,
  recordingsPresent,
  replay,
  requestOf,
  splits,
  type Transcript,
  TranscriptBuilder,
  wholeOf,
} from "../../support/recordings/recordings.ts"
import { choiceOf, deltasOf, head, hello, messages, sent, streamed, user } from "./build.ts"

/** Reads a recording by itself: joins each block's pieces into the message that a whole answer would have been. */
const messageIn = (recorded: RecordedCase): JsonObject => {
  if (recorded.response.raw === undefined) return Object(bodyOf(recorded))
  // A reading of what was recorded, whose shape is known: the values are compared, so a wrong one fails the test.
  // biome-ignore lint/suspicious/noExplicitAny: as above
  let message: any
  const json: Record<number, string> = {}
  for (const line of recorded.response.raw.split("\n")) {
    if (!line.startsWith("data: ")) continue
    const data = JSON.parse(line.slice(6))
    if (data.type === "message_start") message = data.message
    if (data.type === "content_block_start") message.content[data.index] = data.content_block
    if (data.type === "content_block_delta") {
      const block = message.content[data.index]
      if (data.delta.type === "text_delta") block.text += data.delta.text
      if (data.delta.type === "thinking_delta") block.thinking += data.delta.thinking
      if (data.delta.type === "signature_delta") block.signature += data.delta.signature
      if (data.delta.type === "citations_delta") block.citations.push(data.delta.citation)
      if (data.delta.type === "input_json_delta") json[data.index] = (json[data.index] ?? "") + data.delta.partial_json
    }
    if (data.type === "message_delta") {
      Object.assign(message, data.delta)
      Object.assign(message.usage, data.usage)
    }
  }
  for (const [index, text] of Object.entries(json)) message.content[index].written = text
  return message
}

const finishes: Record<string, string> = {
  ...{
    end_turn: "stop",
    stop_sequence: "stop",
    max_tokens: "length",
    tool_use: "tool_calls",
    refusal: "content_filter",
  },
}

const blocksIn = (message: JsonObject, type: string): ReadonlyArray<Record<string, never>> =>
  Array.isArray(message["content"]) ? message["content"].filter((block) => block.type === type) : []

const expectedTranscript = (recorded: RecordedCase): Transcript => {
  // As in `messageIn`.
  // biome-ignore lint/suspicious/noExplicitAny: as above
  const message: any = messageIn(recorded)
  const builder = new TranscriptBuilder()
  const joined = (type: string, member: string) =>
    blocksIn(message, type)
      .map((block) => block[member])
      .join("")
  builder.add(0, "text", joined("text", "text"))
  builder.add(0, "reasoning", joined("thinking", "thinking"))
  builder.add(0, "refusal", message.stop_details?.explanation)
  for (const [at, block] of blocksIn(message, "tool_use").entries()) {
    const { id, name, written, input } = block as unknown as {
      id: string
      name: string
      written?: string
      input: unknown
    }
    builder.call(0, at, {
      id,
      name,
      arguments: written === undefined || written === "" ? JSON.stringify(input) : written,
    })
  }
  builder.finish(0, finishes[message.stop_reason] ?? "none")
  const { usage } = message
  builder.usage = {
    promptTokens: usage.input_tokens + usage.cache_read_input_tokens + usage.cache_creation_input_tokens,
    completionTokens: usage.output_tokens,
    cachedTokens: usage.cache_read_input_tokens,
    cacheWriteTokens: usage.cache_creation_input_tokens,
    reasoningTokens: usage.output_tokens_details?.thinking_tokens ?? 0,
  }
  return builder.transcript()
}

const recorded = recordings("anthropic-messages")
const answered = recorded.filter(({ response }) => response.status === 200)

/** The canonical message of a recording, with the pieces of a stream put together as a caller would. */
const heard = (found: RecordedCase): JsonObject => {
  if (found.response.raw === undefined)
    return choiceOf(messages.decode(head, bodyOf(found), { request: requestOf(found), host: hostFor("x") })).message
  const deltas = deltasOf(streamed(bytesOf(found)))
  const all = (member: string) => deltas.flatMap((piece) => (Array.isArray(piece?.[member]) ? piece[member] : []))
  return {
    role: "assistant",
    content: deltas.map((piece) => piece?.content ?? "").join(""),
    reasoning_details: all("reasoning_details"),
    annotations: all("annotations"),
  }
}

describe("recorded answers", () => {
  test.skipIf(!recordingsPresent())("are there", () => {
    expect(recorded.length).toBeGreaterThanOrEqual(37)
    expect(answered.filter(({ response }) => response.raw !== undefined).length).toBeGreaterThanOrEqual(26)
  })

  for (const found of answered) {
    if (found.response.raw === undefined) {
      const check = () => expect(wholeOf(messages, found)).toEqual(expectedTranscript(found))
      test(found.id, reporting(found, check))
      continue
    }
    for (const { name, pieces } of splits(bytesOf(found), 7)) {
      const check = () => expect(replay(messages, found, pieces)).toEqual(expectedTranscript(found))
      test(`${found.id}, ${name}`, reporting(found, check))
    }
  }

  for (const found of answered) {
    const message = messageIn(found)
    if (blocksIn(message, "thinking").length + blocksIn(message, "redacted_thinking").length > 0) {
      test(`${found.id}: its thinking goes back unmodified`, () => {
        const turns = sent({ messages: [...hello, heard(found), user("go on")] })["messages"]
        const expected = (message["content"] as ReadonlyArray<JsonObject>)
          .filter((block) => /thinking/.test(String(block["type"])))
          .map(({ type, thinking, signature, data }) =>
            type === "thinking" ? { type, thinking, signature } : { type, data },
          )
        const back = (turns as ReadonlyArray<{ content: ReadonlyArray<JsonObject> }>)[1]?.content ?? []
        expect(back.slice(0, expected.length)).toEqual(expected)
      })
    }
    const cited = blocksIn(message, "text").filter((block) =>
      JSON.stringify(block["citations"] ?? []).includes('"url"'),
    )
    if (cited.length > 0) {
      test(`${found.id}: each citation marks its text`, () => {
        const { content, annotations } = heard(found)
        const marked = (annotations as ReadonlyArray<{ url_citation: Record<string, never> }>).map(
          ({ url_citation: at }) => [at["url"], String(content).slice(at["start_index"], at["end_index"])],
        )
        const expected = cited.flatMap((block) =>
          (block["citations"] as unknown as ReadonlyArray<JsonObject>).map((citation) => [
            citation["url"],
            block["text"],
          ]),
        )
        expect(marked).toEqual(expected as never)
      })
    }
  }
})
