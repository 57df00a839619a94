/**
 * Checks of `Protocol.encode`: it is pure and repeatable, and the request contains nothing that does not belong there.
 */
import { isDeepStrictEqual } from "node:util"
import * as Either from "effect/Either"
import { Unsupported } from "../../domain/failures/Failure.ts"
import { isJsonObject } from "../../domain/json/json.ts"
import type { ContentPart } from "../../domain/request/chat.ts"
import type { ChatRequest } from "../../domain/request/request.ts"
import type { Encoded } from "../../formats/Protocol.ts"
import { expectedOfEncoded } from "../../plugin/checks/shapes.ts"
import { attempt, type Check, deepFreeze, must, shown } from "../Check.ts"
import { chatRequest, everyPart, host, marks, maxTokens, publicModel, requestOf, upstreamModel } from "../samples.ts"
import { isLacking, type ProtocolSubject, secretsOf } from "../subject.ts"
import { encodedBy } from "./encoding.ts"
import { isNameOf, parsed, sentIn } from "./Sent.ts"

const contract = "Protocol.encode"

/** A request that the plugin wrote, with its body parsed. */
interface Written {
  readonly encoded: Encoded
  readonly text: string
  /** Parsed, where it is JSON. */
  readonly json: unknown
}

export const requestChecks = (subject: ProtocolSubject): ReadonlyArray<Check> => {
  const check = (name: string, holds: (written: Written, kind: string) => void): Check => ({
    name: `${subject.name}: ${name}`,
    run: () => {
      for (const stream of [false, true]) holds(written(subject, stream), stream ? "a stream" : "a whole answer")
    },
  })
  return [
    { name: `${subject.name}: encode() is pure and repeatable`, run: () => isPure(subject) },
    check("encode() gives a path below the base URL, headers and a body that can be sent", isWellFormed),
    check("encode() writes no credentials and no addresses", (given) => isDiscreet(subject, given)),
    check("encode() asks for the model by the host's own name", namesModel),
    check("encode() bounds the output", boundsOutput),
    { name: `${subject.name}: encode() works without a bound of the output`, run: () => worksUnbounded(subject) },
    { name: `${subject.name}: encode() sends or refuses every kind of part`, run: () => knowsParts(subject) },
  ]
}

const written = ({ protocol, subject: { lacks } }: ProtocolSubject, stream: boolean): Written => {
  const encoded = attempt("encode()", contract, () => protocol().encode(requestOf(stream, { lacks }), host))
  must(Either.isEither(encoded), `encode() gave ${shown(encoded)}, which is no Either`, contract)
  must(Either.isRight(encoded), `encode() refuses a conversation with a tool call: ${shown(encoded)}`, contract)
  const expected = expectedOfEncoded(encoded.right)
  must(expected === undefined, `encode() must return ${expected}`, "Encoded")
  const { body } = encoded.right
  const text = typeof body === "string" ? body : new TextDecoder().decode(body)
  return { encoded: encoded.right, text, json: parsed(text) }
}

const isPure = ({ protocol, subject: { lacks } }: ProtocolSubject): void => {
  for (const stream of [false, true]) {
    const [request, frozenHost] = [deepFreeze(requestOf(stream, { lacks })), deepFreeze(host)]
    const { encode } = protocol()
    const twice = () =>
      attempt(
        "encode(), given a frozen request and host (another host may be asked the same afterwards),",
        contract,
        () => encode(request, frozenHost),
      )
    const [first, second] = [twice(), twice()]
    must(
      isDeepStrictEqual(first, second),
      `encode() gives different things for one request: ${shown(first)} and ${shown(second)}`,
      `${contract} is repeatable: it runs again for the next attempt`,
    )
  }
}

