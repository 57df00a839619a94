/** Marks of the prompt cache: carried to hosts that have them, and named where they are lost. */
import { describe, expect, test } from "bun:test"
import { converse } from "../../plugins/providers/bedrock/converse.ts"
import { chat as cohere } from "../../plugins/providers/cohere/chat.ts"
import { payloadFor } from "../../plugins/providers/mistral/payload.ts"
import { chat as ollama } from "../../plugins/providers/ollama/provider.ts"
import type { JsonObject } from "../../src/domain/json/json.ts"
import { chatProtocol } from "../../src/formats/chat/chatHost.ts"
import { generateContentProtocol } from "../../src/formats/generateContent/generateContentHost.ts"
import type { Protocol } from "../../src/formats/Protocol.ts"
import { responsesProtocol } from "../../src/formats/responses/responsesHost.ts"
import { encodedBy, hostFor, requestWith } from "../support/recordings/recordings.ts"

const mark = { cache_control: { type: "ephemeral" } }
const messages: ReadonlyArray<JsonObject> = [
  { role: "system", content: [{ type: "text", text: "Be brief.", ...mark }] },
  { role: "user", content: "Go" },
  {
    role: "assistant",
    content: null,
    tool_calls: [{ id: "a", type: "function", function: { name: "f", arguments: "{}" } }],
  },
  { role: "tool", tool_call_id: "a", content: [{ type: "text", text: "Done", ...mark }] },
]

const encoded = (protocol: Protocol, model: string, said = messages) =>
  encodedBy(protocol, requestWith({ messages: said }), hostFor(model))

const withBreakpoints = responsesProtocol({ breakpoints: (model) => model === "gpt-5.6" })

describe("marks of the prompt cache", () => {
  test.each<[string, Protocol, string]>([
    ["OpenAI's chat", chatProtocol({ strict: true }), "gpt-5.6"],
    ["Mistral", chatProtocol({ rewrite: payloadFor }), "mistral-large"],
    ["Responses without breakpoints", withBreakpoints, "gpt-5.5"],
    ["Gemini", generateContentProtocol(), "gemini-3.5-flash"],
    ["Cohere", cohere, "command-a-03-2025"],
    ["Ollama", ollama({ contextTokens: undefined }), "llama3.2"],
    ["a model at Converse without them", converse, "meta.llama3-3-70b-instruct-v1:0"],
  ])("are named at %s, which lacks them", (_, protocol, model) => {
    const { text, dropped } = encoded(protocol, model)
    expect(text).not.toMatch(/cache_control|cachePoint|breakpoint/)
    expect(dropped).toEqual(["cache_control"])
    const plain = messages.map((message) => ({ ...message, content: message["role"] === "tool" ? "Done" : "Go" }))
    expect(encoded(protocol, model, plain).dropped).toEqual([])
  })

  test("are breakpoints at OpenAI's models that take them", () => {
    const { body, dropped } = encoded(withBreakpoints, "gpt-5.6")
    const breakpoint = { prompt_cache_breakpoint: { mode: "explicit" } }
    expect(body["input"]).toEqual([
      { type: "message", role: "system", content: [{ type: "input_text", text: "Be brief.", ...breakpoint }] },
      { type: "message", role: "user", content: "Go" },
      { type: "function_call", call_id: "a", name: "f", arguments: "{}" },
      { type: "function_call_output", call_id: "a", output: [{ type: "input_text", text: "Done", ...breakpoint }] },
    ])
    expect(dropped).toEqual([])
  })
})
