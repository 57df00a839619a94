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

const marked = (block: JsonObject, ttl: "5m" | "1h") => ({ ...block, cache_control: { type: "ephemeral", ttl } })

/** What an agent sends at one of its turns: the conversation so far, with a reminder for each turn. */
const turnOf = (turns: number): JsonObject => ({
  model: "acme/small",
  max_tokens: 64,
  system: [text(attribution(turns)), marked(text("Be brief."), "1h")],
  tools: [tool],
  messages: [
    { role: "user", content: "Go" },
    ...Array.from({ length: turns }, (_, at) => said(at, at === turns - 1)).flat(),
  ],
})

const said = (at: number, isLast: boolean): ReadonlyArray<JsonObject> => [
  { role: "assistant", content: [text("Reading."), { type: "tool_use", id: `call_${at}`, name: "Read", input: {} }] },
  { role: "user", content: [{ type: "tool_result", tool_use_id: `call_${at}`, content: `File ${at}` }] },
  // The agent moves its mark to the end of the conversation.
  { role: "system", content: isLast ? [marked(text(`${at} tokens are left.`), "5m")] : `${at} tokens are left.` },
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

/** Marks are no part of a prompt, and a single text is the same to a host in either form. */
const withoutMarks = (value: unknown): unknown => {
  if (Array.isArray(value)) {
    const items = value.filter((item) => item?.cachePoint === undefined)
    return items.length === 1 && typeof items[0]?.text === "string" ? items[0].text : items.map(withoutMarks)
  }
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

describe("system messages within a conversation", () => {
  const reminder = { role: "system", content: "Hurry." }
  const asText = { type: "text", text: "<system-reminder>\nHurry.\n</system-reminder>" }
  const [user, answer] = [
    { role: "user", content: "Go" },
    { role: "assistant", content: "Yes" },
  ]
  const rolesOf = (name: string, said: ReadonlyArray<JsonObject>, model = opus) => {
    const [protocol] = hosts[name] ?? []
    if (protocol === undefined) throw new Error(name)
    const request = decoded({ model: "acme/small", max_tokens: 64, messages: said })
    const { body } = Either.getOrThrow(protocol.encode(request, hostFor(model)))
    const { messages: written } = JSON.parse(String(body))
    return written.map(({ role }: JsonObject) => role)
  }

  test.each<[string, ReadonlyArray<JsonObject>, ReadonlyArray<string>]>([
    ["at the end, behind the user's", [user, reminder], ["user", "system"]],
    ["before an answer", [user, reminder, answer, user], ["user", "system", "assistant", "user"]],
    ["several are one", [user, reminder, reminder], ["user", "system"]],
    ["behind an answer", [user, answer, reminder], ["user", "assistant", "user"]],
    ["before the user's", [user, reminder, user], ["user"]],
    ["between answer and user", [user, answer, reminder, user], ["user", "assistant", "user"]],
  ])("%s: as Claude takes them", (_, said, roles) => expect(rolesOf("Anthropic", said)).toEqual([...roles]))

  test.each([
    ["Anthropic", "claude-opus-5"],
    ["Anthropic", "claude-sonnet-5-5-20261001"],
    ["Claude on Vertex", "claude-fable-5-1@20261001"],
    ["Claude by InvokeModel", "eu.anthropic.claude-mythos-5-v1:0"],
  ])("%s: %s takes them", (name, model) => expect(rolesOf(name, [user, reminder], model)).toEqual(["user", "system"]))

  test.each([
    ["Anthropic", "claude-opus-4-7"],
    ["Anthropic", "claude-sonnet-5-20260901"],
    ["Anthropic", "claude-haiku-4-5-20251001"],
    ["Foundry", opus],
    ["Claude by Converse", bedrockOpus],
  ])("%s: %s gets a text of the user's", (name, model) => {
    const said = [{ role: "user", content: [{ type: "text", text: "Go" }] }, reminder]
    const [protocol] = hosts[name] ?? [messagesProtocol()]
    const request = decoded({ model: "acme/small", max_tokens: 64, messages: said })
    for (const { body } of [
      Either.getOrThrow(protocol.encode(request, hostFor(model))),
      ...(request.native === undefined || protocol.native?.form !== request.native.form
        ? []
        : [Either.getOrThrow(protocol.native.encode(request, request.native, hostFor(model)))]),
    ]) {
      const texts = JSON.parse(String(body)).messages.flatMap(({ role, content }: JsonObject) =>
        [content].flat().map((block) => [role, Object(block).text]),
      )
      expect(texts).toEqual([
        ["user", "Go"],
        ["user", asText.text],
      ])
    }
  })

  test("marks of the cache stay in their order", () => {
    const body = {
      ...turnOf(0),
      messages: [
        { role: "user", content: [marked(text("Go"), "1h")] },
        answer,
        user,
        { role: "system", content: [marked(text("Hurry."), "5m")] },
      ],
    }
    for (const name of ["Anthropic", "Claude on Vertex", "Claude by InvokeModel", "Claude by Converse"]) {
      const ttls = JSON.stringify(bodyFor(name, body)).match(/"ttl":"1h"|"cachePoint":\{"type":"default"\}|"ttl":"5m"/g)
      expect([name, ttls?.map((ttl) => ttl.includes("1h"))]).toEqual([name, [true, true, false]])
    }
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
