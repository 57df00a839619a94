/** A host of Bedrock's Converse protocol, with a model of Anthropic's. */
import { eventStreamEvent } from "headgate/testing"
import type { JsonObject } from "../../../src/domain/json/json.ts"
import { objectIn, objectsIn, pieces, textIn } from "../forms/script.ts"
import {
  type AgentHost,
  type Asked,
  functionInput,
  functionName,
  kindOf,
  line,
  refusedMembers,
  refusedNames,
  refusedPairs,
  type Said,
} from "./AgentHost.ts"

const seal = "c2lnbmVkLWJlZHJvY2s="

const usage = { inputTokens: 30, outputTokens: 12, totalTokens: 42 }

const stopReason = ({ calls }: Said): string => (calls.length === 0 ? "end_turn" : "tool_use")

const whole = (said: Said): JsonObject => ({
  output: {
    message: {
      role: "assistant",
      content: [
        ...(said.thought === undefined
          ? []
          : [{ reasoningContent: { reasoningText: { text: said.thought, signature: seal } } }]),
        ...(said.text === undefined ? [] : [{ text: said.text }]),
        ...said.calls.map((call) => ({
          toolUse: { toolUseId: call.id, name: functionName(call), input: functionInput(call) },
        })),
      ],
    },
  },
  stopReason: stopReason(said),
  usage,
})

const event = (name: string, data: JsonObject): Uint8Array => eventStreamEvent(name, JSON.stringify(data))

const events = (said: Said): ReadonlyArray<Uint8Array> => {
  let index = 0
  const block = (deltas: ReadonlyArray<JsonObject>): ReadonlyArray<Uint8Array> => {
    const contentBlockIndex = index++
    return [
      ...deltas.map((delta) => event("contentBlockDelta", { contentBlockIndex, delta })),
      event("contentBlockStop", { contentBlockIndex }),
    ]
  }
  const { thought, text, calls } = said
  return [
    event("messageStart", { role: "assistant" }),
    ...(thought === undefined
      ? []
      : block([
          ...pieces(thought, 3).map((piece) => ({ reasoningContent: { text: piece } })),
          { reasoningContent: { signature: seal } },
        ])),
    ...(text === undefined ? [] : block(pieces(text, 3).map((piece) => ({ text: piece })))),
    ...calls.flatMap((call) => [
      event("contentBlockStart", {
        contentBlockIndex: index,
        start: { toolUse: { toolUseId: call.id, name: functionName(call) } },
      }),
      ...block(pieces(JSON.stringify(functionInput(call)), 3).map((input) => ({ toolUse: { input } }))),
    ]),
    event("messageStop", { stopReason: stopReason(said) }),
    event("metadata", { usage }),
  ]
}

const answer = (said: Said, isStream: boolean): Response =>
  isStream
    ? new Response(Uint8Array.from(Buffer.concat(events(said))), {
        headers: { "content-type": "application/vnd.amazon.eventstream" },
      })
    : Response.json(whole(said))

const linesOf = (role: string, block: JsonObject): ReadonlyArray<string> => {
  const { toolUse: called, toolResult: result, reasoningContent: reasoning } = block
  if (called !== undefined) {
    const { toolUseId: id, name, input } = objectIn(called)
    return [line.call(textIn(id), textIn(name), input)]
  }
  if (result !== undefined) {
    const { toolUseId: id, content } = objectIn(result)
    return [
      line.result(
        textIn(id),
        objectsIn(content)
          .map(({ text }) => textIn(text))
          .join(""),
      ),
    ]
  }
  if (reasoning !== undefined) {
    const { text, signature } = objectIn(objectIn(reasoning)["reasoningText"])
    return [line.thought(textIn(text), textIn(signature))]
  }
  return block["text"] === undefined ? [] : [line.message(role, textIn(block["text"]))]
}

const asked = (body: JsonObject): Asked => ({
  tools: objectsIn(objectIn(body["toolConfig"])["tools"]).flatMap((tool) => {
    if (tool["toolSpec"] === undefined) return []
    const { name, inputSchema } = objectIn(tool["toolSpec"])
    const parameters = objectIn(inputSchema)["json"]
    return [{ name: textIn(name), kind: kindOf(parameters), parameters }]
  }),
  turns: [
    ...objectsIn(body["system"]).flatMap((block) => linesOf("system", block)),
    ...objectsIn(body["messages"]).flatMap(({ role, content }) =>
      objectsIn(content).flatMap((block) => linesOf(textIn(role), block)),
    ),
  ],
})

const known = ["messages", "system", "inferenceConfig", "toolConfig", "additionalModelRequestFields", "serviceTier"]

const refusals = (body: JsonObject): ReadonlyArray<string> => {
  const turns = objectsIn(body["messages"])
  const of = (turn: JsonObject | undefined, member: string) =>
    objectsIn(turn?.["content"])
      .filter((block) => block[member] !== undefined)
      .map((block) => objectIn(block[member])["toolUseId"])
  const { type } = objectIn(objectIn(body["additionalModelRequestFields"])["thinking"])
  return [
    // Of a model before Claude 4.6, as this one is (strands-agents/sdk-python#1856).
    ...(type === "adaptive" ? ["thinking: Input tag 'adaptive' found using 'type'"] : []),
    ...refusedMembers(body, known, "body"),
    ...refusedNames(asked(body).tools.map(({ name }) => name)),
    ...turns.flatMap((turn, at) => refusedPairs(of(turn, "toolUse"), of(turns[at + 1], "toolResult"))),
    ...turns.filter(({ role }, at) => role === turns[at - 1]?.["role"]).map(() => "two turns of one role"),
    ...(turns.flatMap(({ content }) => objectsIn(content)).filter((block) => block["cachePoint"] !== undefined).length >
    4
      ? ["more than four cache points"]
      : []),
  ]
}

export const converse: AgentHost = {
  name: "converse",
  provider: { plugin: "bedrock", region: "eu-west-1" },
  model: "eu.anthropic.claude-sonnet-4-5-20250929-v1:0",
  givesIds: true,
  isToThink: (body) => objectIn(objectIn(body["additionalModelRequestFields"])["thinking"])["type"] === "enabled",
  seal,
  answer,
  asked,
  refusals,
}
