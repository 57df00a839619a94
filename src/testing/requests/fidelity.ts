/**
 * Checks that `Protocol.encode` keeps what only a comparison of two requests shows: kinds of media, tools of other kinds,
 * choices of tools, efforts of reasoning, names of models, the form of earlier calls.
 */
import { isDeepStrictEqual } from "node:util"
import * as Either from "effect/Either"
import { HostFailed, type Unsupported } from "../../domain/failures/Failure.ts"
import { isJsonObject } from "../../domain/json/json.ts"
import type { ChatPayload, ContentPart, ReasoningDetail, Tool } from "../../domain/request/chat.ts"
import type { Reasoning } from "../../domain/request/request.ts"
import { isOurs } from "../../formats/ownProtocols.ts"
import type { Encoded } from "../../formats/Protocol.ts"
import { answersRead } from "../answers/identity.ts"
import { attempt, type Check, must, shown } from "../Check.ts"
import { chatRequest, contextOf, head, host, marks, packed, requestOf, tools } from "../samples.ts"
import { isLacking, type ProtocolSubject } from "../subject.ts"
import { encodedBy, essence } from "./encoding.ts"
import { objectsWithin, sentIn, textsIn } from "./Sent.ts"

/** The gateway's own protocols are held to recorded traffic of their vendors instead. */
export const fidelityChecks = (given: ProtocolSubject): ReadonlyArray<Check> => {
  if (isOurs(given.protocol())) return []
  const { name, subject } = given
  const check = (says: string, run: (given: ProtocolSubject) => void): Check => ({
    name: `${name}: encode() ${says}`,
    run: () => run(given),
  })
  return [
    check("keeps the name of the model in one piece", encodesModel),
    check("tells the assistant from the user", tellsRolesApart),
    check("says of which type media is", namesTypes),
    check("sends no reasoning of another vendor", leavesForeignReasoning),
    ...(isLacking(subject, "reasoning") ? [] : [check("sends how much reasoning is wanted", sendsEfforts)]),
    ...(isLacking(subject, "tools")
      ? []
      : [
          check("tells the choices of tools apart", tellsChoicesApart),
          check("sends a tool of another kind, or refuses it", knowsToolKinds),
          check("sends the names of earlier calls", sendsNamesOfCalls),
          check("sends arguments of earlier calls in the form of the host's answers", keepsFormOfArguments),
        ]),
  ]
}

const last = [{ role: "user", content: marks.last }] as const

// --- the model

/** Characters that mean something in a path. */
const awkward = "name at/the?host#1%2F"

const encodesModel = (given: ProtocolSubject): void => {
  const request = chatRequest(false, { messages: last })
  const [plain, other] = [host.upstreamModel, awkward].map((upstreamModel) =>
    attempt("encode()", "Protocol.encode", () => given.protocol().encode(request, { ...host, upstreamModel })),
  )
  if (plain === undefined || other === undefined || Either.isLeft(plain) || Either.isLeft(other)) return
  const [before, after] = [plain.right.path, other.right.path]
  if (before === after) return
  const [, query] = before.split("?")
  const [path = "", ...queries] = after.split("?")
  must(
    /^[\x21-\x7e]*$/.test(after) && !after.includes("#") && queries.join("?") === (query ?? "") && decodes(path),
    `encode() writes the model ${shown(awkward)} into the path as ${shown(after)}: encodeURIComponent() keeps a name in one piece`,
    "Encoded.path, Host.upstreamModel",
  )
}

const decodes = (path: string): boolean => {
  try {
    return decodeURIComponent(path).includes(awkward)
  } catch {
    return false
  }
}

// --- the conversation

const tellsRolesApart = (given: ProtocolSubject): void => {
  const [answered, alone] = (["assistant", "user"] as const).map((role) => {
    const messages = [{ role: "user", content: marks.question } as const, { role, content: marks.said }, ...last]
    return encodedBy(given, chatRequest(false, { messages }))
  })
  if (answered === undefined || alone === undefined || Either.isLeft(answered) || Either.isLeft(alone)) return
  must(
    !isDeepStrictEqual(essence(answered.right), essence(alone.right)),
    "encode() sends what the assistant said as if the user had said it",
    "AssistantMessage.role",
  )
}

