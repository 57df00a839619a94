/**
 * Checks that `Protocol.encode` carries what the caller means: the conversation, the tools, every parameter. What a vendor
 * lacks is named in `dropped`, or refused with `Unsupported`.
 */
import { isDeepStrictEqual } from "node:util"
import * as Either from "effect/Either"
import type { ChatPayload } from "../domain/Chat.ts"
import { Unsupported } from "../domain/Failure.ts"
import type { ChatRequest, Reasoning } from "../domain/Request.ts"
import type { Encoded } from "../wire/Protocol.ts"
import { attempt, type Check, must, shown } from "./check.ts"
import type { Lack } from "./expected.ts"
import { calls, chatRequest, host, marks, requestOf, tools, unknownMembers } from "./samples.ts"
import { parsed, type Sent, sentIn } from "./sent.ts"
import { isLacking, type ProtocolSubject } from "./subject.ts"

const contract = "Protocol.encode"

export const meaningChecks = (given: ProtocolSubject): ReadonlyArray<Check> => {
  const { name, subject } = given
  const hasTools = !isLacking(subject, "tools")
  const check = (says: string, run: (given: ProtocolSubject) => void): Check => ({
    name: `${name}: encode() ${says}`,
    run: () => run(given),
  })
  return [
    check("sends the system prompt", sendsSystem),
    check("sends the conversation in its order", sendsConversation),
    hasTools
      ? check("sends tools, with their descriptions and parameters", sendsTools)
      : check("refuses tools, or says that it drops them", refusesTools),
    ...(hasTools
      ? [
          check("sends the calls of tools with their arguments", sendsCalls),
          check("sends the results of tools, each with its call", sendsResults),
        ]
      : []),
    check("sends every parameter, or says that it drops it", sendsParameters),
    check("passes on what it does not know, and names what it leaves out", passesOn),
    check("asks for a stream only where one is wanted", asksForStream),
  ]
}

const kinds = [
  [false, "a whole answer"],
  [true, "a stream"],
] as const

const encodedBy = (given: ProtocolSubject, request: ChatRequest): Either.Either<Encoded, Unsupported> => {
  const encoded = attempt("encode()", contract, () => given.protocol().encode(request, host))
  must(Either.isEither(encoded), `encode() gave ${shown(encoded)}, which is no Either`, contract)
  return encoded
}

/** What is sent for the sample. */
const sampleSent = (given: ProtocolSubject, stream: boolean): { readonly sent: Sent; readonly encoded: Encoded } => {
  const encoded = encodedBy(given, requestOf(stream, { lacks: given.subject.lacks }))
  must(
    Either.isRight(encoded),
    () =>
      `encode() refuses a conversation with a system prompt, a tool and its results: ${shown(encoded)}. ` +
      'Where the vendor has no tools or no instructions, say so with `lacks: ["tools"]` or `lacks: ["system"]`',
    "ProviderSubject.lacks",
  )
  return { sent: sentIn(encoded.right), encoded: encoded.right }
}

interface Wanted {
  readonly mark: string
  readonly what: string
  readonly contract: string
  readonly lack?: Lack
}

const sends = (given: ProtocolSubject, wanted: ReadonlyArray<Wanted>): void => {
  for (const [stream, kind] of kinds) {
    const { sent } = sampleSent(given, stream)
    for (const { mark, what, contract: member, lack } of wanted) {
      const instead =
        lack === undefined ? "" : `; where the vendor has no such thing, say so with \`lacks: ["${lack}"]\``
      must(sent.hasText(mark), `encode() for ${kind} does not send ${what} (${shown(mark)})${instead}`, member)
    }
  }
}

