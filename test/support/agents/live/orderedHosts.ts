/**
 * What a scripted host says, part by part, in every protocol. Where a protocol has a place for the order of parts, they
 * stand in it; chat, Cohere and Ollama know reasoning, text and calls alone. What a host read stays with `AgentHost`.
 */
import { eventStreamEvent } from "headgate/testing"
import type { JsonObject } from "../../../../src/domain/json/json.ts"
import { pieces } from "../../forms/script.ts"
import { eventsOf, responseObject, streamOf } from "../../hosts/responsesHost.ts"
import { agentHosts, type HostName } from "../hosts.ts"

export interface ToCall {
  readonly id: string
  readonly name: string
  readonly input: JsonObject
}

export type Part =
  | { readonly kind: "thought"; readonly text: string; readonly seal: string }
  | { readonly kind: "text"; readonly text: string }
  | ({ readonly kind: "call"; readonly seal: string } & ToCall)

/** The hosts that agents are tried at. */
export const liveHosts = ["responses", "chat", "messages", "gemini", "converse", "cohere", "ollama"] as const
export type LiveHost = (typeof liveHosts)[number]

interface OrderedHost {
  /** The members of a request in which this answer comes back unchanged. */
  readonly given: (parts: ReadonlyArray<Part>) => JsonObject
  readonly whole: (parts: ReadonlyArray<Part>, prompt: number) => Response
  readonly stream: (parts: ReadonlyArray<Part>, prompt: number) => Response
}

const completion = 12
const thoughtsIn = (parts: ReadonlyArray<Part>) => parts.flatMap((part) => (part.kind === "thought" ? [part] : []))
const callsIn = (parts: ReadonlyArray<Part>) => parts.flatMap((part) => (part.kind === "call" ? [part] : []))
const textIn = (parts: ReadonlyArray<Part>) =>
  parts.flatMap((part) => (part.kind === "text" ? [part.text] : [])).join("")
const thinkingIn = (parts: ReadonlyArray<Part>) =>
  thoughtsIn(parts)
    .map(({ text }) => text)
    .join("")

const sse = (events: ReadonlyArray<JsonObject>, end = ""): Response =>
  new Response(
    events
      .map(
        (event) =>
          `${event["type"] === undefined ? "" : `event: ${event["type"]}\n`}data: ${JSON.stringify(event)}\n\n`,
      )
      .join("") + end,
    { headers: { "content-type": "text/event-stream" } },
  )

// --- Messages

const block = (part: Part): JsonObject => {
  switch (part.kind) {
    case "thought":
      return { type: "thinking", thinking: part.text, signature: part.seal }
    case "text":
      return { type: "text", text: part.text }
    case "call":
      return { type: "tool_use", id: part.id, name: part.name, input: part.input }
  }
}

const blockEvents = (part: Part, index: number): ReadonlyArray<JsonObject> => {
  const empty = { thought: { thinking: "", signature: "" }, text: { text: "" }, call: { input: {} } }[part.kind]
  const deltas =
    part.kind === "thought"
      ? [
          ...pieces(part.text, 3).map((thinking) => ({ type: "thinking_delta", thinking })),
          { type: "signature_delta", signature: part.seal },
        ]
      : part.kind === "text"
        ? pieces(part.text, 3).map((text) => ({ type: "text_delta", text }))
        : pieces(JSON.stringify(part.input), 3).map((json) => ({ type: "input_json_delta", partial_json: json }))
  return [
    { type: "content_block_start", index, content_block: { ...block(part), ...empty } },
    ...deltas.map((delta) => ({ type: "content_block_delta", index, delta })),
    { type: "content_block_stop", index },
  ]
}

const messageHead = { id: "msg_host", type: "message", role: "assistant", model: "at-the-host" }
const messageUsage = (prompt: number) => ({ input_tokens: prompt, output_tokens: completion })
const messageEnd = (parts: ReadonlyArray<Part>) => ({
  stop_reason: callsIn(parts).length === 0 ? "end_turn" : "tool_use",
  stop_sequence: null,
})

const messages: OrderedHost = {
  given: (parts) => ({ messages: [{ role: "assistant", content: parts.map(block) }] }),
  whole: (parts, prompt) =>
    Response.json({
      ...messageHead,
      content: parts.map(block),
      ...messageEnd(parts),
      usage: messageUsage(prompt),
    }),
  stream: (parts, prompt) => {
    const usage = { ...messageUsage(prompt), output_tokens: 1 }
    return sse([
      {
        type: "message_start",
        message: { ...messageHead, content: [], stop_reason: null, stop_sequence: null, usage },
      },
      ...parts.flatMap(blockEvents),
      { type: "message_delta", delta: messageEnd(parts), usage: messageUsage(prompt) },
      { type: "message_stop" },
    ])
  },
}

