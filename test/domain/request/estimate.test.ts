/** What of a message counts as output where a host reported no usage. */
import { describe, expect, test } from "bun:test"
import { orderEntryId } from "../../../src/domain/request/chat.ts"
import { bytesSaid, showsReasoning } from "../../../src/domain/request/estimate.ts"

const thought = { type: "reasoning.text", id: null, format: "unknown", index: 0, text: "Hm." }
const order = { type: "reasoning.encrypted", id: orderEntryId, format: "unknown", index: 2, data: '[["text",3]]' }

describe("the gateway's list of parts", () => {
  const said = { content: "Yes", reasoning: "Hm.", reasoning_details: [thought] }
  const listed = { ...said, reasoning_details: [thought, order] }

  test("is no output of the model", () => {
    expect(bytesSaid(said)).toBe(6)
    expect(bytesSaid(listed)).toBe(6)
  })

  test("is not taken for encrypted reasoning", () => {
    expect(showsReasoning(listed)).toBe(true)
    expect(showsReasoning({ ...said, reasoning_details: [{ ...order, id: "rs_1" }] })).toBe(false)
  })
})