const sendsSystem = (given: ProtocolSubject): void => {
  if (isLacking(given.subject, "system")) {
    refusesSystem(given)
    return
  }
  const what = "the system prompt"
  sends(given, [{ mark: marks.system, what, contract: "SystemMessage.content", lack: "system" }])
  // Instructions may have either role, be parts, and stand anywhere.
  const scattered: ChatPayload = {
    messages: [
      { role: "developer", content: [{ type: "text", text: "HEADGATE-DEVELOPER" }] },
      { role: "user", content: marks.question },
      { role: "system", content: "HEADGATE-LATER" },
      { role: "user", content: marks.last },
    ],
  }
  const encoded = encodedBy(given, chatRequest(false, scattered))
  must(Either.isRight(encoded), () => `encode() refuses a second instruction: ${shown(encoded)}`, "SystemMessage")
  const sent = sentIn(encoded.right)
  must(sent.hasText("HEADGATE-DEVELOPER"), 'encode() loses instructions with role "developer"', "SystemMessage.role")
  must(
    sent.hasText("HEADGATE-LATER"),
    "encode() loses instructions that stand between other messages: they may stand anywhere",
    "SystemMessage",
  )
}

const refusesSystem = (given: ProtocolSubject): void => {
  const messages = [
    { role: "system", content: marks.system },
    { role: "user", content: marks.last },
  ] as const
  const encoded = encodedBy(given, chatRequest(false, { messages }))
  must(
    Either.isLeft(encoded) || sentIn(encoded.right).hasText(marks.system),
    'encode() loses the system prompt, which the vendor is said to lack: give Unsupported at "messages[0]"',
    "SystemMessage",
  )
}

const sendsConversation = (given: ProtocolSubject): void => {
  sends(given, [
    { mark: marks.question, what: "the user's first message", contract: "UserMessage.content" },
    { mark: marks.said, what: "what the assistant said", contract: "AssistantMessage.content" },
    { mark: marks.last, what: "the user's last message", contract: "UserMessage.content" },
  ])
  for (const [stream] of kinds) {
    const { body } = sampleSent(given, stream).sent
    const places = [marks.question, marks.said, marks.last].map((mark) => body.indexOf(mark))
    must(
      places.includes(-1) || places.every((place, at) => at === 0 || place > (places[at - 1] ?? 0)),
      "encode() sends the messages in another order than the caller's",
      "ChatPayload.messages",
    )
  }
}

const sendsTools = (given: ProtocolSubject): void => {
  for (const [stream] of kinds) {
    const { dropped = [] } = sampleSent(given, stream).encoded
    must(
      !dropped.includes("tools"),
      'encode() drops the tools: where the vendor has none, say so with `lacks: ["tools"]`',
      "ProviderSubject.lacks",
    )
  }
  sends(given, [
    { mark: "weather", what: "the name of the tool", contract: "FunctionTool.function.name", lack: "tools" },
    { mark: marks.toolDescription, what: "the description of the tool", contract: "FunctionTool.function.description" },
    {
      mark: marks.toolSchema,
      what: "the schema of the tool's parameters",
      contract: "FunctionTool.function.parameters",
    },
  ])
}

const refusesTools = (given: ProtocolSubject): void => {
  const messages = [{ role: "user", content: marks.last }] as const
  const encoded = encodedBy(given, chatRequest(false, { messages, tools }))
  must(
    Either.isLeft(encoded) || (encoded.right.dropped ?? []).includes("tools"),
    'encode() loses the tools, which the vendor is said to lack: give Unsupported at "tools", or name "tools" in `dropped`',
    "Encoded.dropped",
  )
}

const sendsCalls = (given: ProtocolSubject): void => {
  for (const [stream, kind] of kinds) {
    const { sent } = sampleSent(given, stream)
    for (const call of calls) {
      must(
        sent.objects.some((object) => isDeepStrictEqual(object, call.arguments)),
        `encode() for ${kind} does not send the arguments ${shown(call.arguments)} of an earlier call`,
        "AssistantMessage.tool_calls",
      )
    }
  }
}

const sendsResults = (given: ProtocolSubject): void => {
  sends(
    given,
    calls.map(({ result }) => ({
      mark: result,
      what: "the result of a tool",
      contract: "ToolMessage.content",
      lack: "tools",
    })),
  )
  for (const [stream, kind] of kinds) {
    const { sent } = sampleSent(given, stream)
    for (const { id, result } of calls) {
      const other = calls.find((call) => call.id !== id)?.id ?? ""
      // The smallest object that has the result and an id of a call; hosts that go by the order have none.
      const around = sent.objects
        .map((object) => JSON.stringify(object))
        .filter((text) => text.includes(result) && (text.includes(id) || text.includes(other)))
        .toSorted((a, b) => a.length - b.length)[0]
      must(
        around === undefined || around.includes(id),
        `encode() for ${kind} sends the result ${shown(result)} with the id of another call: ${shown(parsed(around ?? ""))}`,
        "ToolMessage.tool_call_id",
      )
    }
    const [first, second] = calls.map(({ result }) => sent.body.indexOf(result))
    must(
      first === undefined || second === undefined || first < second || calls.every(({ id }) => sent.hasText(id)),
      `encode() for ${kind} sends results without ids, and in another order than the caller's`,
      "ToolMessage.tool_call_id",
    )
  }
}