// --- Converse

const converseBlock = (part: Part): JsonObject => {
  switch (part.kind) {
    case "thought":
      return { reasoningContent: { reasoningText: { text: part.text, signature: part.seal } } }
    case "text":
      return { text: part.text }
    case "call":
      return { toolUse: { toolUseId: part.id, name: part.name, input: part.input } }
  }
}

const converseUsage = (prompt: number) => ({
  inputTokens: prompt,
  outputTokens: completion,
  totalTokens: prompt + completion,
})
const converseStop = (parts: ReadonlyArray<Part>) => (callsIn(parts).length === 0 ? "end_turn" : "tool_use")

const converseEvents = (part: Part, contentBlockIndex: number): ReadonlyArray<Uint8Array> => {
  const event = (name: string, data: JsonObject) =>
    eventStreamEvent(name, JSON.stringify({ contentBlockIndex, ...data }))
  const deltas: ReadonlyArray<JsonObject> =
    part.kind === "thought"
      ? [
          ...pieces(part.text, 3).map((text) => ({ reasoningContent: { text } })),
          { reasoningContent: { signature: part.seal } },
        ]
      : part.kind === "text"
        ? pieces(part.text, 3).map((text) => ({ text }))
        : pieces(JSON.stringify(part.input), 3).map((input) => ({ toolUse: { input } }))
  return [
    ...(part.kind === "call"
      ? [event("contentBlockStart", { start: { toolUse: { toolUseId: part.id, name: part.name } } })]
      : []),
    ...deltas.map((delta) => event("contentBlockDelta", { delta })),
    event("contentBlockStop", {}),
  ]
}

const converse: OrderedHost = {
  given: (parts) => ({ messages: [{ role: "assistant", content: parts.map(converseBlock) }] }),
  whole: (parts, prompt) =>
    Response.json({
      output: { message: { role: "assistant", content: parts.map(converseBlock) } },
      stopReason: converseStop(parts),
      usage: converseUsage(prompt),
    }),
  stream: (parts, prompt) =>
    new Response(
      Uint8Array.from(
        Buffer.concat([
          eventStreamEvent("messageStart", '{"role":"assistant"}'),
          ...parts.flatMap(converseEvents),
          eventStreamEvent("messageStop", JSON.stringify({ stopReason: converseStop(parts) })),
          eventStreamEvent("metadata", JSON.stringify({ usage: converseUsage(prompt) })),
        ]),
      ),
      { headers: { "content-type": "application/vnd.amazon.eventstream" } },
    ),
}

// --- Responses

let items = 0
const itemIds = new WeakMap<Part, string>()
/** Of a part always the same one. */
const idOf = (part: Part, kind: string): string => {
  const id = itemIds.get(part) ?? `${kind}_${(items++).toString(16).padStart(24, "0")}`
  itemIds.set(part, id)
  return id
}

const item = (part: Part): JsonObject => {
  switch (part.kind) {
    case "thought": {
      const summary = [{ type: "summary_text", text: part.text }]
      return { id: idOf(part, "rs"), type: "reasoning", summary, encrypted_content: part.seal }
    }
    case "text": {
      const content = [{ type: "output_text", annotations: [], logprobs: [], text: part.text }]
      return { id: idOf(part, "msg"), type: "message", status: "completed", role: "assistant", content }
    }
    case "call": {
      const json = JSON.stringify(part.input)
      const common = { id: idOf(part, "fc"), type: "function_call", status: "completed" }
      return { ...common, call_id: part.id, name: part.name, arguments: json }
    }
  }
}

const responseUsage = (prompt: number) => ({
  usage: {
    input_tokens: prompt,
    input_tokens_details: { cached_tokens: 0 },
    output_tokens: completion,
    output_tokens_details: { reasoning_tokens: 5 },
    total_tokens: prompt + completion,
  },
})

const responses: OrderedHost = {
  given: (parts) => ({ input: parts.map(item) }),
  whole: (parts, prompt) => Response.json(responseObject(parts.map(item), responseUsage(prompt))),
  stream: (parts, prompt) => streamOf(eventsOf(parts.map(item), responseUsage(prompt))),
}

// --- Google's

