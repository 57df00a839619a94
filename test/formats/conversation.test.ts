/** The order of parts comes back from a chat client's history, whatever the client did to it. */
import { describe, expect, test } from "bun:test"
import * as fc from "effect/FastCheck"
import type { AssistantMessage, ReasoningDetail } from "../../src/domain/request/chat.ts"
import {
  type AssistantPart,
  isOrderEntry,
  PartOrder,
  partsInOrder,
  type Said,
  saidInOrder,
  withoutOrder,
} from "../../src/formats/conversation.ts"

const text = (said: string): AssistantPart => ({ type: "content", content: { type: "text", text: said } })
const call = (id: string): AssistantPart => ({
  type: "call",
  call: { id, type: "function", function: { name: "f", arguments: "{}" } },
})
const format = "anthropic-claude-v1"
const thought = (said: string, signature: string): AssistantPart => ({
  type: "reasoning",
  details: [{ type: "reasoning.text", text: said, signature, format }],
})
const hidden = (data: string): AssistantPart => ({
  type: "reasoning",
  details: [{ type: "reasoning.encrypted", data, format }],
})

/** Without numbers, and with texts that follow each other as one. */
const meant = (parts: ReadonlyArray<AssistantPart>): ReadonlyArray<unknown> => {
  const all: Array<unknown> = []
  let last = ""
  for (const part of parts) {
    if (part.type === "content" && part.content.type === "text") {
      if (last !== "") all.pop()
      last += part.content.text
      all.push({ text: last })
    } else {
      last = ""
      all.push(part.type === "reasoning" ? part.details.map(({ index: _, ...detail }) => detail) : part)
    }
  }
  return all
}

/** As the AI SDK's OpenRouter provider 2.10 collects a stream: all reasoning texts become one, with the first signature. */
const merged = (said: Said): Said => {
  const details = said.reasoning_details ?? []
  const texts = details.filter(({ type }) => type === "reasoning.text")
  const [first] = texts
  if (first === undefined) return said
  const one = {
    ...first,
    text: texts.map((detail) => detail.text ?? "").join(""),
    signature: texts.find((detail) => detail.signature)?.signature ?? null,
  }
  return { ...said, reasoning_details: [one, ...details.filter(({ type }) => type !== "reasoning.text")] }
}

/** As a client that keeps the fragments of a stream. */
const fragments = (said: Said): Said => ({
  ...said,
  reasoning_details: (said.reasoning_details ?? []).flatMap((detail): ReadonlyArray<ReasoningDetail> => {
    const { text: whole, signature, ...rest } = detail
    if (detail.type !== "reasoning.text" || whole == null) return [detail]
    const half = Math.floor(whole.length / 2)
    return [
      { ...rest, text: whole.slice(0, half) },
      { ...rest, text: whole.slice(half) },
      { ...rest, ...(signature == null ? {} : { signature }) },
    ]
  }),
})

const joined = (parts: ReadonlyArray<AssistantPart>): ReadonlyArray<AssistantPart> =>
  parts.map((part) => {
    if (part.type !== "reasoning" || part.details.length < 2) return part
    const [first] = part.details
    if (first?.type !== "reasoning.text") return part
    const signature = part.details.find((detail) => detail.signature)?.signature
    const { signature: _, ...rest } = first
    const whole = part.details.map((detail) => detail.text ?? "").join("")
    return { type: "reasoning", details: [{ ...rest, text: whole, ...(signature == null ? {} : { signature }) }] }
  })

const letters = fc.string({ unit: "binary", minLength: 1, maxLength: 12 })
const conversations = fc
  .array(
    fc.oneof(
      letters.map(text),
      fc.tuple(letters, letters).map(([said, by]) => thought(said, by)),
      letters.map(hidden),
      fc.constant("call" as const),
    ),
    { maxLength: 9 },
  )
  .map((parts) => parts.map((part, at) => (part === "call" ? call(`call_${at}`) : part)))

describe("any order of parts", () => {
  test("comes back as it was said, from a whole answer", () => {
    fc.assert(
      fc.property(conversations, (parts) => {
        const back = partsInOrder(saidInOrder(parts))
        expect(back.isInOrder).toBe(true)
        expect(meant(back.parts)).toEqual(meant(parts))
      }),
      { numRuns: 2000 },
    )
  })

  test("from a client that merged the reasoning, and from one that kept the fragments of a stream", () => {
    fc.assert(
      fc.property(conversations, (parts) => {
        const said = saidInOrder(parts)
        const apart = partsInOrder(fragments(said))
        expect(apart.isInOrder).toBe(true)
        expect(meant(joined(apart.parts))).toEqual(meant(parts))
        // One block needs no list, and is not merged with anything.
        if ((said.reasoning_details ?? []).length < 2) return
        const whole = partsInOrder(merged(said))
        expect(whole.isInOrder).toBe(true)
        expect(meant(whole.parts)).toEqual(meant(parts))
      }),
      { numRuns: 2000 },
    )
  })

  test("is listed the same while it is read piece by piece", () => {
    fc.assert(
      fc.property(conversations, (parts) => {
        const order = new PartOrder()
        for (const part of parts) {
          if (part.type === "content" && part.content.type === "text") {
            for (const letter of part.content.text.split("")) order.text(letter)
          } else if (part.type === "call") order.call(String(part.call.id))
          else if (part.type === "reasoning") {
            const index = order.reasoning()
            for (const detail of part.details) order.reasoned(index, detail)
          }
        }
        expect(order.entry()).toEqual((saidInOrder(parts).reasoning_details ?? []).filter(isOrderEntry))
      }),
      { numRuns: 1000 },
    )
  })
})

