/** What each cloud that has Claude is sent of a Messages caller's request, beside its translation. */
import { describe, expect, test } from "bun:test"
import * as Either from "effect/Either"
import { converse } from "../../../plugins/providers/bedrock/converse.ts"
import { messages as invokeModel } from "../../../plugins/providers/bedrock/messages.ts"
import { vertexProtocol } from "../../../plugins/providers/google-vertex/publishers.ts"
import { isJsonObject, type JsonObject } from "../../../src/domain/json/json.ts"
import { messagesProtocol } from "../../../src/formats/messages/messagesHost.ts"
import { decodeMessages } from "../../../src/formats/messages/messagesRequest.ts"
import type { Protocol } from "../../../src/formats/Protocol.ts"
import { hostFor } from "../../support/recordings/recordings.ts"

const clouds: Readonly<Record<string, readonly [protocol: Protocol, prefix: string]>> = {
  anthropic: [messagesProtocol({ cloud: "anthropic" }), ""],
  foundry: [messagesProtocol({ cloud: "foundry" }), ""],
  other: [messagesProtocol(), ""],
  vertex: [vertexProtocol, ""],
  invokeModel: [invokeModel, "eu.anthropic."],
  converse: [converse, "eu.anthropic."],
}

const mark = (more: JsonObject = {}) => ({ cache_control: { type: "ephemeral", ...more } })
const text = (said: string, more: JsonObject = {}) => ({ type: "text", text: said, ...more })
const user = (...content: ReadonlyArray<JsonObject>) => ({ role: "user", content })

interface Sent {
  readonly body: JsonObject
  readonly headers: Readonly<Record<string, string>>
  readonly dropped: ReadonlyArray<string>
}

const sentTo = (
  cloud: string,
  body: JsonObject,
  betas = "",
  model = "claude-sonnet-4-5",
  contextLength = 200_000,
): Sent => {
  const [protocol, prefix] = clouds[cloud] ?? [messagesProtocol(), ""]
  const given = { model: "acme/small", max_tokens: 64, messages: [user(text("Hi"))], ...body }
  const request = Either.getOrThrow(decodeMessages(given, new Headers(betas === "" ? {} : { "anthropic-beta": betas })))
  const host = { ...hostFor(prefix + model), contextLength }
  const { native } = request
  const isNative = native !== undefined && protocol.native?.form === native.form
  const encoded = Either.getOrThrow(
    isNative ? protocol.native.encode(request, native, host) : protocol.encode(request, host),
  )
  const dropped = [...(encoded.dropped ?? []), ...(isNative ? [] : (native?.untranslated ?? []))]
  return { body: JSON.parse(String(encoded.body)), headers: encoded.headers ?? {}, dropped }
}

const betasOf = (cloud: string, ...given: readonly [betas: string, model?: string, contextLength?: number]) => {
  const { body, headers, dropped } = sentTo(cloud, {}, ...given)
  const { anthropic_beta: inBody, additionalModelRequestFields: fields } = body
  const inFields = isJsonObject(fields) ? fields["anthropic_beta"] : undefined
  return [inBody ?? inFields ?? headers["anthropic-beta"]?.split(",") ?? [], dropped]
}

describe("betas", () => {
  const [long, interleaved] = ["context-1m-2025-08-07", "interleaved-thinking-2025-05-14"]
  const claudeCodes = `claude-code-20250219,${interleaved},prompt-caching-scope-2026-01-05,${long}`
  const some = ["vertex", "invokeModel", "converse"]

  test.each(["anthropic", "foundry", "other"])("%s gets all that have a price", (cloud) => {
    expect(betasOf(cloud, claudeCodes, "claude-sonnet-4-5", 1_000_000)).toEqual([claudeCodes.split(","), []])
    expect(betasOf(cloud, long)).toEqual([[], ["anthropic-beta"]])
  })

  test.each(some)("%s gets those that it knows for the model, and the loss of others is named", (cloud) => {
    expect(betasOf(cloud, claudeCodes, "claude-sonnet-4-5", 1_000_000)).toEqual([
      [interleaved, long],
      ["anthropic-beta"],
    ])
    expect(betasOf(cloud, claudeCodes)).toEqual([[interleaved], ["anthropic-beta"]])
    expect(betasOf(cloud, interleaved, "claude-opus-4-20250514")).toEqual([[interleaved], []])
    // Of a later model such a request fails.
    expect(betasOf(cloud, interleaved, "claude-opus-4-6")).toEqual([[], ["anthropic-beta"]])
    expect(betasOf(cloud, interleaved, "claude-haiku-4-5")).toEqual([[], ["anthropic-beta"]])
  })

  test("Bedrock knows efforts and early input of tools, too", () => {
    const both = "effort-2025-11-24,fine-grained-tool-streaming-2025-05-14"
    expect(betasOf("invokeModel", both, "claude-opus-4-5")).toEqual([both.split(","), []])
    expect(betasOf("vertex", both, "claude-opus-4-5")).toEqual([[], ["anthropic-beta"]])
  })
})

