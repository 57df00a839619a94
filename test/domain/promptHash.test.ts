import { describe, expect, test } from "bun:test"
import * as fc from "effect/FastCheck"
import type { Message, Tool } from "../../src/domain/request/chat.ts"
import { hashText, openingHash, prefixesOf } from "../../src/domain/routing/promptHash.ts"

const seed = 7n
const whole = (messages: ReadonlyArray<Message>, tools: ReadonlyArray<Tool> = []) =>
  prefixesOf({ messages, tools }, seed).at(-1)

const user = (content: string): Message => ({ role: "user", content })
const system = (content: string): Message => ({ role: "system", content })
const assistant = (content: string): Message => ({ role: "assistant", content })

const content = fc.oneof(
  fc.string(),
  fc.array(fc.record({ type: fc.constant("text" as const), text: fc.string() }), { maxLength: 3 }),
)
const asking: fc.Arbitrary<Message> = fc.oneof(
  content.map((said): Message => ({ role: "user", content: said })),
  fc.record({ role: fc.constant("tool" as const), content: fc.string(), tool_call_id: fc.string() }),
)
const answering: fc.Arbitrary<Message> = fc.oneof(
  fc.string().map(assistant),
  fc.string().map(
    (text): Message => ({
      role: "assistant",
      tool_calls: [{ id: "1", type: "function", function: { name: "f", arguments: text } }],
    }),
  ),
)

test("the prompt of each turn is a prefix of the next one's", () => {
  const turns = fc.array(fc.tuple(asking, answering), { minLength: 1, maxLength: 8 })
  fc.assert(
    fc.property(fc.array(fc.string().map(system), { maxLength: 2 }), turns, asking, (instructions, before, last) => {
      const messages: Array<Message> = [...instructions]
      const prompts: Array<bigint | undefined> = []
      for (const [question, answer] of before) {
        messages.push(question)
        prompts.push(whole(messages)?.hash)
        messages.push(answer)
      }
      const found = prefixesOf({ messages: [...messages, last] }, seed)
      for (const prompt of prompts) expect(found.some(({ hash }) => hash === prompt)).toBe(true)
      expect(found.map(({ bytes }) => bytes)).toEqual(found.map(({ bytes }) => bytes).toSorted((a, b) => a - b))
    }),
  )
})

describe("the same prompt, written in another way, has the same hash:", () => {
  const text = { type: "text" as const, text: "hi" }
  test.each<readonly [string, Message]>([
    ["a single part", { role: "user", content: [text] }],
    ["a part with a mark", { role: "user", content: [{ ...text, cache_control: { type: "ephemeral" } }] }],
    ["a message with a mark", { ...user("hi"), cache_control: { type: "ephemeral" } }],
  ])("%s", (_name, message) => {
    expect(whole([message])).toEqual(whole([user("hi")]))
  })
})

describe("another hash has", () => {
  const call = (name: string, text: string): Message => ({
    role: "assistant",
    tool_calls: [{ id: "1", type: "function", function: { name, arguments: text } }],
  })
  test.each<readonly [string, ReadonlyArray<Message>, ReadonlyArray<Message>]>([
    ["another text", [user("hi")], [user("ho")]],
    ["another role", [user("hi")], [system("hi")]],
    ["texts that are divided otherwise", [user("ab"), user("c")], [user("a"), user("bc")]],
    ["another order", [user("a"), user("b")], [user("b"), user("a")]],
    ["another call", [call("f", "{}")], [call("g", "{}")]],
    ["other arguments", [call("f", "{}")], [call("f", "[]")]],
    ["a long text that ends otherwise", [user("x".repeat(99_999))], [user(`${"x".repeat(99_998)}y`)]],
    ["a longer text", [user("x".repeat(99_999))], [user("x".repeat(99_998))]],
    [
      "another image",
      [{ role: "user", content: [{ type: "image_url", image_url: { url: "https://a" } }] }],
      [{ role: "user", content: [{ type: "image_url", image_url: { url: "https://b" } }] }],
    ],
  ])("%s", (_name, one, other) => {
    expect(whole(one)?.hash).not.toBe(whole(other)?.hash)
  })

  test("a prompt with other tools", () => {
    const tools = (name: string): ReadonlyArray<Tool> => [{ type: "function", function: { name } }]
    expect(whole([user("hi")], tools("f"))?.hash).not.toBe(whole([user("hi")], tools("g"))?.hash)
  })

  test("the same text with another seed, in every bit of it", () => {
    const hashes = Array.from({ length: 64 }, (_, bit) => hashText("hi", 2n ** BigInt(bit)))
    expect(new Set(hashes).size).toBe(64)
  })
})

test("bytes are those of text, tool calls and tools", () => {
  const image = { type: "image_url" as const, image_url: { url: "data:image/png;base64,AAAA" } }
  const messages: ReadonlyArray<Message> = [
    system("äé"),
    { role: "user", content: [{ type: "text", text: "abc" }, image] },
    { role: "assistant", tool_calls: [{ id: "1", type: "function", function: { name: "f", arguments: "{}" } }] },
    { role: "tool", content: "done", tool_call_id: "1" },
  ]
  expect(prefixesOf({ messages }, seed).map(({ bytes }) => bytes)).toEqual([4, 7, 14])
})

describe("the opening", () => {
  test("is the first instruction and the first other message, wherever they stand", () => {
    const opening = openingHash([system("s"), user("u")], seed)
    expect(openingHash([system("s"), user("u"), assistant("a"), user("v")], seed)).toBe(opening)
    expect(openingHash([user("u"), system("s")], seed)).toBe(opening)
    expect(openingHash([system("s"), system("t"), user("u")], seed)).toBe(opening)
    expect(openingHash([system("s"), user("v")], seed)).not.toBe(opening)
    expect(openingHash([user("u")], seed)).not.toBe(opening)
  })
})
