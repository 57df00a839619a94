/** A rough check of the shape of Anthropic's requests. Recorded requests must pass it, and so must the gateway's. */
import { describe, expect, test } from "bun:test"
import * as Arbitrary from "effect/FastCheck"
import { isJsonObject } from "../../../src/domain/json/json.ts"
import { recordings } from "../../support/recordings/recordings.ts"
import { sent, tool, user } from "./build.ts"

const answered = recordings("anthropic-messages").filter(({ response }) => response.status === 200)

/** The first part that does not have the shape of Anthropic's recorded requests, or `undefined`. */
const misfit = (body: unknown): string | undefined => {
  if (!isJsonObject(body)) return "no object"
  const { model, max_tokens: most, messages, tools, tool_choice: choice, thinking } = body
  if (typeof model !== "string" || typeof most !== "number" || most < 1) return "model or max_tokens"
  if (!Array.isArray(messages) || messages.length === 0) return "messages"
  for (const { role, content } of messages) {
    if (role !== "user" && role !== "assistant") return `role ${role}`
    if (typeof content === "string") continue
    if (!Array.isArray(content) || content.length === 0) return "content"
    for (const block of content) {
      if (block.type === "text" && (typeof block.text !== "string" || block.text.trim() === "")) return "blank text"
      if (block.type === "tool_use" && !(isJsonObject(block.input) && /^[\w-]+$/.test(block.id))) return "tool_use"
      if (block.type === "tool_result" && !/^[\w-]+$/.test(block.tool_use_id)) return "tool_result"
      if (/^(image|document)$/.test(block.type) && !isJsonObject(block.source)) return block.type
      if (block.type === "thinking" && typeof block.signature !== "string") return "thinking"
    }
  }
  for (const declared of Array.isArray(tools) ? tools : []) {
    if (typeof declared.name !== "string" || declared.function !== undefined) return "tool"
    if (declared.type === undefined && declared.input_schema?.type !== "object") return "input_schema"
  }
  if (choice !== undefined && !(isJsonObject(choice) && /^(auto|any|tool|none)$/.test(String(choice["type"]))))
    return "choice"
  if (isJsonObject(thinking) && thinking["type"] === "enabled") {
    const budget = Number(thinking["budget_tokens"])
    if (budget < 1024 || budget >= most) return "budget"
    if (body["temperature"] !== undefined && body["temperature"] !== 1) return "temperature while thinking"
  }
  return undefined
}

describe("what is sent has the shape that Anthropic takes", () => {
  for (const { id, request } of answered) {
    if (request !== null) test(`so has ${id}`, () => expect(misfit(request.body)).toBeUndefined())
  }

  test("for any conversation", () => {
    const text = Arbitrary.oneof(Arbitrary.string(), Arbitrary.constantFrom("", " ", "hello"))
    const calls = Arbitrary.array(
      Arbitrary.record({
        id: text,
        type: Arbitrary.constant("function"),
        function: Arbitrary.record({ name: text, arguments: Arbitrary.oneof(text, Arbitrary.json()) }),
      }),
      { maxLength: 2 },
    ).map((made) => made.map((one) => ({ ...one, id: `x${one.id}` })))
    const message = Arbitrary.oneof(
      Arbitrary.record({ role: Arbitrary.constantFrom("user", "system", "developer"), content: text }),
      Arbitrary.record({ role: Arbitrary.constant("assistant"), content: Arbitrary.option(text), tool_calls: calls }),
      Arbitrary.record({ role: Arbitrary.constant("tool"), tool_call_id: text.map((id) => `x${id}`), content: text }),
    )
    const body = Arbitrary.record({
      messages: Arbitrary.array(message),
      reasoning: Arbitrary.record({ effort: Arbitrary.constantFrom("low", "high", "none", null) }),
      temperature: Arbitrary.option(Arbitrary.double({ min: 0, max: 2, noNaN: true })),
      tool_choice: Arbitrary.constantFrom("auto", "required", "none", null),
      tools: Arbitrary.array(Arbitrary.constantFrom(tool)),
    })
    Arbitrary.assert(
      Arbitrary.property(body, Arbitrary.integer({ min: 1, max: 9000 }), (made, maxTokens) => {
        const messages = [user("x"), ...made.messages]
        expect(misfit(sent({ ...made, messages }, { maxTokens }))).toBeUndefined()
      }),
      { numRuns: 300 },
    )
  })
})
