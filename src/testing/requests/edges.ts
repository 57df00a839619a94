/** Checks of values that are easily taken for none, or that only some callers send: null, zero, arguments that are no JSON. */
import { isDeepStrictEqual } from "node:util"
import * as Either from "effect/Either"
import type { ChatPayload } from "../../domain/request/chat.ts"
import { isOurs } from "../../formats/ownProtocols.ts"
import type { Encoded } from "../../formats/Protocol.ts"
import { type Check, must, shown } from "../Check.ts"
import { chatRequest, marks, tools } from "../samples.ts"
import { isLacking, type ProtocolSubject } from "../subject.ts"
import { encodedBy, essence } from "./encoding.ts"
import { sentIn } from "./Sent.ts"

export const edgeChecks = (given: ProtocolSubject): ReadonlyArray<Check> => {
  if (isOurs(given.protocol())) return []
  const { name, subject } = given
  const check = (says: string, run: (given: ProtocolSubject) => void): Check => ({
    name: `${name}: encode() ${says}`,
    run: () => run(given),
  })
  return [
    check("takes null for absent", takesNulls),
    check("sends a zero that is meant", sendsZeros),
    ...(isLacking(subject, "tools")
      ? []
      : [check("takes calls and tools with as little as they may have", takesLittle)]),
  ]
}

const messages: ChatPayload["messages"] = [{ role: "user", content: marks.last }]

const sentFor = (given: ProtocolSubject, payload: Partial<ChatPayload>): Encoded | undefined =>
  Either.getOrUndefined(encodedBy(given, chatRequest(false, { messages, ...payload })))

const nullable = [
  ...[
    "temperature",
    "top_p",
    "top_k",
    "seed",
    "stop",
    "frequency_penalty",
    "presence_penalty",
    "n",
    "user",
    "metadata",
  ],
  ...["tools", "tool_choice", "parallel_tool_calls", "response_format", "logprobs", "top_logprobs", "service_tier"],
]

const takesNulls = (given: ProtocolSubject): void => {
  const without = sentFor(given, {})
  const wrong = nullable.filter((name) => {
    const encoded = sentFor(given, { [name]: null })
    if (without === undefined || encoded === undefined) return encoded !== without
    // A host of the caller's own form may take it as it is.
    if (sentIn(encoded).hasMember(name, null) && !(encoded.dropped ?? []).includes(name)) return false
    return !isDeepStrictEqual(essence(encoded), essence(without)) || (encoded.dropped ?? []).includes(name)
  })
  must(
    wrong.length === 0,
    `encode() takes null for a value of ${wrong.join(", ")}: a member that is absent may be null, and is then neither sent under another name nor dropped`,
    "ChatPayload",
  )
}

const sendsZeros = (given: ProtocolSubject): void => {
  const without = sentFor(given, {})
  if (without === undefined) return
  for (const name of ["temperature", "seed"] as const) {
    const encoded = sentFor(given, { [name]: 0 })
    if (encoded === undefined || (encoded.dropped ?? []).includes(name)) continue
    must(
      !isDeepStrictEqual(essence(encoded), essence(without)),
      `encode() leaves ${name} out where it is 0: a zero is a value`,
      `ChatPayload.${name}`,
    )
  }
}

const takesLittle = (given: ProtocolSubject): void => {
  for (const written of ["", "{broken", "[]", "null"]) {
    const call = { id: "call_1", type: "function", function: { name: "weather", arguments: written } }
    const encoded = encodedBy(
      given,
      chatRequest(false, {
        tools,
        messages: [
          { role: "user", content: marks.question },
          { role: "assistant", tool_calls: [call] },
          { role: "tool", tool_call_id: call.id, content: "" },
          ...messages,
        ],
      }),
    )
    must(
      Either.isRight(encoded),
      () =>
        `encode() refuses an earlier call with the arguments ${shown(written)}, which a model may write: ${shown(encoded)}`,
      "ToolCall.function.arguments",
    )
  }
  const bare = sentFor(given, { tools: [{ type: "function", function: { name: "headgate_bare" } }] })
  must(
    bare !== undefined && sentIn(bare).hasText("headgate_bare"),
    "encode() refuses or loses a tool without description and parameters, which need not be there",
    "FunctionTool.function",
  )
}