describe("`cache_control` of the body", () => {
  const marked = mark({ ttl: "1h" })

  test.each(["anthropic", "foundry", "other"])("goes to %s", (cloud) => {
    expect(sentTo(cloud, marked).body).toMatchObject(marked)
  })

  test.each(["vertex", "invokeModel"])("is a mark on the last block at %s, which refuses it", (cloud) => {
    const { body, dropped } = sentTo(cloud, marked)
    expect([body["cache_control"], body["messages"], dropped]).toEqual([undefined, [user(text("Hi", marked))], []])
    const own = [user(text("Hi", mark()))]
    expect(sentTo(cloud, { ...marked, messages: own }).body["messages"]).toEqual(own)
  })

  test("is a mark at the end at Converse", () => {
    const { body, dropped } = sentTo("converse", marked)
    const point = { cachePoint: { type: "default", ttl: "1h" } }
    expect([body["messages"], dropped]).toEqual([[{ role: "user", content: [{ text: "Hi" }, point] }], []])
    const own = sentTo("converse", { ...marked, messages: [user(text("Hi", mark()))] })
    expect([JSON.stringify(own.body).match(/cachePoint/g)?.length, own.dropped]).toEqual([1, []])
  })

  test.each(["vertex", "invokeModel", "converse"])("is named at %s where there are four marks already", (cloud) => {
    const messages = [user(...["a", "b", "c", "d"].map((said) => text(said, mark())), text("e"))]
    const { body, dropped } = sentTo(cloud, { ...marked, messages })
    expect([JSON.stringify(body).match(/cache_control|cachePoint/g)?.length, dropped]).toEqual([4, ["cache_control"]])
  })
})

describe("the scope of a mark", () => {
  const scoped = mark({ ttl: "1h", scope: "global" })
  const tools = [{ name: "Read", input_schema: { type: "object" }, ...scoped }]
  const body = { system: [text("Be brief.", scoped)], tools }

  test("goes to Anthropic with its beta", () => {
    expect(sentTo("anthropic", body, "prompt-caching-scope-2026-01-05").body).toMatchObject(body)
  })

  test.each(["vertex", "invokeModel", "converse"])("is named at %s, and its mark stays", (cloud) => {
    const { body: sent, dropped } = sentTo(cloud, body)
    expect(JSON.stringify(sent).match(/"ttl":"1h"/g)?.length).toBe(2)
    expect(JSON.stringify(sent)).not.toContain("scope")
    expect(dropped).toEqual(["system[0].cache_control.scope", "tools[0].cache_control.scope"])
  })
})

test("a reference to a found tool is a text with its name where only all tools can be sent", () => {
  const found = { type: "tool_reference", tool_name: "mcp__files__read" }
  const results = [{ type: "tool_result", tool_use_id: "a", content: [found] }]
  const calls = [{ type: "tool_use", id: "a", name: "ToolSearch", input: {} }]
  const messages = [user(text("Hi")), { role: "assistant", content: calls }, user(...results)]
  expect(sentTo("anthropic", { messages }).body["messages"]).toEqual(messages)
  for (const cloud of ["vertex", "invokeModel", "converse"]) {
    const { body, dropped } = sentTo(cloud, { messages })
    expect([cloud, dropped]).toEqual([cloud, []])
    expect(JSON.stringify(body["messages"])).toContain('"Tool found: mcp__files__read"')
  }
})

test("half a pair of surrogates is U+FFFD at every host", () => {
  const said = ["cut \ud83d here", "whole \ud83d\ude00", "\\ud83d is an escape", "\\\ud83d", "\udc00\udc00"]
  const sent = ["cut \ufffd here", "whole \ud83d\ude00", "\\ud83d is an escape", "\\\ufffd", "\ufffd\ufffd"]
  for (const cloud of ["anthropic", "vertex", "invokeModel"]) {
    const { body } = sentTo(cloud, { messages: [user(...said.map((one) => text(one)))] })
    expect([cloud, body["messages"]]).toEqual([cloud, [user(...sent.map((one) => text(one)))]])
  }
})

describe("members", () => {
  const safeguards = [{ type: "dangerous_tool_use" }]
  const body = { safeguards, future: { a: 1 } }

  test.each<[string, JsonObject, ReadonlyArray<string>]>([
    ["anthropic", body, []],
    ["foundry", { safeguards }, ["future"]],
    ["other", {}, ["safeguards", "future"]],
  ])("%s", (cloud, sent, dropped) => {
    const { body: written, dropped: lost } = sentTo(cloud, body)
    expect(written).toEqual({ model: "claude-sonnet-4-5", max_tokens: 64, messages: [user(text("Hi"))], ...sent })
    expect(lost).toEqual([...dropped])
  })

  test.each(["vertex", "invokeModel", "converse"])("safeguards are named at %s", (cloud) => {
    const { body: written, dropped } = sentTo(cloud, { safeguards })
    expect([written["safeguards"], dropped]).toEqual([undefined, ["safeguards"]])
  })
})
