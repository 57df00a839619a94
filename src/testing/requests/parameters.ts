/** The check that `Protocol.encode` sends every parameter, or says that it does not. */
import { isDeepStrictEqual } from "node:util"
import * as Either from "effect/Either"
import { Unsupported } from "../../domain/failures/Failure.ts"
import type { ChatPayload } from "../../domain/request/chat.ts"
import { chatParameterRows } from "../../domain/request/chatParameters.ts"
import type { Reasoning } from "../../domain/request/request.ts"
import { isOurs } from "../../formats/ownProtocols.ts"
import { must, shown } from "../Check.ts"
import { chatRequest, marks, tools } from "../samples.ts"
import { isLacking, type ProtocolSubject } from "../subject.ts"
import { encodedBy, essence, kinds } from "./encoding.ts"
import { type Sent, sentIn } from "./Sent.ts"

interface Parameter {
  /** What `dropped` calls it, and its member of the payload unless `reasoning` is given. */
  readonly name: string
  readonly value?: unknown
  readonly reasoning?: Partial<Reasoning>
  /** Must stand in what is sent, where it can be seen there. */
  readonly texts?: ReadonlyArray<string>
  /** Must give another request than `value`, since a vendor may have a scale of its own. */
  readonly another?: number
  /** Other members that it needs. */
  readonly beside?: Partial<ChatPayload>
  readonly contract?: string
}

const schema = { type: "object", properties: { headgate_schema: { type: "string" } }, required: ["headgate_schema"] }

const wish = (reasoning: Partial<Reasoning>, written: object): Parameter => ({
  name: "reasoning",
  reasoning: { ...reasoning, written: { reasoning: written } },
  contract: "ChatRequest.reasoning",
})

const parameters: ReadonlyArray<Parameter> = [
  ...chatParameterRows.flatMap(([name, { samples }]) =>
    samples === undefined ? [] : [{ name, value: samples[0], another: samples[1] }],
  ),
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

export const sendsParameters = (given: ProtocolSubject): void => {
  const { subject } = given
  const plain = isLacking(subject, "system") ? messages.slice(1) : messages
  const all = isLacking(subject, "tools") ? parameters : [...parameters, ...parametersOfTools]
  const wrong = all.flatMap((parameter) => {
    try {
      for (const [stream, kind] of kinds) isSent(given, parameter, { stream, kind, messages: plain })
      return []
    } catch (cause) {
      return [cause]
    }
  })
  // All at once, so that an author does not find them one by one.
  if (wrong.length > 0) throw new Error(wrong.map(messageOf).join("\n"), { cause: wrong[0] })
}

const messageOf = (cause: unknown): string => (cause instanceof Error ? cause.message : String(cause))

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
    another,
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
  const isThere = texts.every(sent.hasText)
  if (dropped.includes(name)) {
    must(
      (name !== "temperature" && name !== "stop") || isLacking(given.subject, name) || isOurs(given.protocol()),
      `${what} drops it: where the vendor has no such thing, say so with \`lacks: ["${name}"]\``,
      "ProviderSubject.lacks",
    )
    must(
      !(texts.length > 0 && isThere) && !(typeof value === "number" && another !== undefined && sent.hasNumber(value)),
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
  if (typeof value === "number") isNotMistaken(sent, { name, value, what })
  if (another === undefined) return
  const other = encodedBy(given, chatRequest(stream, { ...payload, [name]: another }))
  must(
    Either.isLeft(other) || !isDeepStrictEqual(essence(other.right), essence(encoded.right)),
    `${what} sends the same as with ${another}, and does not name it in \`dropped\``,
    member,
  )
}

const plainName = (name: string): string => name.replace(/[-_]/g, "").toLowerCase()

const namesOfParameters = new Set(parameters.map(({ name }) => plainName(name)))

/** A value that stands in a member with the name of another parameter, and in none of its own. */
const isNotMistaken = (
  sent: Sent,
  { name, value, what }: { readonly name: string; readonly value: number; readonly what: string },
): void => {
  const members = sent.objects.flatMap((object) => Object.entries(object).filter(([, member]) => member === value))
  const names = members.map(([member]) => plainName(member))
  // `top_logprobs` may well be called `logprobs`.
  const wrong = members.find(
    ([member]) => namesOfParameters.has(plainName(member)) && !plainName(name).includes(plainName(member)),
  )
  must(
    wrong === undefined || names.includes(plainName(name)),
    `${what} sends it as ${shown(wrong?.[0])}, which is the name of another parameter`,
    `ChatPayload.${name}`,
  )
}
