/**
 * The body of a Messages caller for a host of the Messages form. It is sent as it came, but for the model's name, the
 * output bound, the service tier, parameters that the host lacks, reasoning that came from hosts of other vendors, and
 * names of calls that the host refuses.
 */
import * as Either from "effect/Either"
import type { Unsupported } from "../../domain/failures/Failure.ts"
import { baseModelOf, type Host } from "../../domain/hosts/Host.ts"
import { isJsonObject, type JsonObject, objectIn, objectsIn, textOr } from "../../domain/json/json.ts"
import { runnerOf } from "../../domain/request/hostedTools.ts"
import { type ChatRequest, mostSearches, type NativeRequest } from "../../domain/request/request.ts"
import { fittingCallName } from "../callId.ts"
import { reasoningWish } from "../effort.ts"
import { isForeign } from "../foreignReasoning.ts"
import { type Encoded, jsonBody } from "../Protocol.ts"
import { isPlain, type Kept, withoutMultiplying } from "../payload/multiplying.ts"
import { bodyWithoutAttribution } from "../request/attribution.ts"
import type { Turn } from "../request/turns.ts"
import { isForeignCitation } from "./messagesBlocks.ts"
import { isPaid, type MessagesApi, type MessagesCloud, messagesApis } from "./messagesClouds.ts"
import { parameters } from "./messagesMembers.ts"
import { outputBound, samplingParameters, version, writtenTier } from "./messagesRequest.ts"
import {
  budgetFor,
  isAdaptive,
  knowsEffort,
  lacksThinking,
  type ThinkingKind,
  thinkingFor,
  withinBound,
} from "./messagesThinking.ts"
import { isForced } from "./messagesTools.ts"
import { withReminders } from "./messagesTurns.ts"

/** Members that stand for a member of the canonical form. Where that was taken out, the host lacks the parameter. */
const counterparts: ReadonlyMap<string, string> = new Map([
  ...parameters.map(({ at, name }) => [at, name] as const),
  ["tools", "tools"],
  ["tool_choice", "tool_choice"],
  ["stop_sequences", "stop"],
])

/** Members of the form, each checked where the body comes in. Others are sent only where the operator says so. */
const known: ReadonlySet<string> = new Set([
  ...["model", "messages", "max_tokens", "system", "thinking", "output_config", "output_format"],
  ...["metadata", "stream", "service_tier", "cache_control", ...counterparts.keys()],
  ...["context_management", "compaction", "diagnostics", "speed", "inference_geo", "billing_policy"],
])

export const encodeNative = (
  kind: ThinkingKind,
  cloud: MessagesCloud,
  request: ChatRequest,
  { body: given, headers }: NativeRequest,
  host: Host,
): Either.Either<Encoded, Unsupported> => {
  const { payload } = request
  const api = messagesApis[cloud]
  const body = api.attribution ? given : bodyWithoutAttribution(given)
  const maxTokens = outputBound(request, host)
  const sent: Record<string, unknown> = {}
  const dropped: Array<string> = []
  for (const name in body) {
    const value = body[name]
    const saysNothing = value === null || isEmpty(value)
    const counterpart = counterparts.get(name)
    const isLacking = counterpart !== undefined && payload[counterpart] === undefined && !isEmpty(value)
    const isKnown = name === "safeguards" ? api.safeguards : known.has(name)
    if (!isKnown && host.extraMembers?.includes(name) !== true) {
      if (!saysNothing) passUnknown(name, value, api, sent, dropped)
    } else if (value !== null && !isLacking) sent[name] = value
    else if (name === "tools" || name === "tool_choice") addHosted(sent, name, body)
  }
  const drop = (name: string) => {
    if (sent[name] !== undefined) dropped.push(name)
    delete sent[name]
  }
  sent["model"] = host.upstreamModel
  sent["max_tokens"] = maxTokens
  const messages = api.systemTurns(baseModelOf(host)) ? body["messages"] : withReminders(body["messages"])
  sent["messages"] = withFittingCalls(withoutForeign(messages, dropped))
  if (payload.user != null && !isJsonObject(sent["metadata"])) sent["metadata"] = { user_id: payload.user }
  boundSearches(sent)
  // `payload` has the host's own tier, if the host has one, and otherwise the caller's.
  const tier = writtenTier(payload.service_tier)
  if (tier["service_tier"] === undefined) drop("service_tier")
  else Object.assign(sent, tier)
  if (isJsonObject(sent["tool_choice"]) && payload.parallel_tool_calls === undefined)
    sent["tool_choice"] = without(sent["tool_choice"], ["disable_parallel_tool_use"])
  setOutput(sent, request)
  setThinking(sent, kind, request, maxTokens, drop)
  if (kind === "budget" && isAdaptive(sent["thinking"])) setBudget(sent, request, host, maxTokens, drop)
  const { thinking } = sent
  // A budget has to stay below the output bound, which is not the caller's here.
  if (isJsonObject(thinking) && maxTokens !== body["max_tokens"]) {
    const bounded = withinBound(thinking, maxTokens)
    if (bounded === undefined) drop("thinking")
    else sent["thinking"] = bounded
  }
  // A host that did not think, or whose thinking this one cannot read, has made the calls whose results come now.
  if (objectIn(sent["thinking"])["type"] === "enabled" && lacksThinking(lastTurnsOf(sent["messages"]))) drop("thinking")
  if (sent["thinking"] === undefined && body["thinking"] != null) keepThinking(sent, dropped)
  return Either.right({
    path: "/messages",
    headers: { "anthropic-version": version, ...pricedBetas(headers, host, dropped) },
    ...jsonBody(sent),
    dropped,
  })
}