const isWellFormed = ({ encoded: { path, headers = {} }, json }: Written): void => {
  must(
    /^\/(?!\/)[\x21-\x7e]*$/.test(path) && !/[\\#]|(^|\/)\.\.?(\/|$)/.test(path),
    `The path ${shown(path)} is not one of printable ASCII that begins with one slash, without "..", "\\" and "#"`,
    "Encoded.path",
  )
  for (const [name, value] of Object.entries(headers)) {
    must(
      /^[\x20-\x7e]*$/.test(value),
      `The header ${shown({ [name]: value })} cannot be sent: values are printable ASCII`,
      "Encoded.headers",
    )
  }
  const type = headers["content-type"] ?? "application/json"
  must(
    !type.startsWith("application/json") || isJsonObject(json),
    `The body is sent as ${type} and is no JSON object`,
    "Encoded.body",
  )
}

/** Headers that only the gateway writes. */
const reservedHeaders = new Set([
  ...["authorization", "proxy-authorization", "x-api-key", "api-key", "x-goog-api-key", "cookie", "host"],
  ...["connection", "content-length", "transfer-encoding", "forwarded", "x-forwarded-for", "accept-encoding"],
])

/** Members with which the host's software could be redirected to another address. */
const addressMembers = [
  ...["api_base", "base_url", "api_key", "api_version", "organization", "headers", "extra_headers", "extra_body"],
  ...["extra_query", "timeout"],
]

const isDiscreet = ({ subject }: ProtocolSubject, { encoded: { path, headers = {} }, text, json }: Written): void => {
  const { auth } = subject.plugin
  const own = auth?._tag === "Header" ? auth.name.toLowerCase() : ""
  for (const name of Object.keys(headers)) {
    must(
      name !== own && !reservedHeaders.has(name),
      `encode() writes the header "${name}", which only the gateway writes: \`auth\` and \`sign\` are for credentials`,
      "ProviderPlugin.auth",
    )
  }
  must(
    !/[?&](key|api[-_]?key|access[-_]?token|token)=/i.test(path),
    `The path ${shown(path)} carries a credential`,
    "Encoded.path",
  )
  for (const name of addressMembers) {
    must(
      !isJsonObject(json) || !Object.hasOwn(json, name),
      `encode() writes the member "${name}", which is never sent to a host`,
      "Encoded.body",
    )
  }
  const url = firstUrl({ path, headers, json })
  must(
    url === undefined,
    `encode() writes the address ${shown(url)}: the gateway knows where its hosts are`,
    "Encoded.path is relative to the base URL",
  )
  const all = `${path} ${JSON.stringify(headers)} ${text}`
  for (const secret of secretsOf(subject)) {
    must(!all.includes(secret), "encode() writes a secret of the configuration", "ProviderPlugin.auth")
  }
}

/** The first URL in a value. The sample has none, so any URL comes from the plugin. */
const firstUrl = (value: unknown): string | undefined => {
  if (typeof value === "string") return /[a-z][a-z0-9+.-]*:\/\/\S*/i.exec(value)?.[0]
  if (typeof value !== "object" || value === null) return undefined
  for (const member of Object.values(value)) {
    const found = firstUrl(member)
    if (found !== undefined) return found
  }
  return undefined
}

const namesModel = ({ encoded, json }: Written): void => {
  const sent = sentIn(encoded)
  const wrong = sent.hasText(publicModel)
  must(
    !wrong && sent.hasModel(upstreamModel),
    `encode() ${wrong ? `names the model ${shown(publicModel)}, as callers do` : "does not name the model: neither the path, a header nor the body has it"}; ` +
      `the host calls it ${shown(upstreamModel)}`,
    "Host.upstreamModel",
  )
  const named = isJsonObject(json) ? (json["model"] ?? json["modelId"]) : undefined
  must(
    typeof named !== "string" || isNameOf(named, upstreamModel),
    `encode() asks for the model ${shown(named)}, the host calls it ${shown(upstreamModel)}`,
    "Host.upstreamModel",
  )
}

const boundsOutput = ({ json }: Written, kind: string): void => {
  const numbers: Array<unknown> = []
  JSON.stringify(json, (_, value) => {
    if (typeof value === "number") numbers.push(value)
    return value
  })
  must(
    numbers.includes(maxTokens.bound) && !numbers.includes(maxTokens.asked),
    `encode() for ${kind} does not carry ChatRequest.maxTokens (${maxTokens.bound}; ${maxTokens.asked} in \`bounds\` does not count): ` +
      "money is reserved for as many tokens as that",
    "ChatRequest.maxTokens",
  )
}

/** A key without a limit gives no bound: `ChatRequest.maxTokens` is undefined, and nothing is written in its place. */
const worksUnbounded = (given: ProtocolSubject): void => {
  for (const stream of [false, true]) {
    const bounded = chatRequest(stream, { messages: [{ role: "user", content: marks.last }] })
    const [before, after] = [bounded, { ...bounded, maxTokens: undefined }].map((request) => {
      const encoded = encodedBy(given, request)
      must(
        Either.isRight(encoded),
        () => `encode() of a request with maxTokens ${shown(request.maxTokens)} gave ${shown(encoded)}`,
        "ChatRequest.maxTokens",
      )
      return emptiesIn(sentIn(encoded.right).json)
    })
    const junk = after?.find((place) => before?.includes(place) === false)
    must(
      junk === undefined,
      `encode() writes ${shown(junk)} where ChatRequest.maxTokens is undefined: leave the member out`,
      "ChatRequest.maxTokens",
    )
  }
}

/** The places in JSON with what is left of an absent number: null (JSON's NaN), or a text of it. An empty object does no harm. */
const emptiesIn = (value: unknown, path = ""): ReadonlyArray<string> => {
  if (value === null || value === "undefined" || value === "NaN" || value === "null")
    return [`${path}: ${JSON.stringify(value)}`]
  if (typeof value !== "object") return []
  return Object.entries(value).flatMap(([name, member]) => emptiesIn(member, path === "" ? name : `${path}.${name}`))
}

const knowsParts = (given: ProtocolSubject): void => {
  const { lacks } = given.subject
  for (const [part, mark] of everyPart) {
    const request = requestOf(false, { last: [part], lacks })
    const at = request.payload.messages.length - 1
    sendsOrRefuses(given, { request, part, mark, path: `messages[${at}].content[0]` })
  }
  if (isLacking(given.subject, "tools")) return
  const [[text], [image, mark] = []] = [everyPart[0] ?? [], everyPart[1]]
  if (text === undefined || image === undefined || mark === undefined) return
  const { payload, ...rest } = requestOf(false, { lacks })
  const messages = payload.messages.map((message) =>
    message.role === "tool" ? { ...message, content: [text, image] } : message,
  )
  const path = `messages[${messages.findIndex(({ role }) => role === "tool")}].content[1]`
  sendsOrRefuses(given, { request: { ...rest, payload: { ...payload, messages } }, part: image, mark, path })
}

interface PartOfRequest {
  readonly request: ChatRequest
  readonly part: ContentPart
  /** What of it must be sent. */
  readonly mark: string
  readonly path: string
}

const sendsOrRefuses = ({ protocol }: ProtocolSubject, { request, part, mark, path }: PartOfRequest): void => {
  const what = `encode() of a part ${shown(part)} at ${path}`
  const encoded = attempt(what, contract, () => protocol().encode(request, host))
  if (Either.isLeft(encoded)) {
    refusesWell(encoded.left, part, path)
    return
  }
  const expected = expectedOfEncoded(encoded.right)
  must(expected === undefined, `${what} must return ${expected}`, "Encoded")
  must(
    sentIn(encoded.right).hasText(mark),
    `${what} loses it in silence: send it, or give Unsupported with this path`,
    "Unsupported",
  )
}

const refusesWell = (refusal: unknown, part: ContentPart, path: string): void => {
  must(
    refusal instanceof Unsupported,
    `encode() refuses a part ${shown(part)} with ${shown(refusal)}, not with an Unsupported of headgate/plugin`,
    contract,
  )
  must(part.type !== "text", "encode() refuses text", contract)
  // A protocol may refuse the message as a whole.
  const isThere = refusal.path.startsWith(path) || path.startsWith(refusal.path)
  must(
    isThere && refusal.path.startsWith("messages["),
    `encode() refuses ${path} at the path ${shown(refusal.path)}`,
    "Unsupported.path",
  )
  must(
    /^[^.]{3,200}$/.test(refusal.reason),
    `encode() refuses a part with the reason ${shown(refusal.reason)}: the caller reads it, without a full stop`,
    "Unsupported.reason",
  )
}
