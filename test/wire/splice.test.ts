import { describe, expect, test } from "bun:test"
import * as FastCheck from "effect/FastCheck"
import { splice } from "../../src/wire/splice.ts"
import { hostsId, plainManner, ScriptWriter, Texts } from "../support/hosts/hostScript.ts"

const hostsChunk = (text: string, manner: Partial<typeof plainManner> = {}) =>
  new ScriptWriter().chunk({ ...plainManner, ...manner }, 0, { kind: "text", text })

const oursFor = (content: string) => ({
  id: "gen-ours",
  choices: [{ index: 0, delta: { role: "assistant", content }, finish_reason: null }],
})
const ourChunk = (content: string) => JSON.stringify(oursFor(content))

const learned = (text: string, manner: Partial<typeof plainManner> = {}) => {
  const exchange = splice()
  exchange.learn(hostsChunk(text, manner), ourChunk(text), text)
  return exchange
}

/** What a chunk says, by the rules of JSON alone. */
const parsed = (json: string) => {
  try {
    return JSON.parse(json)
  } catch {
    return undefined
  }
}

const Manners = FastCheck.record({
  spaced: FastCheck.boolean(),
  ascii: FastCheck.boolean(),
  role: FastCheck.boolean(),
  finishFirst: FastCheck.boolean(),
})

describe("splice", () => {
  test("knows nothing at first", () => {
    expect(splice().exchange(hostsChunk("a"))).toBeUndefined()
  })

  test("any text in the known frame comes out in ours", () => {
    FastCheck.assert(
      FastCheck.property(Texts, Texts, Manners, (first, second, manner) => {
        const exchange = learned(first, manner)
        const out = exchange.exchange(hostsChunk(second, manner))
        expect(parsed(out ?? "")).toEqual(oursFor(second))
        expect(out).not.toMatch(/[\n\r]/)
        expect(out).not.toContain(hostsId)
        expect(exchange.bytes()).toBe(Buffer.byteLength(second))
      }),
      { numRuns: 1000 },
    )
  })

  test("whatever it exchanges is the learned chunk with another text, and nothing else", () => {
    const Damage = FastCheck.array(
      FastCheck.record({
        at: FastCheck.nat(),
        put: FastCheck.oneof(
          Texts,
          FastCheck.constantFrom("", '"', "\\", '","content":"', '"},"finish_reason":"stop', "}", "{", ","),
        ),
        drop: FastCheck.nat(3),
      }),
      { maxLength: 3 },
    )
    FastCheck.assert(
      FastCheck.property(Texts, Texts, Manners, Damage, (first, second, manner, damage) => {
        let chunk = hostsChunk(second, manner)
        for (const { at, put, drop } of damage) {
          const from = at % (chunk.length + 1)
          chunk = chunk.slice(0, from) + put + chunk.slice(from + drop)
        }
        const out = learned(first, manner).exchange(chunk)
        if (out === undefined) return
        const [choice] = parsed(chunk).choices
        const before = parsed(hostsChunk(first, manner))
        before.choices[0].delta.content = choice.delta.content
        expect(parsed(chunk)).toEqual(before)
        expect(parsed(out)).toEqual(oursFor(choice.delta.content))
      }),
      { numRuns: 2000 },
    )
  })

  test.each([
    ["another frame", hostsChunk("b", { spaced: true })],
    ["a part of it", hostsChunk("b").slice(0, -2)],
    ["more behind it", `${hostsChunk("b")} `],
    ["the frame without a text between", hostsChunk("")],
    ["a quote in the text", hostsChunk("b").replace('"b"', '"b"c"')],
    ["a text that escapes its own end", hostsChunk("b").replace('"b"', '"b\\"')],
    ["an escape that JSON does not have", hostsChunk("b").replace('"b"', '"\\x41"')],
    ["half an escape", hostsChunk("b").replace('"b"', '"\\u00"')],
    ["a raw line feed in the text", hostsChunk("b").replace('"b"', '"b\nc"')],
    ["a tab in the text", hostsChunk("b").replace('"b"', '"b\tc"')],
    ["a member smuggled in", hostsChunk("b").replace('"b"', '"b","role":"user"')],
    ["[DONE]", "[DONE]"],
    ["nothing", ""],
  ])("leaves to the parser: %s", (_, chunk) => {
    const exchange = learned("a")
    expect(exchange.exchange(hostsChunk("a"))).toBeDefined()
    expect(exchange.exchange(chunk)).toBeUndefined()
  })

  test("the last frame that was learned is the one that is known", () => {
    const exchange = learned("a")
    exchange.learn(hostsChunk("b", { spaced: true }), ourChunk("b"), "b")
    expect(exchange.exchange(hostsChunk("c"))).toBeUndefined()
    expect(parsed(exchange.exchange(hostsChunk("c", { spaced: true })) ?? "")).toEqual(oursFor("c"))
  })

  test("what cannot be told apart is not learned, and what was known stays", () => {
    const exchange = learned("a")
    exchange.learn('{"choices":[{"delta":{"reasoning":"x"}}]}', ourChunk("x"), "x")
    exchange.learn(hostsChunk("a", { role: true }), ourChunk("another text"), "a")
    expect(exchange.exchange(hostsChunk("b"))).toBe(ourChunk("b"))
  })

  test("a member of the same name before the delta is not taken for it", () => {
    const chunk = (decoy: string, text: string) =>
      `{"x":{"delta":{"content":"${decoy}"}},"choices":[{"delta":{"content":"${text}"}}]}`
    const exchange = splice()
    exchange.learn(chunk("a", "a"), ourChunk("a"), "a")
    expect(exchange.exchange(chunk("b", "a"))).toBeUndefined()
  })

  test("a text of a megabyte is exchanged like any other", () => {
    const long = "long ".repeat(200_000)
    const exchange = learned("a")
    const out = exchange.exchange(hostsChunk(long))
    expect(out?.length).toBe(ourChunk(long).length)
  })
})
