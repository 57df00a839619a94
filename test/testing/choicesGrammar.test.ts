/** The checkers of streams in the chat and the completions form accept what the gateway writes, and refuse what breaks it. */
import { describe, expect, test } from "bun:test"
import type { JsonObject } from "../../src/domain/json/json.ts"
import { readChatStream } from "../../src/testing/grammar/chat.ts"
import { readCompletionsStream } from "../../src/testing/grammar/completions.ts"

const names = { id: "gen-1", provider: "Acme", model: "acme/small", created: 1 }
const usage = { prompt_tokens: 1, completion_tokens: 2, total_tokens: 3, cost: 0.1 }
const failure = { code: 502, message: "It broke.", metadata: { error_type: "provider_unavailable" } }

interface Written {
  readonly chunk: (said: string, choice?: JsonObject, more?: JsonObject) => JsonObject
  readonly read: (text: string) => ReadonlyArray<JsonObject>
}

const common = { index: 0, finish_reason: null, native_finish_reason: null, logprobs: null }

const forms: Readonly<Record<string, Written>> = {
  chat: {
    read: readChatStream,
    chunk: (content, choice, more) => ({
      ...names,
      object: "chat.completion.chunk",
      choices: [{ ...common, delta: { role: "assistant", content }, ...choice }],
      ...more,
    }),
  },
  completions: {
    read: readCompletionsStream,
    chunk: (text, choice, more) => ({
      ...names,
      object: "text_completion",
      choices: [{ ...common, text, ...choice }],
      ...more,
    }),
  },
}

const line = (data: unknown): string => `data: ${JSON.stringify(data)}\n\n`
const textOf = (chunks: ReadonlyArray<unknown>): string => `${chunks.map(line).join("")}data: [DONE]\n\n`

describe.each(Object.entries(forms))("a stream in the %s form", (form, { read, chunk }) => {
  const first = chunk("a")
  const finish = chunk("", { finish_reason: "stop", native_finish_reason: "stop" }, { usage, service_tier: "default" })
  const error = chunk("", { finish_reason: "error" }, { error: failure, usage })

  test.each<[string, string]>([
    ["text and its end", textOf([first, chunk("b"), finish])],
    ["an end alone", textOf([finish])],
    [
      "two choices",
      textOf([chunk("b", { index: 1 }), { ...finish, choices: [0, 1].map((index) => ends(finish, index)) }]),
    ],
    ["comments", `: waiting\n\n${textOf([first, finish])}`],
    ["an error after text", textOf([first, chunk("b", { index: 1 }), error])],
    ["an error alone", textOf([error])],
  ])("may have %s", (_name, text) => {
    expect(read(text).length).toBeGreaterThan(0)
  })

  const whole = textOf([first, finish])

  test.each<[string, string]>([
    ["no end", line(first)],
    ["no [DONE]", line(first) + line(finish)],
    ["something after [DONE]", `${whole}: x\n\n`],
    ["no blank line at its end", whole.slice(0, -1)],
    ["a carriage return", whole.replace("\n", "\r\n")],
    ["an event of two lines", whole.replace("\n\n", "\ndata: {}\n\n")],
    ["an event with a name", `event: message\n${whole}`],
    ["no JSON", `data: {\n\n${whole}`],
    ["no object", `data: 1\n\n${whole}`],
    ["no usage", textOf([first])],
    ["two ends", textOf([first, finish, finish])],
    ["text after its end", textOf([finish, first])],
    ["text after an error", textOf([error, first])],
    ["an error without usage", textOf([{ ...error, usage: undefined }])],
    ["an error with a code that is a text", textOf([{ ...error, error: { ...failure, code: "502" } }])],
    ["an error without its type", textOf([{ ...error, error: { ...failure, metadata: {} } }])],
    ["an error that says stop", textOf([{ ...error, choices: finish["choices"] }])],
    ["a finish before the last chunk", textOf([chunk("a", { finish_reason: "stop" }), finish])],
    ["a finish without a reason", textOf([{ ...first, usage }])],
    ["a choice without an end", textOf([first, chunk("b", { index: 1 }), finish])],
    ["a gap between its choices", textOf([{ ...finish, choices: [ends(finish, 0), ends(finish, 2)] }])],
    ["a choice twice", textOf([{ ...finish, choices: [ends(finish, 0), ends(finish, 0)] }])],
    ["no choice in a chunk", textOf([{ ...first, choices: [] }, finish])],
    ["another id", textOf([first, { ...finish, id: "gen-2" }])],
    ["another model", textOf([first, { ...finish, model: "acme/other" }])],
    ["another provider", textOf([first, { ...finish, provider: undefined }])],
    ["another object", textOf([{ ...finish, object: "x" }])],
    ["a fingerprint that is null", textOf([first, { ...finish, system_fingerprint: null }])],
    ["a usage without cost", textOf([first, { ...finish, usage: { ...usage, cost: undefined } }])],
    ["a sum that is wrong", textOf([first, { ...finish, usage: { ...usage, total_tokens: 4 } }])],
    ["a choice without an index", textOf([chunk("a", { index: undefined }), finish])],
    ["no text", textOf([chunk("a", { delta: {}, text: undefined }), finish])],
  ])("may not have %s", (_name, text) => {
    expect(() => read(text)).toThrow(`A stream in the ${form} form has`)
  })
})

const ends = ({ choices }: JsonObject, index: number) => ({ ...Object(Array.isArray(choices) && choices[0]), index })

describe("tool calls of a stream in the chat form", () => {
  const { chunk } = forms["chat"] ?? {}
  const called = (...calls: ReadonlyArray<JsonObject>) =>
    chunk?.("", { delta: { role: "assistant", content: "", tool_calls: calls } })
  const begin = (index: number) => ({
    index,
    id: `call_${index}`,
    type: "function",
    function: { name: "f", arguments: "" },
  })
  const finish = chunk?.("", { finish_reason: "tool_calls", native_finish_reason: "tool_calls" }, { usage })
  const more = { index: 0, function: { arguments: "{}" } }

  test("begin once, in order, and go on in any", () => {
    const text = textOf([called(begin(0)), called(begin(1), more), called(more), finish])
    expect(readChatStream(text)).toHaveLength(4)
  })

  test.each<[string, JsonObject]>([
    ["a gap", begin(1)],
    ["no name", { ...begin(0), function: {} }],
    ["no id", { ...begin(0), id: undefined }],
    ["no type", { ...begin(0), type: undefined }],
    ["arguments that are no text", { ...begin(0), function: { name: "f", arguments: {} } }],
  ])("may not have %s", (_name, call) => {
    expect(() => readChatStream(textOf([called(call), finish]))).toThrow("A stream in the chat form has")
  })
})
