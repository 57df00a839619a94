/** Hosts of every form that call tools, whole and streamed, and what they were told of tools. */
import type { JsonObject } from "../../src/domain/Json.ts"
import { eventStreamEvent } from "../../src/testing.ts"
import { chunkOf, sse } from "./host.ts"

export interface Called {
  readonly id: string
  readonly name: string
  /** JSON, unless the model wrote something else. */
  readonly given: string
}

export interface ToldTool {
  readonly name: string
  readonly description: unknown
  readonly parameters: unknown
}

/** A call, or the result of one, of the conversation that a host was sent. */
export type ToldTurn =
  | { readonly call: string; readonly given: unknown }
  | { readonly result: string; readonly says: unknown }

export interface CallingForm {
  readonly answer: (calls: ReadonlyArray<Called>, stream: boolean) => Response
  readonly tools: (body: JsonObject) => ReadonlyArray<ToldTool>
  readonly turns: (body: JsonObject) => ReadonlyArray<ToldTurn>
}

// Bodies of hosts are compared, so a wrong shape fails the test.
// biome-ignore lint/suspicious/noExplicitAny: as above
type Anything = any

const list = (value: unknown): ReadonlyArray<Anything> => (Array.isArray(value) ? value : [])
const pieces = (text: string): ReadonlyArray<string> => text.match(/[\s\S]{1,3}/g) ?? []
const named = (type: string, more: JsonObject): string =>
  `event: ${type}\ndata: ${JSON.stringify({ type, ...more })}\n\n`
const events = (text: string): Response => new Response(text, { headers: { "content-type": "text/event-stream" } })

const chatCall = ({ id, name, given }: Called) => ({ id, type: "function", function: { name, arguments: given } })

const chat: CallingForm = {
  answer: (calls, stream) => {
    const message = { role: "assistant", content: null, tool_calls: calls.map(chatCall) }
    const usage = { prompt_tokens: 5, completion_tokens: 5 }
    if (!stream) return Response.json({ choices: [{ index: 0, message, finish_reason: "tool_calls" }], usage })
    const said = (call: JsonObject) => chunkOf({ delta: { tool_calls: [call] }, finish_reason: null })
    return sse([
      ...calls.flatMap((call, index) => [
        said({ index, ...chatCall({ ...call, given: "" }) }),
        ...pieces(call.given).map((piece) => said({ index, function: { arguments: piece } })),
      ]),
      chunkOf({ delta: {}, finish_reason: "tool_calls" }, { usage }),
      "[DONE]",
    ])
  },
  tools: ({ tools }) =>
    list(tools).map(({ function: { name, description, parameters } }) => ({ name, description, parameters })),
  turns: ({ messages }) =>
    list(messages).flatMap(
      (message): ReadonlyArray<ToldTurn> => [
        ...list(message.tool_calls).map((call) => ({
          call: call.function.name,
          given:
            typeof call.function.arguments === "string" ? JSON.parse(call.function.arguments) : call.function.arguments,
        })),
        ...(message.role === "tool"
          ? [{ result: message.tool_call_id ?? message.tool_name, says: message.content }]
          : []),
      ],
    ),
}

const messages: CallingForm = {
  answer: (calls, stream) => {
    const usage = { input_tokens: 5, output_tokens: 5 }
    const blocks = calls.map(({ id, name, given }) => ({ type: "tool_use", id, name, input: JSON.parse(given) }))
    const whole = { type: "message", role: "assistant", content: blocks, stop_reason: "tool_use", usage }
    if (!stream) return Response.json(whole)
    return events(
      [
        named("message_start", { message: { ...whole, content: [], stop_reason: null } }),
        ...calls.flatMap(({ id, name, given }, index) => [
          named("content_block_start", { index, content_block: { type: "tool_use", id, name, input: {} } }),
          ...pieces(given).map((partial_json) =>
            named("content_block_delta", { index, delta: { type: "input_json_delta", partial_json } }),
          ),
          named("content_block_stop", { index }),
        ]),
        named("message_delta", { delta: { stop_reason: "tool_use" }, usage }),
        named("message_stop", {}),
      ].join(""),
    )
  },
  tools: ({ tools }) =>
    list(tools).map(({ name, description, input_schema: parameters }) => ({ name, description, parameters })),
  turns: ({ messages: told }) =>
    list(told)
      .flatMap(({ content }) => list(content))
      .flatMap((block): ReadonlyArray<ToldTurn> => {
        if (block.type === "tool_use") return [{ call: block.name, given: block.input }]
        return block.type === "tool_result" ? [{ result: block.tool_use_id, says: block.content }] : []
      }),
}

/** A result is an object there: one that is JSON as it is, another as the member `result`. */
const saidByGoogle = (response: Anything): string => {
  const said = response.result ?? response
  return typeof said === "string" ? said : JSON.stringify(said)
}