const calledName = "headgate_called_before"

/** A name that no tool has, with arguments that stand nowhere else. */
const sendsNamesOfCalls = (given: ProtocolSubject): void => {
  const place = "HEADGATE-PLACE"
  const call = { id: "call_1", type: "function", function: { name: calledName, arguments: `{"city":"${place}"}` } }
  const messages: ChatPayload["messages"] = [
    { role: "user", content: marks.question },
    { role: "assistant", content: null, tool_calls: [call] },
    { role: "tool", tool_call_id: call.id, content: marks.firstResult },
    ...last,
  ]
  const encoded = encodedBy(given, chatRequest(false, { messages, tools }))
  if (Either.isLeft(encoded)) return
  // Without its result, which may have the name, too.
  const around = objectsWithin(sentIn(encoded.right).json)
    .map((object) => JSON.stringify(object))
    .filter((text) => text.includes(place) && !text.includes(marks.firstResult))
  must(
    sentIn(encoded.right).hasText(calledName) &&
      (around.length === 0 || around.some((text) => text.includes(calledName))),
    "encode() loses the name of the function that an earlier call was for",
    "ToolCall.function.name",
  )
}

// --- media

const bytes = packed("HEADGATE media of a type that is told")

/** What names a type of media. */
const typeWord =
  /^(?:(?:image|audio|video|application|text)\/[\w.+-]+|png|jpe?g|gif|webp|wav|mp3|mpeg|flac|mp4|webm|pdf|csv)$/i

/** None of the types is the one that a protocol may take for granted. */
const typed: ReadonlyArray<readonly [part: ContentPart, type: string, words: ReadonlyArray<string>]> = [
  [{ type: "image_url", image_url: { url: `data:image/webp;base64,${bytes}` } }, "image/webp", ["webp"]],
  [{ type: "image_url", image_url: { url: `data:image/gif;base64,${bytes}` } }, "image/gif", ["gif"]],
  [{ type: "input_audio", input_audio: { data: bytes, format: "mp3" } }, "audio/mp3", ["mp3", "mpeg"]],
  [{ type: "input_audio", input_audio: { data: bytes, format: "flac" } }, "audio/flac", ["flac"]],
  [{ type: "video_url", video_url: { url: `data:video/webm;base64,${bytes}` } }, "video/webm", ["webm"]],
  [{ type: "file", file: { file_data: `data:application/pdf;base64,${bytes}` } }, "application/pdf", ["pdf"]],
  [{ type: "file", file: { file_data: `data:text/csv;base64,${bytes}` } }, "text/csv", ["csv"]],
]

const namesTypes = (given: ProtocolSubject): void => {
  for (const [part, type, words] of typed) {
    const encoded = encodedBy(given, chatRequest(false, { messages: [{ role: "user", content: [part] }] }))
    if (Either.isLeft(encoded)) continue
    const sent = sentIn(encoded.right)
    // A text file may be sent as the text that it is.
    if (!sent.hasText(bytes)) continue
    const other = [...textsIn(encoded.right)].find((text) => typeWord.test(text))
    // A host may look at the media itself, and take no type.
    must(
      other === undefined || words.some(sent.hasText),
      `encode() sends a part ${part.type} of the type ${type} as ${shown(other)}`,
      "ContentPart: the media type of a data URL, InputAudio.format",
    )
  }
}

// --- tools

const second: Tool = {
  type: "function",
  function: { name: "headgate_clock", description: "Says how late it is", parameters: { type: "object" } },
}

const named = (name: string): ChatPayload["tool_choice"] => ({ type: "function", function: { name } })