/** Sends a member that the gateway does not know, without what could cost something, where the vendor asks for that. */
const passUnknown = (
  name: string,
  value: unknown,
  { unknownMembers }: MessagesApi,
  sent: Record<string, unknown>,
  dropped: Array<string>,
): void => {
  const isPassed = unknownMembers && isPlain.test(name)
  const kept = isPassed ? (withoutMultiplying(name, value) ?? { value, dropped: [] }) : nothingKept(name)
  if (kept.value !== undefined) sent[name] = kept.value
  dropped.push(...kept.dropped)
}

const nothingKept = (name: string): Kept => ({ value: undefined, dropped: [name] })

/** An empty list of tools asks for nothing, and has no counterpart. */
const isEmpty = (value: unknown): boolean => Array.isArray(value) && value.length === 0

/**
 * Adds tools that the host runs, or the choice of one: they have no counterpart in the canonical form. Tools that this
 * host must not run were taken out of the body before.
 */
const addHosted = (sent: Record<string, unknown>, name: "tools" | "tool_choice", body: JsonObject): void => {
  const hosted = objectsIn(body["tools"]).filter((tool) => runnerOf(tool) !== "client")
  const choice = objectIn(body["tool_choice"])
  if (name === "tools" && hosted.length > 0) sent[name] = hosted
  if (name === "tool_choice" && choice["type"] === "tool" && hosted.some((tool) => tool["name"] === choice["name"]))
    sent[name] = choice
}

/** At most as many searches as the reservation pays for (`mostSearches`). */
const boundSearches = (sent: Record<string, unknown>): void => {
  const isUnbounded = (tool: JsonObject): boolean =>
    runnerOf(tool) === "web_search" && !(typeof tool["max_uses"] === "number" && tool["max_uses"] <= mostSearches)
  const tools = objectsIn(sent["tools"])
  if (tools.some(isUnbounded))
    sent["tools"] = tools.map((tool) => (isUnbounded(tool) ? { ...tool, max_uses: mostSearches } : tool))
}

const pricedBetas = (
  headers: Readonly<Record<string, string>>,
  host: Host,
  dropped: Array<string>,
): Readonly<Record<string, string>> => {
  const { "anthropic-beta": betas, ...others } = headers
  const kept = betas?.split(",").filter((name) => isPaid(name, host)) ?? []
  if (betas === undefined || kept.join(",") === betas) return headers
  dropped.push("anthropic-beta")
  return kept.length === 0 ? others : { ...others, "anthropic-beta": kept.join(",") }
}

/**
 * Leaves out what earlier turns have from hosts of other forms, and this one refuses: reasoning, citations without an
 * index, and images, which are named ("'image' blocks are not permitted within assistant turns", SEMOSS/Semoss#2323,
 * 2026-04).
 */
const withoutForeign = (messages: unknown, dropped: Array<string>): unknown => {
  if (!Array.isArray(messages) || !messages.some(hasForeign)) return messages
  return messages.flatMap((message: unknown, at) => {
    const { content } = objectIn(message)
    if (!isJsonObject(message) || !Array.isArray(content) || !hasForeign(message)) return [message]
    const kept = content.flatMap((block: unknown, place) => {
      if (isMadeImage(block)) dropped.push(`messages[${at}].content[${place}]`)
      return isMadeImage(block) || isForeign(block) ? [] : withOwnCitations(block)
    })
    return kept.length === 0 && content.length > 0 ? [] : [{ ...message, content: kept }]
  })
}

const hasForeign = (message: unknown): boolean => {
  const { role, content } = objectIn(message)
  return role === "assistant" && Array.isArray(content) && content.some(isOfOthers)
}

const isOfOthers = (block: unknown): boolean => isForeign(block) || isMadeImage(block) || hasForeignCitation(block)

const isMadeImage = (block: unknown): boolean => isJsonObject(block) && block["type"] === "image"

const hasForeignCitation = (block: unknown): boolean =>
  isJsonObject(block) && Array.isArray(block["citations"]) && block["citations"].some(isForeignCitation)

