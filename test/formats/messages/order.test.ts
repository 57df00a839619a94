/** H4: the blocks of an answer, with their signatures, go back to a host of Claude in the order in which they were said. */
import { expect, test } from "bun:test"
import * as Either from "effect/Either"
import * as fc from "effect/FastCheck"
import type { JsonObject } from "../../../src/domain/json/json.ts"
import type { ChatChunk, ChatMessage, ReasoningDetail } from "../../../src/domain/request/chat.ts"
import { deltasOf } from "../../../src/formats/delta.ts"
import { answerWriter } from "../../../src/formats/messages/messagesAnswer.ts"
import { decodeMessages } from "../../../src/formats/messages/messagesRequest.ts"
import { MessagesWriter } from "../../../src/formats/messages/messagesStream.ts"
import { noCharge } from "../../../src/formats/routerUsage.ts"
import { readMessagesStream } from "../../../src/testing/grammar/messages.ts"
import { answerNames } from "../../support/formats/answerNames.ts"
import { assembled, eventText } from "../../support/hosts/messages.ts"
import { hostFor } from "../../support/recordings/recordings.ts"
import { answer, choiceOf, encoded, hello, read, streamed, toolUse, user } from "./build.ts"

type Blocks = ReadonlyArray<JsonObject>

const word = fc.string({ unit: "grapheme-ascii", minLength: 1, maxLength: 8 }).filter((text) => text.trim() !== "")
const block = fc.oneof(
  word.map((text): JsonObject => ({ type: "text", text })),
  fc.tuple(word, word).map(([thinking, signature]): JsonObject => ({ type: "thinking", thinking, signature })),
  word.map((signature): JsonObject => ({ type: "thinking", thinking: "", signature })),
  word.map((data): JsonObject => ({ type: "redacted_thinking", data })),
  fc.constant<JsonObject>({ type: "tool_use" }),
)
/** Texts that follow each other are one in every other format. */
const blocks = fc
  .array(block, { minLength: 1, maxLength: 8 })
  .map((all) =>
    all
      .filter(({ type }, at) => type !== "text" || all[at - 1]?.["type"] !== "text")
      .map((one, at) => (one["type"] === "tool_use" ? toolUse(`c${at}`, { at }) : one)),
  )

const whole = (content: Blocks): ChatMessage => choiceOf(read(answer(content))).message

const piecesOf = (one: JsonObject, index: number): Blocks => {
  const delta = (change: JsonObject) => ({ type: "content_block_delta", index, delta: change })
  const begin = (started: JsonObject) => ({ type: "content_block_start", index, content_block: started })
  const end = { type: "content_block_stop", index }
  switch (one["type"]) {
    case "text":
      return [begin({ type: "text", text: "" }), delta({ type: "text_delta", text: one["text"] }), end]
    case "thinking":
      return [
        begin({ type: "thinking", thinking: "", signature: "" }),
        delta({ type: "thinking_delta", thinking: one["thinking"] }),
        delta({ type: "signature_delta", signature: one["signature"] }),
        end,
      ]
    default:
      return [begin(one), end]
  }
}

const chunksOf = (content: Blocks): ReadonlyArray<ChatChunk> =>
  streamed(
    [
      { type: "message_start", message: answer([]) },
      ...content.flatMap(piecesOf),
      { type: "message_delta", delta: { stop_reason: "end_turn" }, usage: { output_tokens: 1 } },
      { type: "message_stop" },
    ]
      .map(eventText)
      .join(""),
  ).chunks

/** As a chat client collects a stream. */
const gathered = (content: Blocks): JsonObject => {
  let text = ""
  const details: Array<ReasoningDetail> = []
  const calls: Array<{ id: string; type: string; function: { name: string; arguments: string } }> = []
  for (const { delta } of chunksOf(content).flatMap(({ choices }) => choices)) {
    text += delta.content ?? ""
    details.push(...(delta.reasoning_details ?? []))
    for (const { index, id = "", function: called } of delta.tool_calls ?? []) {
      calls[index] ??= { id, type: "function", function: { name: called?.name ?? "", arguments: "" } }
      calls[index].function.arguments += called?.arguments ?? ""
    }
  }
  return {
    role: "assistant",
    content: text,
    reasoning_details: details,
    ...(calls.length === 0 ? {} : { tool_calls: calls }),
  }
}

