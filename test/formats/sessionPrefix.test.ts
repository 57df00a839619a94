/**
 * Each request of an agent's session is the beginning of the next one at every host, so that the host finds it in its
 * cache.
 */
import { describe, expect, test } from "bun:test"
import * as Either from "effect/Either"
import { converse } from "../../plugins/providers/bedrock/converse.ts"
import { messages as invokeModel } from "../../plugins/providers/bedrock/messages.ts"
import { chat as cohere } from "../../plugins/providers/cohere/chat.ts"
import { vertexProtocol } from "../../plugins/providers/google-vertex/publishers.ts"
import { chat as ollama } from "../../plugins/providers/ollama/provider.ts"
import { isJsonObject, type JsonObject } from "../../src/domain/json/json.ts"
import type { ChatRequest } from "../../src/domain/request/request.ts"
import { openingHash, prefixesOf } from "../../src/domain/routing/promptHash.ts"
import { chatProtocol } from "../../src/formats/chat/chatHost.ts"
import { decodeChat } from "../../src/formats/chat/chatRequest.ts"
import { generateContentProtocol } from "../../src/formats/generateContent/generateContentHost.ts"
import { messagesProtocol } from "../../src/formats/messages/messagesHost.ts"
import { decodeMessages } from "../../src/formats/messages/messagesRequest.ts"
import type { Encoded, Protocol } from "../../src/formats/Protocol.ts"
import { responsesProtocol } from "../../src/formats/responses/responsesHost.ts"
import { hostFor } from "../support/recordings/recordings.ts"

const opus = "claude-opus-4-8"
const bedrockOpus = "anthropic.claude-opus-4-8-v1:0"

/** Hosts by the words in which they are asked, with the name of a model there. */
const hosts: Readonly<Record<string, readonly [protocol: Protocol, model: string]>> = {
  chat: [chatProtocol({}), "m"],
  "chat with system messages anywhere": [chatProtocol({ instructions: "system" }), "m"],
  Responses: [responsesProtocol(), "m"],
  Gemini: [generateContentProtocol(), "gemini-3.5-flash"],
  Cohere: [cohere, "command-a-03-2025"],
  Ollama: [ollama({ contextTokens: undefined }), "llama3.2"],
  Anthropic: [messagesProtocol({ cloud: "anthropic" }), opus],
  Foundry: [messagesProtocol({ cloud: "foundry" }), opus],
  "another server of the Messages format": [messagesProtocol(), "m"],
  "Claude on Vertex": [vertexProtocol, "claude-opus-4-8@20260528"],
  "Claude by InvokeModel": [invokeModel, bedrockOpus],
  "Claude by Converse": [converse, bedrockOpus],
  "Nova by Converse": [converse, "amazon.nova-pro-v1:0"],
}
const names = Object.keys(hosts)

const attribution = (cch: number) => `x-anthropic-billing-header: cc_version=2.1.153; cc_entrypoint=cli; cch=${cch};`
const text = (said: string) => ({ type: "text", text: said })

const tool = { name: "Read", description: "Reads a file", input_schema: { type: "object", properties: {} } }

/** What an agent sends at one of its turns: the conversation so far. */
const turnOf = (turns: number): JsonObject => ({
  model: "acme/small",
  max_tokens: 64,
  system: [text(attribution(turns)), { ...text("Be brief."), cache_control: { type: "ephemeral", ttl: "1h" } }],
  tools: [tool],
  messages: [{ role: "user", content: "Go" }, ...Array.from({ length: turns }, (_, at) => said(at)).flat()],
})

const said = (at: number): ReadonlyArray<JsonObject> => [
  { role: "assistant", content: [text("Reading."), { type: "tool_use", id: `call_${at}`, name: "Read", input: {} }] },
  { role: "user", content: [{ type: "tool_result", tool_use_id: `call_${at}`, content: `File ${at}` }] },
]

const decoded = (body: JsonObject): ChatRequest => Either.getOrThrow(decodeMessages(body, new Headers()))