// --- parameters

interface Parameter {
  /** What `dropped` calls it, and its member of the payload unless `reasoning` is given. */
  readonly name: string
  readonly value?: unknown
  readonly reasoning?: Partial<Reasoning>
  /** Must stand in what is sent, where it can be seen there. */
  readonly texts?: ReadonlyArray<string>
  readonly number?: number
  /** Other members that it needs. */
  readonly beside?: Partial<ChatPayload>
  readonly contract?: string
}

const schema = { type: "object", properties: { headgate_schema: { type: "string" } }, required: ["headgate_schema"] }

const numbers = {
  ...{ temperature: 0.375, top_p: 0.625, top_k: 37, min_p: 0.0625, top_a: 0.4375, frequency_penalty: 0.875 },
  ...{ presence_penalty: 1.125, repetition_penalty: 1.0625, seed: 90_210 },
}

const wish = (reasoning: Partial<Reasoning>, written: object): Parameter => ({
  name: "reasoning",
  reasoning: { ...reasoning, written: { reasoning: written } },
  contract: "ChatRequest.reasoning",
})

const parameters: ReadonlyArray<Parameter> = [
  ...Object.entries(numbers).map(([name, value]) => ({ name, value, number: value })),
  { name: "stop", value: [marks.stop, "HEADGATE-END"], texts: [marks.stop, "HEADGATE-END"] },
  { name: "stop", value: marks.stop, texts: [marks.stop] },
  { name: "logprobs", value: true },
  { name: "top_logprobs", value: 3, beside: { logprobs: true } },
  { name: "n", value: 2 },
  { name: "user", value: "headgate-user", texts: ["headgate-user"] },
  { name: "metadata", value: { ticket: "headgate-ticket" }, texts: ["headgate-ticket"] },
  { name: "service_tier", value: "flex" },
  { name: "verbosity", value: "low" },
  { name: "response_format", value: { type: "json_object" } },
  {
    name: "response_format",
    value: { type: "json_schema", json_schema: { name: "headgate", strict: true, schema } },
    texts: ["headgate_schema"],
  },
  wish({ effort: "high" }, { effort: "high" }),
  wish({ maxTokens: 700 }, { max_tokens: 700 }),
]

const parametersOfTools: ReadonlyArray<Parameter> = [
  { name: "parallel_tool_calls", value: false, beside: { tools } },
  { name: "tool_choice", value: "none", beside: { tools } },
  { name: "tool_choice", value: "required", beside: { tools } },
  { name: "tool_choice", value: { type: "function", function: { name: "weather" } }, beside: { tools } },
]

const messages: ChatPayload["messages"] = [
  { role: "system", content: marks.system },
  { role: "user", content: marks.question },
]

const sendsParameters = (given: ProtocolSubject): void => {
  const { subject } = given
  const plain = isLacking(subject, "system") ? messages.slice(1) : messages
  const all = isLacking(subject, "tools") ? parameters : [...parameters, ...parametersOfTools]
  for (const parameter of all) {
    for (const [stream, kind] of kinds) isSent(given, parameter, { stream, kind, messages: plain })
  }
}

interface Setting {
  readonly stream: boolean
  readonly kind: string
  readonly messages: ChatPayload["messages"]
}