const googlePart = (part: Part): JsonObject => {
  switch (part.kind) {
    case "thought":
      return { text: part.text, thought: true }
    case "text":
      return { text: part.text }
    case "call": {
      const functionCall = { id: part.id, name: part.name, args: part.input }
      return { functionCall, ...(part.seal === "" ? {} : { thoughtSignature: part.seal }) }
    }
  }
}

const googleBody = (parts: ReadonlyArray<Part>, more: JsonObject = {}): JsonObject => ({
  candidates: [{ content: { role: "model", parts: parts.map(googlePart) }, index: 0, ...more }],
})
const googleUsage = (prompt: number) => ({
  usageMetadata: {
    promptTokenCount: prompt,
    candidatesTokenCount: 8,
    thoughtsTokenCount: 4,
    totalTokenCount: prompt + completion,
  },
})

const gemini: OrderedHost = {
  given: (parts) => ({ contents: [{ role: "model", parts: parts.map(googlePart) }] }),
  whole: (parts, prompt) => Response.json({ ...googleBody(parts, { finishReason: "STOP" }), ...googleUsage(prompt) }),
  stream: (parts, prompt) =>
    sse([
      ...parts.map((part) => googleBody([part])),
      { ...googleBody([], { finishReason: "STOP" }), ...googleUsage(prompt) },
    ]),
}

// --- chat

const chatHead = (object: string) => ({ id: "chatcmpl-host", object, created: 1, model: "at-the-host" })
const chatUsage = (prompt: number) => ({
  prompt_tokens: prompt,
  completion_tokens: completion,
  total_tokens: prompt + completion,
})
const chatFinish = (parts: ReadonlyArray<Part>) => (callsIn(parts).length === 0 ? "stop" : "tool_calls")
const details = (parts: ReadonlyArray<Part>) =>
  thoughtsIn(parts).map(({ text, seal }, index) => ({
    type: "reasoning.text",
    text,
    signature: seal,
    format: "anthropic-claude-v1",
    index,
  }))
const chatCalls = (parts: ReadonlyArray<Part>) =>
  callsIn(parts).map(({ id, name, input }) => ({
    id,
    type: "function",
    function: { name, arguments: JSON.stringify(input) },
  }))

const chatMessage = (parts: ReadonlyArray<Part>): JsonObject => ({
  role: "assistant",
  content: textIn(parts) === "" ? null : textIn(parts),
  ...(thoughtsIn(parts).length === 0 ? {} : { reasoning: thinkingIn(parts), reasoning_details: details(parts) }),
  ...(callsIn(parts).length === 0 ? {} : { tool_calls: chatCalls(parts) }),
})

const chat: OrderedHost = {
  given: (parts) => ({ messages: [chatMessage(parts)] }),
  whole: (parts, prompt) =>
    Response.json({
      ...chatHead("chat.completion"),
      choices: [{ index: 0, message: chatMessage(parts), finish_reason: chatFinish(parts) }],
      usage: chatUsage(prompt),
    }),
  stream: (parts, prompt) => {
    const deltas: ReadonlyArray<JsonObject> = [
      { role: "assistant", content: "" },
      ...details(parts).flatMap(({ text, signature, ...rest }) => [
        ...pieces(text, 3).map((piece) => ({ reasoning: piece, reasoning_details: [{ ...rest, text: piece }] })),
        { reasoning_details: [{ ...rest, signature }] },
      ]),
      ...pieces(textIn(parts), 3).map((content) => ({ content })),
      ...chatCalls(parts).flatMap(({ function: { arguments: json, name }, ...call }, index) => [
        { tool_calls: [{ index, ...call, function: { name, arguments: "" } }] },
        ...pieces(json, 3).map((piece) => ({ tool_calls: [{ index, function: { arguments: piece } }] })),
      ]),
    ]
    const chunk = (delta: JsonObject, finish: string | null): JsonObject => ({
      ...chatHead("chat.completion.chunk"),
      choices: [{ index: 0, delta, finish_reason: finish }],
    })
    return sse(
      [
        ...deltas.map((delta) => chunk(delta, null)),
        chunk({}, chatFinish(parts)),
        { ...chatHead("chat.completion.chunk"), choices: [], usage: chatUsage(prompt) },
      ],
      "data: [DONE]\n\n",
    )
  },
}

// --- Cohere's

