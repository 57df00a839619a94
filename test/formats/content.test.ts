/** The readers that authors of protocols are given. */
import { describe, expect, test } from "bun:test"
import type { Content, Message } from "../../src/domain/request/chat.ts"
import {
  argumentsObject,
  base64Of,
  calledNames,
  partsOf,
  readDataUrl,
  textOf,
  textOfDataUrl,
} from "../../src/formats/content.ts"
import { effortFor, reasoningWish, tokensFor } from "../../src/formats/effort.ts"

const text = (value: string) => ({ type: "text" as const, text: value })
const image = { type: "image_url" as const, image_url: { url: "https://example.com/a.png" } }

describe("content", () => {
  test.each<[Content | null | undefined, string, number]>([
    [undefined, "", 0],
    [null, "", 0],
    ["", "", 0],
    ["a", "a", 1],
    [[], "", 0],
    [[text("a "), image, text("b")], "a b", 3],
    [[{ type: "refusal", refusal: "no" }], "", 1],
  ])("%j has the text %p and %d parts", (content, expected, parts) => {
    expect(textOf(content)).toBe(expected)
    expect(partsOf(content)).toHaveLength(parts)
  })
})

describe("data URLs", () => {
  test.each<[string, string, string, string]>([
    ["data:image/png;base64,aMOp", "image/png", "aMOp", "hé"],
    ["DATA:Text/Plain;charset=utf-8,h%C3%A9", "text/plain", "aMOp", "hé"],
    ["data:,a,b", "", "YSxi", "a,b"],
    ["data:text/plain,100%", "text/plain", "MTAwJQ==", "100%"],
  ])("%s", (url, mediaType, base64, decoded) => {
    const read = readDataUrl(url)
    if (read === undefined) throw new Error("not read")
    expect([read.mediaType, base64Of(read), textOfDataUrl(read)]).toEqual([mediaType, base64, decoded])
  })

  test.each([["https://example.com"], ["data:image/png;base64"], ["AAAA"], [""]])("%p is none", (url) =>
    expect(readDataUrl(url)).toBeUndefined(),
  )
})

describe("tool calls", () => {
  test.each<[unknown, object]>([
    ['{"a":1}', { a: 1 }],
    ["", {}],
    [" \n", {}],
    [undefined, {}],
    [{ a: 1 }, { a: 1 }],
    ["[1]", { arguments: [1] }],
    ["7", { arguments: 7 }],
    [`{"a":${"[".repeat(64)}${"]".repeat(64)}}`, { arguments: `{"a":${"[".repeat(64)}${"]".repeat(64)}}` }],
    ['{"cut', { arguments: '{"cut' }],
  ])("arguments written as %j are %j", (written, object) => {
    // Other hosts' answers come back with arguments that are no text at all.
    expect(argumentsObject({ function: { name: "f", arguments: written as string } })).toEqual({ ...object })
  })

  test("the names of what was called, by id, whatever else is in the conversation", () => {
    const call = (id: string, name: string) => ({ id, type: "function", function: { name, arguments: "{}" } })
    const messages: ReadonlyArray<Message> = [
      { role: "user", content: "x" },
      { role: "assistant", content: null, tool_calls: [call("a", "f"), { type: "custom", id: "c" }, call("b", "g")] },
      { role: "tool", tool_call_id: "a", content: "1" },
      { role: "assistant", content: "y", tool_calls: null },
    ]
    expect([...calledNames(messages)]).toEqual([
      ["a", "f"],
      ["b", "g"],
    ])
  })
})

describe("reasoning", () => {
  const none = { effort: undefined, maxTokens: undefined, enabled: undefined, exclude: false, written: {} }
  test.each<[object, unknown]>([
    [{}, undefined],
    [{ exclude: true }, undefined],
    [{ effort: "none" }, "off"],
    [{ enabled: false }, "off"],
    [{ enabled: true }, { effort: "medium" }],
    [{ effort: "low", enabled: true }, { effort: "low" }],
    [{ maxTokens: 500, enabled: true }, { tokens: 500 }],
    [{ maxTokens: 0 }, { tokens: 0 }],
  ])("%j is the wish %j", (members, wish) => expect<unknown>(reasoningWish({ ...none, ...members })).toEqual(wish))

  test("an effort is a share of the output, and the nearest of those that a host knows stands for a number", () => {
    expect([tokensFor("none", 1000), tokensFor("low", 1000), tokensFor("max", 1000)]).toEqual([0, 200, 950])
    expect([effortFor(480, 1000), effortFor(99_000, 1000), effortFor(0, 1000)]).toEqual(["medium", "xhigh", "minimal"])
    expect(effortFor(100, 1000, ["low", "high"])).toBe("low")
    expect(effortFor(650, 1000, ["medium", "high"])).toBe("medium")
  })
})
