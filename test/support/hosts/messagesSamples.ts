/** Answers in the form of Anthropic's Messages API, for the kit's checks of hosts that speak it beside another protocol. */
import type { ProviderSubject } from "headgate/testing"

const usage = { input_tokens: 70, cache_creation_input_tokens: 0, cache_read_input_tokens: 12, output_tokens: 30 }
const counted = { prompt_tokens: 82, completion_tokens: 30, prompt_tokens_details: { cached_tokens: 12 } }

const tool = (index: number, city: string) => ({
  ...{ type: "tool_use", id: `toolu_${index}`, name: "weather" },
  input: { city },
})
const toolCalls = ["Oslo", "Rome"].map((city, index) => ({
  name: "weather",
  arguments: { city },
  id: `toolu_${index}`,
}))

const message = (content: ReadonlyArray<object>, reason: string) => ({
  ...{ id: "msg_1", type: "message", role: "assistant", model: "name-at-the-host", content },
  ...{ stop_reason: reason, stop_sequence: null, usage },
})

const event = (data: { readonly type: string; readonly [member: string]: unknown }) =>
  `event: ${data.type}\ndata: ${JSON.stringify(data)}\n\n`

const stream = (reason: string, ...blocks: ReadonlyArray<readonly [begin: object, ...deltas: ReadonlyArray<object>]>) =>
  [
    event({ type: "message_start", message: { ...message([], ""), stop_reason: null } }),
    ...blocks.flatMap(([begin, ...deltas], index) => [
      event({ type: "content_block_start", index, content_block: begin }),
      ...deltas.map((delta) => event({ type: "content_block_delta", index, delta })),
      event({ type: "content_block_stop", index }),
    ]),
    event({ type: "message_delta", delta: { stop_reason: reason, stop_sequence: null }, usage }),
    event({ type: "message_stop" }),
  ].join("")

const text = "About 20 °C 🌞"
const thought = { reasoning: "Rome, then.", signatures: ["c2ln"] }
const thinking = { type: "thinking", thinking: "Rome, then.", signature: "c2ln" }

/** For the protocol called `messages`. */
export const messagesSamples: Required<Pick<ProviderSubject, "answers" | "streams">> = {
  answers: [
    {
      ...{ name: "thinking and text", protocol: "messages" },
      body: message([thinking, { type: "text", text }], "end_turn"),
      expects: { text, ...thought, finishReason: "stop", counted },
    },
    {
      ...{ name: "two tools", protocol: "messages" },
      body: message([tool(0, "Oslo"), tool(1, "Rome")], "tool_use"),
      expects: { text: "", toolCalls, finishReason: "tool_calls", counted },
    },
  ],
  streams: [
    {
      ...{ name: "thinking and text", protocol: "messages" },
      bytes: stream(
        "end_turn",
        [
          { type: "thinking", thinking: "", signature: "" },
          { type: "thinking_delta", thinking: "Rome, then." },
          { type: "signature_delta", signature: "c2ln" },
        ],
        [
          { type: "text", text: "" },
          { type: "text_delta", text },
        ],
      ),
      expects: { text, ...thought, finishReason: "stop", counted },
    },
    {
      ...{ name: "two tools", protocol: "messages" },
      bytes: stream(
        "tool_use",
        ...["Oslo", "Rome"].map(
          (city, index) =>
            [
              { ...tool(index, city), input: {} },
              { type: "input_json_delta", partial_json: JSON.stringify({ city }) },
            ] as const,
        ),
      ),
      expects: { text: "", toolCalls, finishReason: "tool_calls", counted },
    },
  ],
}
