/** A deployment or an ARN of any name is sent what its base model is sent. */
import { expect, test } from "bun:test"
import * as Either from "effect/Either"
import { converse } from "../../plugins/providers/bedrock/converse.ts"
import { messages as invokeModel } from "../../plugins/providers/bedrock/messages.ts"
import type { Host } from "../../src/domain/hosts/Host.ts"
import type { JsonObject } from "../../src/domain/json/json.ts"
import { chatProtocol } from "../../src/formats/chat/chatHost.ts"
import { generateContentProtocol } from "../../src/formats/generateContent/generateContentHost.ts"
import { messagesProtocol } from "../../src/formats/messages/messagesHost.ts"
import { decodeMessages } from "../../src/formats/messages/messagesRequest.ts"
import { thinkingOfClaude } from "../../src/formats/messages/messagesThinking.ts"
import type { Protocol } from "../../src/formats/Protocol.ts"
import { responsesProtocol } from "../../src/formats/responses/responsesHost.ts"
import { hostFor } from "../support/recordings/recordings.ts"

const name = "team-deployment"
const mark = { cache_control: { type: "ephemeral" } }
const betas = "context-1m-2025-08-07,interleaved-thinking-2025-05-14,effort-2025-11-24"

/** Has what models differ in: later instructions, marks, betas, thinking with an effort, tools, a stop. */
const body: JsonObject = {
  ...{ model: "acme/small", max_tokens: 4000, stop_sequences: ["x"], temperature: 0.5 },
  ...{ thinking: { type: "adaptive" }, output_config: { effort: "max" } },
  tools: [{ name: "f", input_schema: { type: "object", properties: {} } }],
  messages: [
    { role: "user", content: [{ type: "text", text: "Hi", ...mark }] },
    { role: "assistant", content: [{ type: "tool_use", id: "a", name: "f", input: {} }] },
    {
      role: "user",
      content: [{ type: "tool_result", tool_use_id: "a", content: [{ type: "text", text: "1", ...mark }] }],
    },
    { role: "system", content: [{ type: "text", text: "Be brief." }] },
  ],
}

const claude = { thinking: thinkingOfClaude }
const quirks = {
  efforts: (model: string) => (model.startsWith("gpt-5") ? ["low", "high"] : []),
  breakpoints: (model: string) => model === "gpt-5.6",
}
const claudes = ["claude-opus-4-5-20251101", "claude-sonnet-4-6", "claude-opus-4-8"]
const cases: ReadonlyArray<readonly [of: string, protocol: Protocol, model: string]> = [
  ...claudes.flatMap((model) => [
    ["Anthropic's API", messagesProtocol({ ...claude, cloud: "anthropic" }), model] as const,
    ["Foundry", messagesProtocol({ ...claude, cloud: "foundry" }), model] as const,
    ["InvokeModel", invokeModel, `anthropic.${model}-v1:0`] as const,
    ["Converse", converse, `anthropic.${model}-v1:0`] as const,
  ]),
  ["Converse", converse, "amazon.nova-2-lite-v1:0"],
  ["Converse", converse, "openai.gpt-oss-120b-1:0"],
  ["Responses", responsesProtocol(quirks), "gpt-5.6"],
  ["chat", chatProtocol({ efforts: quirks.efforts }), "gpt-5.5"],
  ["Gemini", generateContentProtocol(), "gemini-3.5-flash"],
  ["Gemini", generateContentProtocol(), "gemini-2.5-pro"],
]

/** What a host is sent, whatever its name. */
const sentTo = (protocol: Protocol, host: Host, isNative: boolean) => {
  const request = Either.getOrThrow(decodeMessages(body, new Headers({ "anthropic-beta": betas })))
  const { native } = request
  const own = isNative && native !== undefined ? protocol.native?.encode(request, native, host) : undefined
  const { path, headers, body: sent, dropped } = Either.getOrThrow(own ?? protocol.encode(request, host))
  const shown = [encodeURIComponent(host.upstreamModel), host.upstreamModel]
  const unnamed = (text: string): string => shown.reduce((left, one) => left.replaceAll(one, "NAME"), text)
  return { path: unnamed(path), headers, body: JSON.parse(unnamed(String(sent))), dropped }
}

test.each(cases.map(([of, protocol, model]) => [of, model, protocol] as const))("%s: %s", (_, model, protocol) => {
  const named = { ...hostFor(model), contextLength: 1_000_000 }
  for (const isNative of protocol.native?.form === "messages" ? [false, true] : [false])
    expect(sentTo(protocol, { ...named, upstreamModel: name, baseModel: model }, isNative)).toEqual(
      sentTo(protocol, named, isNative),
    )
})