const kinds = (parts: ReadonlyArray<AssistantPart>): string => parts.map(({ type }) => type).join(" ")

const entryOf = (data: string): ReasoningDetail => ({
  ...{ type: "reasoning.encrypted", id: "headgate-order", format: "unknown", index: 5, data },
})

const interleaved = saidInOrder([thought("a", "s1"), text("b"), call("c1"), thought("d", "s2"), call("c2")])

describe("the list of the parts", () => {
  test("is left out where the order is reasoning, text, calls, and comes last elsewhere", () => {
    const usual = saidInOrder([thought("a", "s"), text("b"), text("c"), call("c1"), call("c2")])
    expect(usual.reasoning_details).toEqual([{ type: "reasoning.text", text: "a", signature: "s", format, index: 0 }])
    expect(usual.content).toBe("bc")
    expect(interleaved.reasoning_details?.map(({ index }) => index)).toEqual([0, 3, 5])
    expect(interleaved.reasoning_details?.at(-1)).toMatchObject({ format: "unknown" })
    expect(interleaved.reasoning_details?.at(-1)?.id).toStartWith("headgate-order-")
    expect(saidInOrder([text("a"), call("c")]).reasoning_details).toBeUndefined()
    expect(saidInOrder([text("a"), call("c"), text("b")]).reasoning_details).toHaveLength(1)
  })

  test("has an id of its own in each answer: the AI SDK gives back one piece for each id in a conversation", () => {
    const later = saidInOrder([thought("a", "s3"), call("c3"), thought("d", "s4"), call("c4")])
    const ids = [interleaved, later].map(({ reasoning_details: details }) => details?.at(-1)?.id)
    expect(new Set(ids).size).toBe(2)
    expect(saidInOrder(partsInOrder(later).parts)).toEqual(later)
  })

  test("reaches no host", () => {
    expect(withoutOrder(interleaved.reasoning_details ?? [])).toHaveLength(2)
    const all = [{ type: "reasoning.text", text: "a" }] as const
    expect(withoutOrder(all)).toBe(all)
  })

  test("that does not fit, or is missing where the numbers have a gap, leaves the usual order", () => {
    const details = interleaved.reasoning_details ?? []
    const others: ReadonlyArray<AssistantMessage> = [
      { role: "assistant", ...interleaved, reasoning_details: details.slice(0, -1) },
      { role: "assistant", ...interleaved, content: "other" },
      { role: "assistant", ...interleaved, tool_calls: interleaved.tool_calls?.slice(1) ?? [] },
      { role: "assistant", ...interleaved, reasoning_details: [...details.slice(0, -1), entryOf("[]")] },
      { role: "assistant", ...interleaved, reasoning_details: [...details.slice(0, -1), entryOf("{")] },
      { role: "assistant", ...interleaved, reasoning_details: details.slice(1) },
    ]
    for (const message of others) expect(partsInOrder(message).isInOrder).toBe(false)
    const [first] = others
    expect(kinds(partsInOrder(first ?? interleaved).parts)).toBe("reasoning reasoning content call call")
  })

  test("without it, and without a gap, the order is the usual one, and nothing is lost", () => {
    const plain: AssistantMessage = { role: "assistant", content: "b", reasoning_details: [], tool_calls: null }
    expect(partsInOrder(plain)).toEqual({ parts: [text("b")], isInOrder: true })
    const unnumbered: AssistantMessage = {
      role: "assistant",
      content: null,
      reasoning_details: [
        { type: "reasoning.text", text: "a", format },
        { type: "reasoning.text", text: "b", signature: "s", format },
        { type: "reasoning.text", text: "c", signature: "t", format },
      ],
    }
    const sizes = partsInOrder(unnumbered).parts.map((part) => (part.type === "reasoning" ? part.details.length : 0))
    expect(sizes).toEqual([2, 1])
  })
})

describe("a text with a mark of its own", () => {
  test("stays a part", () => {
    const marked: AssistantPart = {
      type: "content",
      content: { type: "text", text: "b", cache_control: { type: "ephemeral" } },
    }
    const parts = [thought("a", "s"), text("x"), marked, thought("c", "t"), text("y")]
    const { parts: back, isInOrder } = partsInOrder(saidInOrder(parts))
    expect(isInOrder).toBe(true)
    expect(meant(back.slice(1, 3))).toEqual([{ text: "xb" }])
    expect(back[2]).toEqual(marked)
    expect(kinds(back)).toBe("reasoning content content reasoning content")
  })
})

test("a block with several texts is one part, and each text has a number that no other piece has", () => {
  const summaries = (id: string, ...texts: ReadonlyArray<string>): AssistantPart => ({
    type: "reasoning",
    details: texts.map((summary, index) => ({ type: "reasoning.summary", summary, id, format, index })),
  })
  const parts = [summaries("rs_1", "a", "b", "c"), summaries("rs_2", "d"), text("e"), call("f"), summaries("rs_3", "g")]
  const said = saidInOrder(parts)
  expect(withoutOrder(said.reasoning_details ?? []).map(({ index }) => index)).toEqual([0, 1, 2, 3, 6])
  expect(meant(partsInOrder(said).parts)).toEqual([...meant(parts)])
  const { isInOrder } = partsInOrder({ ...said, reasoning_details: withoutOrder(said.reasoning_details ?? []) })
  expect(isInOrder).toBe(false)
})