const google: CallingForm = {
  answer: (calls, stream) => {
    const parts = calls.map(({ id, name, given }) => ({ functionCall: { id, name, args: JSON.parse(given) } }))
    const usageMetadata = { promptTokenCount: 5, candidatesTokenCount: 5 }
    const whole = { candidates: [{ content: { role: "model", parts }, finishReason: "STOP" }], usageMetadata }
    return stream ? events(`data: ${JSON.stringify(whole)}\r\n\r\n`) : Response.json(whole)
  },
  tools: ({ tools }) =>
    list(tools)
      .flatMap(({ functionDeclarations }) => list(functionDeclarations))
      .map(({ name, description, parameters, parametersJsonSchema }) => ({
        name,
        description,
        parameters: parametersJsonSchema ?? parameters,
      })),
  turns: ({ contents }) =>
    list(contents)
      .flatMap(({ parts }) => list(parts))
      .flatMap(
        ({ functionCall: call, functionResponse: response }): ReadonlyArray<ToldTurn> => [
          ...(call === undefined ? [] : [{ call: call.name, given: call.args }]),
          ...(response === undefined ? [] : [{ result: response.id, says: saidByGoogle(response.response) }]),
        ],
      ),
}

const converse: CallingForm = {
  answer: (calls, stream) => {
    const usage = { inputTokens: 5, outputTokens: 5, totalTokens: 10 }
    if (!stream) {
      const content = calls.map(({ id, name, given }) => ({
        toolUse: { toolUseId: id, name, input: JSON.parse(given) },
      }))
      return Response.json({ output: { message: { role: "assistant", content } }, stopReason: "tool_use", usage })
    }
    const event = (type: string, data: JsonObject) => eventStreamEvent(type, JSON.stringify(data))
    const written = [
      event("messageStart", { role: "assistant" }),
      ...calls.flatMap(({ id, name, given }, contentBlockIndex) => [
        event("contentBlockStart", { contentBlockIndex, start: { toolUse: { toolUseId: id, name } } }),
        ...pieces(given).map((input) =>
          event("contentBlockDelta", { contentBlockIndex, delta: { toolUse: { input } } }),
        ),
        event("contentBlockStop", { contentBlockIndex }),
      ]),
      event("messageStop", { stopReason: "tool_use" }),
      event("metadata", { usage }),
    ]
    return new Response(Buffer.concat(written), { headers: { "content-type": "application/vnd.amazon.eventstream" } })
  },
  tools: ({ toolConfig }) =>
    list((toolConfig as Anything)?.tools)
      .flatMap(({ toolSpec }) => (toolSpec === undefined ? [] : [toolSpec]))
      .map(({ name, description, inputSchema }) => ({ name, description, parameters: inputSchema.json })),
  turns: ({ messages: told }) =>
    list(told)
      .flatMap(({ content }) => list(content))
      .flatMap(
        ({ toolUse: used, toolResult: result }): ReadonlyArray<ToldTurn> => [
          ...(used === undefined ? [] : [{ call: used.name, given: used.input }]),
          ...(result === undefined
            ? []
            : [
                {
                  result: result.toolUseId,
                  says: list(result.content)
                    .map(({ text }) => text)
                    .join(""),
                },
              ]),
        ],
      ),
}

const cohere: CallingForm = {
  answer: (calls, stream) => {
    const usage = { tokens: { input_tokens: 5, output_tokens: 5 } }
    if (!stream) {
      const message = { role: "assistant", tool_calls: calls.map(chatCall) }
      return Response.json({ id: "1", message, finish_reason: "TOOL_CALL", usage })
    }
    return events(
      [
        named("message-start", { id: "1", delta: { message: { role: "assistant" } } }),
        ...calls.flatMap((call, index) => [
          named("tool-call-start", { index, delta: { message: { tool_calls: chatCall({ ...call, given: "" }) } } }),
          ...pieces(call.given).map((piece) =>
            named("tool-call-delta", { index, delta: { message: { tool_calls: { function: { arguments: piece } } } } }),
          ),
          named("tool-call-end", { index }),
        ]),
        named("message-end", { delta: { finish_reason: "TOOL_CALL", usage } }),
      ].join(""),
    )
  },
  tools: chat.tools,
  turns: (body) =>
    chat
      .turns(body)
      .map((turn) =>
        "result" in turn && Array.isArray(turn.says)
          ? { ...turn, says: turn.says.map(({ text, document }) => text ?? document?.data?.content).join("") }
          : turn,
      ),
}

const ollama: CallingForm = {
  answer: (calls, stream) => {
    const message = {
      role: "assistant",
      content: "",
      tool_calls: calls.map(({ name, given }) => ({ function: { name, arguments: JSON.parse(given) } })),
    }
    const end = { done: true, done_reason: "stop", prompt_eval_count: 5, eval_count: 5 }
    if (!stream) return Response.json({ message, ...end })
    const lines = [
      { message, done: false },
      { message: { role: "assistant", content: "" }, ...end },
    ]
    return new Response(lines.map((line) => `${JSON.stringify(line)}\n`).join(""), {
      headers: { "content-type": "application/x-ndjson" },
    })
  },
  tools: chat.tools,
  turns: chat.turns,
}

/** By the path of the host. */
export const callingForm = (path: string): CallingForm => {
  if (path.endsWith("/messages")) return messages
  if (path.includes("enerateContent")) return google
  if (path.includes("/converse")) return converse
  if (path.endsWith("/api/chat")) return ollama
  return path.endsWith("/v1/chat") || path.endsWith("/v2/chat") ? cohere : chat
}
