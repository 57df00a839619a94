/** The grammar of the Responses form: what the gateway writes passes, and any change of it that a client could trip over does not. */
import { describe, expect, test } from "bun:test"
import * as FastCheck from "effect/FastCheck"
import { Unavailable } from "../../src/domain/failures/Failure.ts"
import type { JsonObject } from "../../src/domain/json/json.ts"
import type { Charge } from "../../src/domain/money/Charge.ts"
import { noCost } from "../../src/domain/price/price.ts"
import { noUsage } from "../../src/domain/price/Usage.ts"
import type { ChatChunk, ChatDelta, FinishReason } from "../../src/domain/request/chat.ts"
import type { ResponseNames } from "../../src/formats/responses/responsesAnswer.ts"
import { responseWriter } from "../../src/formats/responses/responsesStream.ts"
import { ToolNames } from "../../src/formats/responses/responsesToolNames.ts"
import { readResponsesStream } from "../../src/testing/grammar/responses.ts"
import { answerNames } from "../support/formats/answerNames.ts"

const names: ResponseNames = {
  ...answerNames("acme/small"),
  suffix: "1795330977-0VbgPosD006K2bT7CyPr",
  echo: {},
  tools: new ToolNames({
    tools: [
      { type: "custom", name: "exec" },
      { type: "tool_search", execution: "client" },
      { type: "local_shell" },
      { type: "apply_patch" },
    ],
  }),
  hidesReasoning: false,
}
const charge: Charge = { usage: noUsage, cost: noCost, upstream: noCost, waived: null, estimated: false }

const chunk = (delta: ChatDelta, reason: FinishReason | null = null): ChatChunk => ({
  choices: [{ index: 0, delta, finish_reason: reason }],
})

const failure = new Unavailable({ why: "draining", retryAfterSeconds: 1 })

type End = FinishReason | "failure" | "defect"

const written = (deltas: ReadonlyArray<ChatDelta>, end: End): string => {
  const writer = responseWriter(names, undefined)
  const text = deltas.map((delta) => writer.chunk(chunk(delta))).join("")
  if (end === "failure" || end === "defect")
    return text + writer.failure(end === "failure" ? failure : undefined, undefined)
  return text + writer.finish(chunk({ content: "" }, end), charge)
}

const Text = FastCheck.string({ minLength: 1, maxLength: 4, unit: "binary" })
const Index = FastCheck.nat(2)
const Format = FastCheck.constantFrom("anthropic-claude-v1", "openai-responses-v1", null)
const Detail = FastCheck.oneof(
  FastCheck.record({ type: FastCheck.constant("reasoning.text" as const), text: Text, format: Format, index: Index }),
  FastCheck.record({
    type: FastCheck.constant("reasoning.text" as const),
    signature: Text,
    format: Format,
    index: Index,
  }),
  FastCheck.record({
    type: FastCheck.constant("reasoning.summary" as const),
    summary: Text,
    format: Format,
    index: Index,
  }),
  FastCheck.record({
    type: FastCheck.constant("reasoning.encrypted" as const),
    data: Text,
    format: Format,
    index: Index,
  }),
)
const Name = FastCheck.oneof(Text, FastCheck.constantFrom("exec", "tool_search", "local_shell", "apply_patch"))
const Given = FastCheck.oneof(Text, FastCheck.constantFrom('{"input":"a', "\\n", '"}', "\\ud83d", "{}"))
const Delta: FastCheck.Arbitrary<ChatDelta> = FastCheck.oneof(
  FastCheck.record({ content: Text }),
  FastCheck.record({ refusal: Text }),
  FastCheck.record({ reasoning: Text }),
  FastCheck.record({ reasoning_details: FastCheck.array(Detail, { minLength: 1, maxLength: 2 }) }),
  FastCheck.record({ content: Text, reasoning: Text }),
  FastCheck.constant({
    annotations: [
      { type: "url_citation" as const, url_citation: { url: "u", title: "t", start_index: 0, end_index: 1 } },
    ],
  }),
  FastCheck.constant({ images: [{ type: "image_url" as const, image_url: { url: "data:image/png;base64,AAAA" } }] }),
  FastCheck.tuple(Index, FastCheck.option(Name, { nil: undefined }), Given).map(([index, name, given]) => ({
    tool_calls: [
      { index, id: `call_${index}`, function: { ...(name === undefined ? {} : { name }), arguments: given } },
    ],
  })),
)
const Ends = FastCheck.constantFrom<End>("stop", "length", "tool_calls", "content_filter", "failure", "defect")