/** Sends the request with the parameter and without it: something has to be different, or `dropped` says that it is not sent. */
const isSent = (given: ProtocolSubject, parameter: Parameter, { stream, kind, messages: said }: Setting): void => {
  const {
    name,
    value,
    reasoning,
    texts = [],
    number,
    beside = {},
    contract: member = `ChatPayload.${name}`,
  } = parameter
  const payload: ChatPayload = { messages: said, ...beside }
  const withIt = reasoning === undefined ? { ...payload, [name]: value } : payload
  const what = `encode() for ${kind}, given ${name} ${shown(reasoning?.written ?? value)},`
  const encoded = encodedBy(given, chatRequest(stream, withIt, reasoning))
  if (Either.isLeft(encoded)) {
    const { left } = encoded
    must(
      left instanceof Unsupported && left.path.startsWith(name),
      `${what} refuses the request with ${shown(left)}, which is no Unsupported at the path "${name}"`,
      "Unsupported.path",
    )
    return
  }
  const { dropped = [] } = encoded.right
  const sent = sentIn(encoded.right)
  const isThere = texts.every(sent.hasText) && (number === undefined || sent.hasNumber(number))
  if (dropped.includes(name)) {
    must(
      (texts.length === 0 && number === undefined) || !isThere,
      `${what} sends it, and names it in \`dropped\` all the same`,
      "Encoded.dropped",
    )
    return
  }
  must(isThere, `${what} neither sends its value nor names it in \`dropped\``, member)
  const without = encodedBy(given, chatRequest(stream, payload))
  must(
    Either.isLeft(without) || !isDeepStrictEqual(essence(without.right), essence(encoded.right)),
    `${what} sends the same as without it, and does not name it in \`dropped\``,
    member,
  )
}

const essence = ({ method = "POST", path, headers = {}, body }: Encoded) => ({ method, path, headers, body })

const passesOn = (given: ProtocolSubject): void => {
  for (const [stream, kind] of kinds) {
    const { sent, encoded } = sampleSent(given, stream)
    const { dropped = [] } = encoded
    for (const [name, value] of Object.entries(unknownMembers)) {
      const isThere = sent.hasMember(name, value)
      must(
        isThere || dropped.includes(name),
        `encode() for ${kind} changes a member that it does not know (${name}), or leaves it out without saying so`,
        "Encoded.dropped",
      )
      must(
        !isThere || !dropped.includes(name),
        `encode() for ${kind} names the member ${name} in \`dropped\`, and sends it`,
        "Encoded.dropped",
      )
    }
    const caller = new Set([...Object.keys(requestOf(stream, { lacks: given.subject.lacks }).payload)])
    const invented = dropped.find((name) => !caller.has(name))
    must(
      invented === undefined,
      `encode() for ${kind} names ${shown(invented)} in \`dropped\`, which the caller did not send: list only what this request has`,
      "Encoded.dropped",
    )
    must(!dropped.includes("messages"), `encode() for ${kind} drops the messages`, "Encoded.dropped")
  }
}

// --- streams

const asksForStream = (given: ProtocolSubject): void => {
  const [whole, stream] = [sampleSent(given, false), sampleSent(given, true)]
  const contractOfStream = "ChatRequest.stream"
  must(
    !isDeepStrictEqual(essence(whole.encoded), essence(stream.encoded)),
    "encode() asks for a stream and for a whole answer in the same way: the host would answer one of them wrongly",
    contractOfStream,
  )
  for (const [{ sent }, wanted] of [[whole, false] as const, [stream, true] as const]) {
    const wrong = sent.objects.find(({ stream: said }) => typeof said === "boolean" && said !== wanted)
    must(
      wrong === undefined,
      `encode() writes "stream": ${!wanted} into the request for ${wanted ? "a stream" : "a whole answer"}`,
      contractOfStream,
    )
  }
  // A member of the body tells them apart, so that the path need not.
  if (whole.encoded.body !== stream.encoded.body) return
  must(
    isAboutStreams(stream.encoded) && !isAboutStreams(whole.encoded),
    `encode() sends a stream's request to ${stream.encoded.path} and a whole answer's to ${whole.encoded.path}, with the same body: ` +
      "one of them goes to the method of the other",
    contractOfStream,
  )
}

/** Whether path or headers speak of a stream: `streamGenerateContent`, `converse-stream`, `accept: text/event-stream`. */
const isAboutStreams = ({ path, headers = {} }: Encoded): boolean =>
  /stream/i.test(`${path} ${headers["accept"] ?? ""}`)