const choices: ReadonlyArray<readonly [says: string, choice: ChatPayload["tool_choice"]]> = [
  ['"auto"', "auto"],
  ['"none"', "none"],
  ['"required"', "required"],
  ['the function "weather"', named("weather")],
  ['the function "headgate_clock"', named("headgate_clock")],
]

const tellsChoicesApart = (given: ProtocolSubject): void => {
  const sent = choices.flatMap(([says, choice]) => {
    const payload = { messages: last, tools: [...tools, second], tool_choice: choice ?? null }
    const encoded = encodedBy(given, chatRequest(false, payload))
    if (Either.isLeft(encoded) || (encoded.right.dropped ?? []).includes("tool_choice")) return []
    return [{ says, choice, essence: essence(encoded.right), texts: textsIn(encoded.right) }]
  })
  for (const [at, one] of sent.entries()) {
    const same = sent.slice(at + 1).find((other) => isDeepStrictEqual(one.essence, other.essence))
    must(
      same === undefined,
      `encode() sends the same for the tool_choice ${one.says} and ${same?.says}, and does not name it in \`dropped\``,
      "ChatPayload.tool_choice",
    )
  }
  const free = sent.find(({ choice }) => choice === "auto")?.texts ?? new Set<string>()
  for (const { says, choice, texts } of sent) {
    const wrong = choice === "none" ? /^(?:any|required|must|force|always)/i : /^(?:none|never|off|disabled|forbid)/i
    const word = choice === "auto" ? undefined : [...texts].find((text) => !free.has(text) && wrong.test(text))
    must(
      word === undefined,
      `encode() says ${shown(word)} for the tool_choice ${says}, which means the opposite`,
      "ChatPayload.tool_choice",
    )
  }
}

const otherKind = "headgate_tool_kind"

const knowsToolKinds = (given: ProtocolSubject): void => {
  const other: Tool = { type: otherKind, [otherKind]: { size: 7 } }
  const encoded = encodedBy(given, chatRequest(false, { messages: last, tools: [...tools, other] }))
  if (Either.isLeft(encoded)) {
    const { path }: Unsupported = encoded.left
    must(
      path.startsWith("tools"),
      `encode() refuses a tool of the type "${otherKind}" at the path ${shown(path)}, expected "tools[1]"`,
      "Unsupported.path",
    )
    return
  }
  const { dropped = [] } = encoded.right
  must(
    sentIn(encoded.right).hasText(otherKind) || dropped.some((name) => name.startsWith("tools")),
    `encode() loses a tool of the type "${otherKind}" in silence: give Unsupported at "tools[1]"`,
    "Tool, Unsupported",
  )
}

/** Whether the calls of a whole answer have their arguments as an object; `undefined`: no sample shows one. */
export const hasObjects = (given: ProtocolSubject): boolean | undefined => {
  for (const { body } of given.answers) {
    const answer = given.protocol().decode(head, body, contextOf(false))
    if (answer instanceof HostFailed) continue
    for (const { function: called } of answer.choices.flatMap(({ message }) => message.tool_calls ?? [])) {
      const written = objectIn(called.arguments)
      if (written === undefined || Object.keys(written).length === 0) continue
      return objectsWithin(body).some((object) => isDeepStrictEqual(object, written))
    }
  }
  return undefined
}

const objectIn = (text: string) => {
  try {
    const json: unknown = JSON.parse(text)
    return isJsonObject(json) ? json : undefined
  } catch {
    return undefined
  }
}

const keepsFormOfArguments = (given: ProtocolSubject): void => {
  const asObjects = hasObjects(given)
  if (asObjects === undefined || isLacking(given.subject, "one form of arguments")) return
  const encoded = encodedBy(given, requestOf(false, { lacks: given.subject.lacks }))
  if (Either.isLeft(encoded)) return
  const isObject = objectsWithin(sentIn(encoded.right).json).some((object) =>
    isDeepStrictEqual(object, { city: "Oslo" }),
  )
  must(
    isObject === asObjects,
    `encode() sends the arguments of earlier calls as ${isObject ? "an object" : "a text"}, and the host's answers have them as ${asObjects ? "an object: argumentsObject(call)" : "a text"}. ` +
      'Where the vendor wants it so, say so with `lacks: ["one form of arguments"]`',
    "AssistantMessage.tool_calls",
  )
}