describe("the grammar of the Responses form", () => {
  test("is kept by every stream, however it goes and ends, and no text is lost", () => {
    FastCheck.assert(
      FastCheck.property(FastCheck.array(Delta, { maxLength: 12 }), Ends, (deltas, end) => {
        const events = readResponsesStream(written(deltas, end))
        const told = (type: string) =>
          events
            .filter((event) => event["type"] === type)
            .map((event) => event["delta"])
            .join("")
        expect(told("response.output_text.delta")).toBe(deltas.map(({ content }) => content ?? "").join(""))
        expect(told("response.refusal.delta")).toBe(deltas.map(({ refusal }) => refusal ?? "").join(""))
      }),
      { numRuns: 300 },
    )
  })

  const good = written(
    [
      { reasoning_details: [{ type: "reasoning.summary", summary: "s", format: "f", index: 0 }] },
      { content: "a" },
      { content: "b" },
      { tool_calls: [{ index: 0, id: "c", function: { name: "f", arguments: "{}" } }] },
    ],
    "tool_calls",
  )
  const custom = written(
    [
      { content: "a" },
      { tool_calls: [{ index: 0, id: "d", function: { name: "exec", arguments: '{"input":"xy"}' } }] },
    ],
    "tool_calls",
  )
  const blocksOf = (text: string) => text.split("\n\n").slice(0, -1)
  const blocks = blocksOf(good)
  const from = (changed: ReadonlyArray<string>) => changed.map((block) => `${block}\n\n`).join("")
  const numbered = (changed: ReadonlyArray<string>) =>
    from(changed.map((block, at) => block.replace(/"sequence_number":\d+/, `"sequence_number":${at}`)))

  test("allows comments between events", () => {
    expect(readResponsesStream(from(blocks.flatMap((block) => [": GW PROCESSING", block]))).length).toBe(blocks.length)
  })

  test.each([
    ["a function", blocks],
    ["a custom tool", blocksOf(custom)],
  ])("does not allow that any event is missing, comes twice or comes before the one before it: %s", (_, blocks) => {
    const passing: Array<string> = []
    const tryOut = (what: string, changed: ReadonlyArray<string>) => {
      try {
        readResponsesStream(numbered(changed))
        passing.push(what)
      } catch {}
    }
    for (const [at, block] of blocks.entries()) {
      const name = /^event: (.*)$/m.exec(block)?.[1] ?? block
      tryOut(`without ${name}`, blocks.toSpliced(at, 1))
      tryOut(`with two of ${name}`, blocks.toSpliced(at, 0, block))
      if (at > 0) tryOut(`${name} too early`, blocks.with(at - 1, block).with(at, blocks[at - 1] ?? ""))
    }
    expect(passing).toEqual([])
  })

  const changes: ReadonlyArray<readonly [what: string, change: (text: string) => string]> = [
    ["a gap in the numbers", (text) => text.replace('"sequence_number":5', '"sequence_number":6')],
    ["an event of another name", (text) => text.replace("event: response.completed", "event: response.failed")],
    ["another id", (text) => text.replace(`"id":"resp_${names.suffix}"`, '"id":"resp_1"')],
    ["a text that its end does not repeat", (text) => text.replace('"text":"ab"', '"text":"b"')],
    [
      "a new item that is not in progress",
      (text) => text.replace('"status":"in_progress","content":[]', '"status":"completed","content":[]'),
    ],
    ["an end without usage", (text) => text.replace('"usage":{', '"use":{')],
    ["[DONE] after the end", (text) => `${text}data: [DONE]\n\n`],
    ["an event after the end", (text) => `${text}event: response.future\ndata: {"type":"response.future"}\n\n`],
    ["a carriage return", (text) => text.replaceAll("\n", "\r\n")],
    ["an unfinished event", (text) => text.slice(0, -1)],
  ]
  test.each(changes)("does not allow %s", (_what, change) => {
    expect(() => readResponsesStream(change(good))).toThrow()
  })
})

test("a custom tool's text that its end does not repeat breaks it", () => {
  const call = { index: 0, id: "d", function: { name: "exec", arguments: '{"input":"xy"}' } }
  const good = written([{ tool_calls: [call] }], "tool_calls")
  expect(readResponsesStream(good)).toHaveLength(7)
  expect(() => readResponsesStream(good.replaceAll('"input":"xy"', '"input":"y"'))).toThrow("differs from its deltas")
})

/** What the writers of other forms would give is refused too. */
test("a stream of the chat form breaks it", () => {
  const event: JsonObject = { object: "chat.completion.chunk", choices: [] }
  expect(() => readResponsesStream(`data: ${JSON.stringify(event)}\n\ndata: [DONE]\n\n`)).toThrow(
    "no event of the form",
  )
})