/** A text without its citations of other hosts. One that was there for them alone goes too. */
const withOwnCitations = (block: unknown): ReadonlyArray<unknown> => {
  if (!isJsonObject(block) || !hasForeignCitation(block)) return [block]
  if (block["text"] === "") return []
  const { citations, ...rest } = block
  const own = objectsIn(citations).filter((citation) => !isForeignCitation(citation))
  return [own.length === 0 ? rest : { ...rest, citations: own }]
}

/** The messages with names of calls that Anthropic takes. Returns the same list where all fit, as usual. */
const withFittingCalls = (messages: unknown): unknown => {
  const isOdd = (block: unknown): block is JsonObject =>
    isJsonObject(block) && block["type"] === "tool_use" && fittingCallName(block["name"]) !== block["name"]
  const hasOdd = (message: unknown): boolean => {
    const { content } = objectIn(message)
    return Array.isArray(content) && content.some(isOdd)
  }
  if (!Array.isArray(messages) || !messages.some(hasOdd)) return messages
  return messages.map((message: unknown) => {
    const { content } = objectIn(message)
    if (!isJsonObject(message) || !Array.isArray(content)) return message
    const named = content.map((block: unknown) =>
      isOdd(block) ? { ...block, name: fittingCallName(block["name"]) } : block,
    )
    return { ...message, content: named }
  })
}

/** An object without members that stand for parameters which the host lacks. */
const without = (value: JsonObject, lacking: ReadonlyArray<string>): JsonObject =>
  Object.fromEntries(Object.entries(value).filter(([name, inner]) => inner !== null && !lacking.includes(name)))

const setOutput = (sent: Record<string, unknown>, { payload, reasoning }: ChatRequest): void => {
  const lacking: Array<string> = []
  if (payload.verbosity === undefined && reasoning.effort === undefined) lacking.push("effort")
  if (payload.response_format === undefined) lacking.push("format")
  trimOutput(sent, lacking)
}

/** Takes members out of `output_config`, which is left out when it has no others. */
const trimOutput = (sent: Record<string, unknown>, lacking: ReadonlyArray<string>): void => {
  const { output_config: config } = sent
  if (!isJsonObject(config)) return
  const kept = without(config, lacking)
  if (Object.keys(kept).length > 0) sent["output_config"] = kept
  else delete sent["output_config"]
}

/** Thinking as the caller asks for it; else as the variant of the model's name does. */
const setThinking = (
  sent: Record<string, unknown>,
  kind: ThinkingKind,
  request: ChatRequest,
  maxTokens: number,
  drop: (name: string) => void,
): void => {
  const { thinking, tool_choice: choice } = sent
  const wish = reasoningWish(request.reasoning)
  if (isJsonObject(thinking)) {
    // The host does not reason, and requestFor says so.
    if (wish === undefined && thinking["type"] !== "disabled") delete sent["thinking"]
  } else if (wish !== undefined && wish !== "off") {
    const asked = thinkingFor(kind, request, maxTokens, isForced(choice), lastTurnsOf(sent["messages"]))
    if (asked.thinking !== undefined) sent["thinking"] = asked.thinking
    if (!asked.sampling) for (const { at } of samplingParameters) drop(at)
  }
}

/** Replaces adaptive thinking with a budget, and leaves out an effort that the model does not know. */
const setBudget = (
  sent: Record<string, unknown>,
  { reasoning }: ChatRequest,
  host: Host,
  maxTokens: number,
  drop: (name: string) => void,
): void => {
  const budget = isForced(sent["tool_choice"]) ? undefined : budgetFor(objectIn(sent["thinking"]), reasoning, maxTokens)
  if (budget === undefined) drop("thinking")
  else sent["thinking"] = budget
  if (!knowsEffort(baseModelOf(host))) trimOutput(sent, ["effort"])
}

/** Without thinking there is none to clear: "`clear_thinking_20251015` strategy requires `thinking` to be enabled". */
const keepThinking = (sent: Record<string, unknown>, dropped: Array<string>): void => {
  const { context_management: managed } = sent
  if (!isJsonObject(managed) || !Array.isArray(managed["edits"])) return
  const edits = managed["edits"].filter((edit) => !textOr(objectIn(edit)["type"], "").startsWith("clear_thinking"))
  if (edits.length === managed["edits"].length) return
  dropped.push("context_management")
  if (edits.length > 0) sent["context_management"] = { ...managed, edits }
  else delete sent["context_management"]
}

/** The last turns, as far as `lacksThinking` reads them: conversations are long. */
const lastTurnsOf = (messages: unknown): ReadonlyArray<Turn> =>
  objectsIn(Array.isArray(messages) ? messages.slice(-4) : []).map(({ role, content }) => ({
    role: role === "assistant" || role === "system" ? role : "user",
    content: objectsIn(content),
  }))