// --- reasoning

/** Only of a protocol whose own reasoning has a format: others have nothing to tell it from. */
const leavesForeignReasoning = (given: ProtocolSubject): void => {
  const own = answersRead(given).flatMap(({ read }) => read().choices.flatMap((choice) => choice?.details ?? []))
  if (!own.some(({ format }) => typeof format === "string")) return
  const foreign = "headgate-another-vendor-v1"
  const details: ReadonlyArray<ReasoningDetail> = [
    { type: "reasoning.text", format: foreign, index: 0, text: "HEADGATE-THOUGHT", signature: "HEADGATE-SIGNATURE" },
    { type: "reasoning.encrypted", format: foreign, index: 1, data: "HEADGATE-ENCRYPTED" },
  ]
  const messages: ChatPayload["messages"] = [
    { role: "user", content: marks.question },
    { role: "assistant", content: marks.said, reasoning_details: details },
    ...last,
  ]
  const encoded = encodedBy(given, chatRequest(false, { messages }))
  must(
    Either.isRight(encoded),
    () => `encode() refuses a conversation with another vendor's reasoning: ${shown(encoded)}`,
    "ReasoningDetail.format",
  )
  const sent = sentIn(encoded.right)
  const found = ["HEADGATE-SIGNATURE", "HEADGATE-ENCRYPTED"].find(sent.hasText)
  must(
    found === undefined,
    `encode() sends signed reasoning whose format is "${foreign}": a host refuses what another one signed`,
    "ReasoningDetail.format: a protocol sends back those of its own format only",
  )
}

type Wish = readonly [says: string, reasoning: Partial<Reasoning>]

const wishes = {
  low: ["the effort low", { effort: "low", written: { reasoning: { effort: "low" } } }],
  high: ["the effort high", { effort: "high", written: { reasoning: { effort: "high" } } }],
  few: ["150 tokens", { maxTokens: 150, written: { reasoning: { max_tokens: 150 } } }],
  many: ["1200 tokens", { maxTokens: 1200, written: { reasoning: { max_tokens: 1200 } } }],
  off: ["reasoning that is switched off", { effort: "none", written: { reasoning: { effort: "none" } } }],
  none: ["no word about reasoning", {}],
} as const satisfies Record<string, Wish>

const sendsEfforts = (given: ProtocolSubject): void => {
  const isEven = isLacking(given.subject, "effort")
  const isQuiet = isLacking(given.subject, "reasoning unasked")
  const pairs: ReadonlyArray<readonly [one: Wish, other: Wish, unless: string, isLeftOut: boolean]> = [
    [wishes.low, wishes.high, "effort", isEven],
    [wishes.few, wishes.many, "effort", isEven],
    [wishes.off, wishes.high, "reasoning", false],
    [wishes.off, wishes.none, "reasoning unasked", isQuiet],
  ]
  for (const [one, other, lack, isLeftOut] of pairs) {
    const [first, second] = [one, other].map(([, reasoning]) => reasoned(given, reasoning))
    if (isLeftOut || first === undefined || second === undefined) continue
    must(
      !isDeepStrictEqual(essence(first), essence(second)),
      `encode() sends the same for ${one[0]} and ${other[0]}, and does not name "reasoning" in \`dropped\`. Where the vendor has no such thing, say so with \`lacks: ["${lack}"]\``,
      "ChatRequest.reasoning",
    )
  }
}

/** `undefined`: it is refused, or said to be dropped. */
const reasoned = (given: ProtocolSubject, reasoning: Partial<Reasoning>): Encoded | undefined => {
  const encoded = encodedBy(given, chatRequest(false, { messages: last }, reasoning))
  if (Either.isLeft(encoded) || (encoded.right.dropped ?? []).includes("reasoning")) return undefined
  return encoded.right
}