const names = { ...answerNames(), thinking: "shown" as const, promptTokens: 1 }
const charge = { ...noCharge, waived: null, estimated: false }

/** The history of a Messages client that was answered so: it is translated, as for a host of another form. */
const asHistory = (content: unknown): JsonObject => {
  const body = { model: "m", max_tokens: 9, messages: [...hello, { role: "assistant", content }, user("more")] }
  const message = Either.getOrThrow(decodeMessages(body, new Headers())).payload.messages[1]
  if (message === undefined) throw new Error("no message")
  return message
}
const written = (content: Blocks): unknown => {
  const response = read(answer(content))
  choiceOf(response)
  if (!("choices" in response)) throw response
  const text = answerWriter(names)(hostFor("claude-x"), response, undefined)(charge)
  return JSON.parse(String(text)).content
}
const wholeToMessages = (content: Blocks): JsonObject => asHistory(written(content))
const streamedToMessages = (content: Blocks): JsonObject => {
  const writer = new MessagesWriter(names, undefined)
  const chunks = chunksOf(content)
  const last = chunks.findLast(({ choices }) => choices.some((choice) => choice.finish_reason !== null))
  if (last === undefined) throw new Error("no finish")
  const text = chunks.filter((chunk) => chunk !== last).map((chunk) => writer.chunk(chunk))
  return asHistory(assembled(readMessagesStream(text.join("") + writer.finish(last, charge)))["content"])
}

test.each<[string, (content: Blocks) => JsonObject]>([
  ["whole, to a chat client", whole],
  ["streamed, to a chat client", gathered],
  ["whole, to a client of the form", wholeToMessages],
  ["streamed, to a client of the form", streamedToMessages],
])("blocks in any order go back as they came: %s", (_, through) => {
  fc.assert(
    fc.property(blocks, (content) => {
      const { body, dropped } = encoded({ messages: [...hello, through(content), user("more")] })
      expect(body["messages"]).toEqual([
        { role: "user", content: [{ type: "text", text: "hello" }] },
        { role: "assistant", content },
        { role: "user", content: [{ type: "text", text: "more" }] },
      ])
      expect(dropped).toEqual([])
    }),
    { numRuns: 300 },
  )
})

test("thinking whose order a client lost is left out, and named", () => {
  const content = [
    { type: "thinking", thinking: "A", signature: "a" },
    toolUse("c1", {}),
    { type: "thinking", thinking: "B", signature: "b" },
    toolUse("c2", {}),
  ]
  const { reasoning_details: details = [], ...message } = whole(content)
  const lost = { ...message, reasoning_details: details.filter(({ id }) => id == null) }
  const { body, dropped } = encoded({ messages: [...hello, lost, user("more")] })
  expect(body["messages"]).toMatchObject([{}, { content: [toolUse("c1", {}), toolUse("c2", {})] }, {}])
  expect(dropped).toEqual(["order"])
})

test("citations of a whole answer stay with the text that they were read from, as a stream too", () => {
  const cited = (of: string) => ({
    ...{ type: "web_search_result_location", url: `https://${of}.test`, title: of },
    ...{ cited_text: of, encrypted_index: "" },
  })
  const content = [
    { type: "text", text: "one", citations: [cited("a"), cited("b")] },
    toolUse("c1", {}),
    { type: "text", text: "two", citations: null },
    { type: "thinking", thinking: "A", signature: "a" },
    { type: "text", text: "three", citations: [cited("c")] },
  ]
  expect(written(content)).toEqual(content)
  const response = read(answer(content))
  if (!("choices" in response)) throw response
  const deltas = deltasOf(choiceOf(response).message, null).map(({ delta }) => delta)
  const inDeltas = deltas.flatMap(({ content: text, annotations = [] }) => annotations.map((one) => [text, one]))
  expect(inDeltas).toMatchObject([
    ["one", { url_citation: { title: "a" } }],
    ["one", { url_citation: { title: "b" } }],
    ["three", { url_citation: { title: "c" } }],
  ])
})