const encodedFor = (name: string, request: ChatRequest): Encoded => {
  const [protocol, model] = hosts[name] ?? [chatProtocol({}), "m"]
  const { native } = request
  const host = hostFor(model)
  return Either.getOrThrow(
    native !== undefined && protocol.native?.form === native.form
      ? protocol.native.encode(request, native, host)
      : protocol.encode(request, host),
  )
}

const bodyFor = (name: string, body: JsonObject): JsonObject => JSON.parse(String(encodedFor(name, decoded(body)).body))

const withoutMarks = (value: unknown): unknown => {
  if (Array.isArray(value)) return value.filter((item) => item?.cachePoint === undefined).map(withoutMarks)
  if (!isJsonObject(value)) return value
  return Object.fromEntries(
    Object.entries(value)
      .filter(([name]) => name !== "cache_control")
      .map(([name, inner]) => [name, withoutMarks(inner)]),
  )
}

/** The prompt as hosts read it: what stands before the conversation, then message by message. */
const promptOf = (body: JsonObject): ReadonlyArray<string> => {
  const { messages: said, input, contents, ...others } = body
  const conversation = said ?? input ?? contents
  if (!Array.isArray(conversation)) throw new Error("no conversation")
  return [others, ...conversation].map((part) => JSON.stringify(withoutMarks(part)))
}

describe("an agent's session", () => {
  test.each(names.filter((name) => name !== "Anthropic"))("%s: each request begins like the one before", (name) => {
    for (const turns of [1, 2, 3]) {
      const before = promptOf(bodyFor(name, turnOf(turns - 1)))
      expect(promptOf(bodyFor(name, turnOf(turns))).slice(0, before.length)).toEqual([...before])
    }
  })

  test("Anthropic's own hosts get Claude Code's attribution block as it came", () => {
    expect(bodyFor("Anthropic", turnOf(1))["system"]).toEqual(turnOf(1)["system"])
  })
})

describe("Claude Code's attribution block", () => {
  const line = attribution(1)
  test.each<[string, unknown, unknown]>([
    ["a block of its own", [text(line), text("Be brief.")], [text("Be brief.")]],
    ["the first line of a block", [text(`${line}\n\nBe brief.`)], [text("Be brief.")]],
    ["the first line of a text", `${line}\nBe brief.`, "Be brief."],
    ["all there is", [text(line)], undefined],
    ["a text that only quotes it", `It said: ${line}`, `It said: ${line}`],
  ])("%s does not reach another server of the format", (_, system, sent) => {
    expect(bodyFor("another server of the Messages format", { ...turnOf(0), system })["system"]).toEqual(sent)
  })

  test("is no part of the conversation's name, of its prefixes and of its tokens", () => {
    const [one, other] = [1, 20].map((cch) => decoded({ ...turnOf(0), system: `${attribution(cch)}\nBe brief.` }))
    const plain = decoded({ ...turnOf(0), system: "Be brief." })
    for (const { payload, bounds } of [one ?? plain, other ?? plain]) {
      expect(openingHash(payload.messages, 1n)).toBe(openingHash(plain.payload.messages, 1n))
      expect(prefixesOf(payload, 1n)).toEqual(prefixesOf(plain.payload, 1n))
      expect(bounds).toEqual(plain.bounds)
    }
  })

  test("is not counted beside what only hosts of the format know either", () => {
    const more = { context_management: { edits: [] } }
    const marked = decoded({ ...turnOf(0), ...more })
    expect(marked.bounds).toEqual(
      decoded({ ...turnOf(0), ...more, system: [turnOf(0)["system"]].flat().slice(1) }).bounds,
    )
  })

  test("of a chat caller does not reach a host either", () => {
    const messagesOf = (content: unknown) => {
      const messages = [
        { role: "system", content },
        { role: "user", content: "Go" },
      ]
      return Either.getOrThrow(decodeChat({ model: "acme/small", messages })).payload.messages
    }
    const plain = messagesOf("Be brief.")
    expect(messagesOf(`${line}\nBe brief.`)).toEqual(plain)
    expect(messagesOf([text(line), text("Be brief.")])[0]?.content).toEqual([{ type: "text", text: "Be brief." }])
    expect(messagesOf(line)).toEqual(plain.slice(1))
  })
})