const cohereMessage = (parts: ReadonlyArray<Part>): JsonObject => ({
  role: "assistant",
  content: [
    ...(thinkingIn(parts) === "" ? [] : [{ type: "thinking", thinking: thinkingIn(parts) }]),
    ...(textIn(parts) === "" ? [] : [{ type: "text", text: textIn(parts) }]),
  ],
  ...(callsIn(parts).length === 0 ? {} : { tool_calls: chatCalls(parts) }),
})
const cohereEnd = (parts: ReadonlyArray<Part>, prompt: number) => {
  const tokens = { input_tokens: prompt, output_tokens: completion }
  return {
    finish_reason: callsIn(parts).length === 0 ? "COMPLETE" : "TOOL_CALL",
    usage: { billed_units: tokens, tokens },
  }
}

const cohere: OrderedHost = {
  given: (parts) => ({ messages: [cohereMessage(parts)] }),
  whole: (parts, prompt) => Response.json({ id: "1", message: cohereMessage(parts), ...cohereEnd(parts, prompt) }),
  stream: (parts, prompt) => {
    const contents = [
      ["thinking", thinkingIn(parts)],
      ["text", textIn(parts)],
    ].flatMap(([type, text]) => (type === undefined || text === undefined || text === "" ? [] : [{ type, text }]))
    const delta = (type: string, index: number, message: JsonObject): JsonObject => ({
      type,
      index,
      delta: { message },
    })
    return sse(
      [
        { type: "message-start", id: "1", delta: { message: { role: "assistant" } } },
        ...contents.flatMap(
          ({ type, text }, index): ReadonlyArray<JsonObject> => [
            delta("content-start", index, { content: { type, [type]: "" } }),
            ...pieces(text, 3).map((piece) => delta("content-delta", index, { content: { [type]: piece } })),
            { type: "content-end", index },
          ],
        ),
        ...chatCalls(parts).flatMap(
          (call, index): ReadonlyArray<JsonObject> => [
            delta("tool-call-start", index, { tool_calls: { ...call, function: { ...call.function, arguments: "" } } }),
            ...pieces(call.function.arguments, 3).map((piece) =>
              delta("tool-call-delta", index, { tool_calls: { function: { arguments: piece } } }),
            ),
            { type: "tool-call-end", index },
          ],
        ),
        { type: "message-end", delta: cohereEnd(parts, prompt) },
      ],
      "data: [DONE]\n\n",
    )
  },
}

// --- Ollama's

const ollamaMessage = (parts: ReadonlyArray<Part>): JsonObject => ({
  role: "assistant",
  content: textIn(parts),
  ...(thinkingIn(parts) === "" ? {} : { thinking: thinkingIn(parts) }),
  ...(callsIn(parts).length === 0
    ? {}
    : { tool_calls: callsIn(parts).map(({ name, input }) => ({ function: { name, arguments: input } })) }),
})
const ollamaNames = { model: "at-the-host", created_at: "2026-11-01T00:00:00Z" }
const ollamaEnd = (prompt: number) => ({
  done: true,
  done_reason: "stop",
  prompt_eval_count: prompt,
  eval_count: completion,
})

const ollama: OrderedHost = {
  given: (parts) => ({ messages: [ollamaMessage(parts)] }),
  whole: (parts, prompt) => Response.json({ ...ollamaNames, message: ollamaMessage(parts), ...ollamaEnd(prompt) }),
  stream: (parts, prompt) => {
    const { tool_calls: calls } = ollamaMessage(parts)
    const piece = (more: JsonObject) => ({
      ...ollamaNames,
      message: { role: "assistant", content: "", ...more },
      done: false,
    })
    const lines = [
      ...pieces(thinkingIn(parts), 3).map((thinking) => piece({ thinking })),
      ...pieces(textIn(parts), 3).map((content) => piece({ content })),
      ...(calls === undefined ? [] : [piece({ tool_calls: calls })]),
      { ...piece({}), ...ollamaEnd(prompt) },
    ]
    return new Response(lines.map((line) => `${JSON.stringify(line)}\n`).join(""), {
      headers: { "content-type": "application/x-ndjson" },
    })
  },
}

const orderedHosts: Readonly<Record<LiveHost, OrderedHost>> = {
  responses,
  chat,
  messages,
  gemini,
  converse,
  cohere,
  ollama,
}

/** An answer with these parts. `prompt`: the tokens that its request had. */
export const answerAt = (host: LiveHost, parts: ReadonlyArray<Part>, isStream: boolean, prompt: number): Response =>
  orderedHosts[host][isStream ? "stream" : "whole"](parts, prompt)

/** What the host has to read of these parts when they come back, as lines of `AgentHost`. */
export const linesOf = (host: LiveHost, parts: ReadonlyArray<Part>): ReadonlyArray<string> =>
  agentHosts[host satisfies HostName].asked(orderedHosts[host].given(parts)).turns
