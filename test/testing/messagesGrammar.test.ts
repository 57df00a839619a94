/** The grammar checker of the Messages form, with streams that keep it and streams that break it. */
import { describe, expect, test } from "bun:test"
import type { JsonObject } from "../../src/domain/json/json.ts"
import { readMessagesStream } from "../../src/testing/grammar/messages.ts"
import { blockEvents, endEvents, eventText, startEvent, textBlock } from "../support/hosts/messages.ts"

const read = (events: ReadonlyArray<JsonObject>) => readMessagesStream(events.map(eventText).join(""))

const error = { type: "error", error: { type: "api_error", message: "no" } }
const [delta = {}, stop = {}] = endEvents("end_turn")
const [begin = {}, piece = {}, close = {}] = textBlock(0, ["a"])
const thinking = blockEvents(0, { type: "thinking", thinking: "", signature: "" }, [{ type: "text_delta", text: "x" }])

describe("keeps the grammar", () => {
  test.each<[string, ReadonlyArray<JsonObject>]>([
    ["a text", [startEvent, { type: "ping" }, begin, piece, close, delta, stop]],
    ["no content", [startEvent, delta, stop]],
    ["an error alone", [error]],
    ["an error within a block", [startEvent, begin, piece, error]],
    [
      "a kind of block and of event that is unknown",
      [startEvent, ...blockEvents(0, { type: "new" }, [{ type: "newer" }]), { type: "newest" }, delta, stop],
    ],
  ])("%s", (_, events) => {
    expect(read(events)).toEqual([...events])
  })

  test("comments", () => {
    expect(readMessagesStream(`: hm\n\n${eventText(error)}`)).toEqual([error])
  })
})

describe("breaks the grammar", () => {
  test.each<[string, ReadonlyArray<JsonObject>]>([
    ["no end", [startEvent, begin, piece, close, delta]],
    ["two starts", [startEvent, startEvent, delta, stop]],
    ["nothing before the start", [{ type: "ping" }, startEvent, delta, stop]],
    ["a block that skips a number", [startEvent, { ...begin, index: 1 }, delta, stop]],
    ["a block that opens twice", [startEvent, begin, begin, close, delta, stop]],
    ["a piece outside of a block", [startEvent, piece, delta, stop]],
    ["a piece of another kind", [startEvent, ...thinking, delta, stop]],
    ["a block that is left open", [startEvent, begin, delta, stop]],
    ["a block that closes twice", [startEvent, begin, close, close, delta, stop]],
    ["no reason", [startEvent, { ...delta, delta: { stop_reason: null } }, stop]],
    ["no message_delta", [startEvent, stop]],
    ["two ends", [startEvent, delta, stop, stop]],
    ["something after an error", [error, error]],
    ["an error without a message", [{ type: "error", error: { type: "x" } }]],
  ])("%s", (_, events) => {
    expect(() => read(events)).toThrow("A stream in the Messages form has")
  })

  test.each([["data: {}\n\n"], ['event: ping\ndata: {"type":"pong"}\n\n'], [eventText(error).trimEnd()]])(
    "%j",
    (text) => {
      expect(() => readMessagesStream(text)).toThrow("A stream in the Messages form has")
    },
  )
})
