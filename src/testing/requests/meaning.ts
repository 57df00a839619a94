/**
 * Checks that `Protocol.encode` carries what the caller means: the conversation, the tools, every parameter. What a vendor
 * lacks is named in `dropped`, or refused with `Unsupported`.
 */
import { isDeepStrictEqual } from "node:util"
import * as Either from "effect/Either"
import type { ChatPayload } from "../../domain/request/chat.ts"
import type { Encoded } from "../../formats/Protocol.ts"
import { type Check, must, shown } from "../Check.ts"
import type { Lack } from "../Expected.ts"
import { calls, chatRequest, marks, requestOf, tools, unknownMembers } from "../samples.ts"
import { isLacking, type ProtocolSubject } from "../subject.ts"
import { encodedBy, essence, kinds } from "./encoding.ts"
import { sendsParameters } from "./parameters.ts"
import { parsed, type Sent, sentIn } from "./Sent.ts"

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
    check("sends every part of text", sendsParts),
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
  developerIsSystem(given)
}

/** Both roles give one request, but for the name of the role where the host knows it. */
const developerIsSystem = (given: ProtocolSubject): void => {
  const [system, developer] = (["system", "developer"] as const).map((role) => {
    const messages = [{ role, content: marks.system } as const, { role: "user", content: marks.last } as const]
    const encoded = encodedBy(given, chatRequest(false, { messages }))
    if (Either.isLeft(encoded)) return shown(encoded.left)
    return sentIn(encoded.right).body.replaceAll('"developer"', '"system"')
  })
  must(
    system === developer,
    'encode() sends instructions with role "developer" in another way than with role "system": both are instructions',
    "SystemMessage.role",
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

/** The content of each message in two parts. */
const sendsParts = (given: ProtocolSubject): void => {
  const whole = requestOf(false, { lacks: given.subject.lacks })
  const marked: Array<readonly [role: string, mark: string]> = []
  const messages = whole.payload.messages.map((message, at) => {
    const texts = [`HEADGATE-PART-${at}-A`, `HEADGATE-PART-${at}-B`]
    for (const text of texts) marked.push([message.role, text])
    return { ...message, content: texts.map((text) => ({ type: "text", text }) as const) }
  })
  const encoded = encodedBy(given, { ...whole, payload: { ...whole.payload, messages } })
  must(Either.isRight(encoded), () => `encode() refuses messages with two parts of text: ${shown(encoded)}`, "TextPart")
  const sent = sentIn(encoded.right)
  const lost = marked.find(([, mark]) => !sent.hasText(mark))
  must(
    lost === undefined,
    `encode() loses a part of text where a message with role ${shown(lost?.[0])} has two`,
    "ContentPart",
  )
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
  resultsHaveCalls(given)
}

/** Results that are exchanged between two calls must give another request, unless the host goes by the order and takes no ids. */
const resultsHaveCalls = (given: ProtocolSubject): void => {
  for (const [stream, kind] of kinds) {
    const request = requestOf(stream, { lacks: given.subject.lacks })
    const ids: ReadonlyArray<string> = calls.map(({ id }) => id)
    const { sent, encoded } = sampleSent(given, stream)
    if (!ids.some(sent.hasText)) continue
    const messages = request.payload.messages.map((message) =>
      message.role === "tool"
        ? { ...message, tool_call_id: ids.find((id) => id !== message.tool_call_id) ?? "" }
        : message,
    )
    const exchanged = encodedBy(given, { ...request, payload: { ...request.payload, messages } })
    must(
      Either.isLeft(exchanged) || !isDeepStrictEqual(essence(exchanged.right), essence(encoded)),
      `encode() for ${kind} loses which call a result belongs to: two results that are exchanged give the same request`,
      "ToolMessage.tool_call_id",
    )
  }
}

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
  // Where each has a path of its own, and neither speaks of a stream, the table of what is not covered shows both.
  const isOfOneMethod = stream.encoded.path.startsWith(whole.encoded.path)
  must(
    isAboutStreams(stream.encoded) ? !isAboutStreams(whole.encoded) : !isAboutStreams(whole.encoded) && !isOfOneMethod,
    `encode() sends a stream's request to ${stream.encoded.path} and a whole answer's to ${whole.encoded.path}, with the same body: ` +
      "one of them goes to the method of the other",
    contractOfStream,
  )
}

/** Whether path or headers speak of a stream: `streamGenerateContent`, `converse-stream`, `mode=lines`, `accept: text/event-stream`. */
export const isAboutStreams = ({ path, headers = {} }: Encoded): boolean =>
  /stream|lines|ndjson|jsonl|chunk/i.test(`${path} ${headers["accept"] ?? ""}`)
