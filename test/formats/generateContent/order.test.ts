/** H4: the parts of an answer, with their signatures, go back to Google in the order in which they were said. */
import { expect, test } from "bun:test"
import * as fc from "effect/FastCheck"
import type { JsonObject } from "../../../src/domain/json/json.ts"
import { partsInOrder } from "../../../src/formats/conversation.ts"
import { answered, candidateOf, encoded, gathered, sentAny, streamed, user } from "./build.ts"

const model = "gemini-3.5-flash"
const whole = (parts: ReadonlyArray<JsonObject>): JsonObject =>
  answered({ candidates: [candidateOf(parts, { finishReason: "STOP" })] }).choices[0]?.message ?? {}
const inStream = (parts: ReadonlyArray<JsonObject>): JsonObject =>
  gathered(
    streamed([
      ...parts.map((part) => ({ candidates: [candidateOf([part])] })),
      { candidates: [{ finishReason: "STOP", index: 0 }] },
    ]),
  )
const back = (message: JsonObject) => {
  const { body, dropped } = encoded({ messages: [user("x"), message, user("y")] }, { model })
  // biome-ignore lint/suspicious/noExplicitAny: a wrong shape fails the test.
  return { parts: (body as any).contents[1].parts, dropped }
}

const letters = fc.string({ unit: "grapheme-ascii", minLength: 1, maxLength: 8 })
const signature = letters.map((name) => ({ thoughtSignature: name }))
const signed = fc.option(signature, { nil: {} })
/** The first call is signed, as Gemini 3 does: else we mark it. */
const part = fc.oneof(
  fc.tuple(letters, signature).map(([text, mark]) => ({ text, thought: true, ...mark })),
  fc.tuple(letters, signature).map(([text, mark]) => ({ text, ...mark })),
  fc.tuple(letters, signature).map(([name, mark]) => ({ functionCall: { name, args: {} }, ...mark })),
)
const answers = fc
  .array(
    fc.oneof({ arbitrary: part, weight: 4 }, { arbitrary: signed.map((mark) => ({ ...mark, call: true })), weight: 1 }),
    {
      minLength: 1,
      maxLength: 8,
    },
  )
  .map((parts) =>
    parts.map((each: JsonObject, at): JsonObject => {
      if (each["call"] === true)
        return { functionCall: { id: `c${at}`, name: "f", args: {} }, thoughtSignature: `s${at}` }
      const called = each["functionCall"]
      return called === undefined ? each : { ...each, functionCall: { ...Object(called), id: `c${at}` } }
    }),
  )

test.each([
  ["whole", whole],
  ["streamed", inStream],
])("any order of thoughts, texts and calls, %s", (_, read) => {
  fc.assert(
    fc.property(answers, (parts) => {
      expect(back(read(parts))).toEqual({ parts, dropped: [] })
    }),
    { numRuns: 500 },
  )
})

test("thought, call, thought, call: it is in order for hosts of other formats too", () => {
  const parts = [
    { text: "A", thought: true },
    { functionCall: { id: "1", name: "f", args: {} }, thoughtSignature: "s1" },
    { text: "B", thought: true },
    { text: "Then" },
    { functionCall: { id: "2", name: "f", args: {} }, thoughtSignature: "s2" },
  ]
  for (const message of [whole(parts), inStream(parts)]) {
    const { isInOrder, parts: said } = partsInOrder(message)
    expect([isInOrder, said.map(({ type }) => type)]).toEqual([
      true,
      ["reasoning", "call", "reasoning", "content", "call"],
    ])
  }
})

test("the usual order has no entry, whatever is signed", () => {
  const parts = [
    { text: "A", thought: true },
    { text: "Hi", thoughtSignature: "s0" },
    { functionCall: { id: "1", name: "f", args: {} }, thoughtSignature: "s1" },
  ]
  const details = whole(parts)["reasoning_details"] as ReadonlyArray<JsonObject>
  expect(details.map(({ index }) => index)).toEqual([0, 0, 0])
  expect(whole(parts.slice(1))["reasoning_details"]).toHaveLength(2)
})

test("an order that a caller has lost is named", () => {
  const details = [{ type: "reasoning.text", text: "B", format: "google-gemini-v1", index: 3 }]
  expect(back({ role: "assistant", content: "Hi", reasoning_details: details }).dropped).toEqual(["order"])
  expect(sentAny({ messages: [user("x")] }).contents).toHaveLength(1)
})
