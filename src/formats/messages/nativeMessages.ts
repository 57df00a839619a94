/**
 * The body of a Messages caller for a host of the Messages form. It is sent as it came, but for the model's name, the
 * output bound, the service tier, parameters that the host lacks, and reasoning that came from hosts of other vendors.
 */
import * as Either from "effect/Either"
import type { Unsupported } from "../../domain/failures/Failure.ts"
import type { Host } from "../../domain/hosts/Host.ts"
import { isJsonObject, type JsonObject, objectsIn } from "../../domain/json/json.ts"
import { runnerOf } from "../../domain/request/hostedTools.ts"
import { type ChatRequest, mostSearches, type NativeRequest } from "../../domain/request/request.ts"
import { reasoningWish } from "../effort.ts"
import { isForeign } from "../foreignReasoning.ts"
import { type Encoded, jsonBody } from "../Protocol.ts"
import { lacksThinking, type ThinkingKind, thinkingFor } from "./Thinking.ts"
import type { Turn } from "./writeMessagesContent.ts"
import { isForced, parameters, samplingParameters, tierField, version } from "./writeMessagesRequest.ts"

/** Name of the form. */
export const messagesForm = "messages"

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
  request: ChatRequest,
  { body, headers }: NativeRequest,
  host: Host,
): Either.Either<Encoded, Unsupported> => {
  const { payload } = request
  const maxTokens = Math.min(request.maxTokens ?? host.maxCompletionTokens, host.maxCompletionTokens)
  const sent: Record<string, unknown> = {}
  const dropped: Array<string> = []
  for (const name in body) {
    if (!known.has(name) && host.extraMembers?.includes(name) !== true) {
      if (body[name] !== null && !isEmpty(body[name])) dropped.push(name)
      continue
    }
    const counterpart = counterparts.get(name)
    const isLacking = counterpart !== undefined && payload[counterpart] === undefined && !isEmpty(body[name])
    if (body[name] !== null && !isLacking) sent[name] = body[name]
    else if (name === "tools" || name === "tool_choice") addHosted(sent, name, body)
  }
  sent["model"] = host.upstreamModel
  sent["max_tokens"] = maxTokens
  sent["messages"] = withoutForeignThinking(body["messages"])
  if (payload.user != null && !isJsonObject(sent["metadata"])) sent["metadata"] = { user_id: payload.user }
  boundSearches(sent)
  setTier(sent, request, dropped)
  setChoice(sent, request)
  setOutput(sent, request)
  setThinking(sent, kind, request, maxTokens, dropped)
  if (maxTokens !== body["max_tokens"]) boundThinking(sent, maxTokens, dropped)
  // A host that did not think, or whose thinking this one cannot read, has made the calls whose results come now.
  if (hasBudget(sent["thinking"]) && lacksThinking(turnsOf(sent["messages"]))) drop(sent, "thinking", dropped)
  return Either.right({
    path: "/messages",
    headers: { "anthropic-version": version, ...pricedBetas(headers, host, dropped) },
    ...jsonBody(sent),
    dropped,
  })
}

/**
 * Tools that the host runs, and a choice of one: they have no counterpart. Those that it is not to run were taken out of the body
 * before.
 */
const addHosted = (sent: Record<string, unknown>, name: "tools" | "tool_choice", body: JsonObject): void => {
  const hosted = objectsIn(body["tools"]).filter((tool) => runnerOf(tool) !== "client")
  const choice = body["tool_choice"]
  if (name === "tools" && hosted.length > 0) sent[name] = hosted
  else if (isJsonObject(choice) && hosted.some((tool) => choice["type"] === "tool" && tool["name"] === choice["name"]))
    sent[name] = choice
}

/** An empty list of tools asks for nothing, and has no counterpart. */
const isEmpty = (value: unknown): boolean => Array.isArray(value) && value.length === 0

/** At most as many searches as the reservation pays for (`mostSearches`). */
const boundSearches = (sent: Record<string, unknown>): void => {
  const { tools } = sent
  if (!Array.isArray(tools)) return
  const isUnbounded = (tool: unknown): tool is JsonObject =>
    isJsonObject(tool) &&
    runnerOf(tool) === "web_search" &&
    !(typeof tool["max_uses"] === "number" && tool["max_uses"] <= mostSearches)
  if (!tools.some(isUnbounded)) return
  sent["tools"] = tools.map((tool: unknown) => (isUnbounded(tool) ? { ...tool, max_uses: mostSearches } : tool))
}

/**
 * Betas without a longer context than the host's price list has: above it vendors bill twice the price (Anthropic's page on context
 * windows, 2025-11).
 */
const pricedBetas = (
  headers: Readonly<Record<string, string>>,
  { contextLength }: Host,
  dropped: Array<string>,
): Readonly<Record<string, string>> => {
  const { "anthropic-beta": betas, ...others } = headers
  if (betas === undefined || contextLength >= longContext || !betas.includes(longContextBeta)) return headers
  const kept = betas.split(",").filter((name) => !name.startsWith(longContextBeta))
  dropped.push("anthropic-beta")
  return kept.length === 0 ? others : { ...others, "anthropic-beta": kept.join(",") }
}

const longContextBeta = "context-1m"
const longContext = 1_000_000

/** Reasoning of other vendors, which earlier turns may have from other hosts, would be refused. */
const withoutForeignThinking = (messages: unknown): unknown => {
  if (!Array.isArray(messages)) return messages
  const contentOf = (message: unknown): unknown => (isJsonObject(message) ? message["content"] : undefined)
  const hasForeign = (message: unknown) => {
    const content = contentOf(message)
    return Array.isArray(content) && content.some(isForeign)
  }
  if (!messages.some(hasForeign)) return messages
  return messages.flatMap((message: unknown) => {
    const content = contentOf(message)
    if (!isJsonObject(message) || !Array.isArray(content)) return [message]
    const kept = content.filter((block) => !isForeign(block))
    return kept.length === 0 && content.length > 0 ? [] : [{ ...message, content: kept }]
  })
}

/** The host's tier, where it has one, in place of the caller's. */
const setTier = (sent: Record<string, unknown>, { payload }: ChatRequest, dropped: Array<string>): void => {
  const { service_tier: tier }: JsonObject = tierField(payload.service_tier)
  if (tier !== undefined) sent["service_tier"] = tier
  else drop(sent, "service_tier", dropped)
}

const setChoice = (sent: Record<string, unknown>, { payload }: ChatRequest): void => {
  const choice = sent["tool_choice"]
  if (!isJsonObject(choice) || payload.parallel_tool_calls !== undefined) return
  const { disable_parallel_tool_use: _, ...rest }: JsonObject = choice
  sent["tool_choice"] = rest
}

const setOutput = (sent: Record<string, unknown>, { payload, reasoning }: ChatRequest): void => {
  const config = sent["output_config"]
  if (!isJsonObject(config)) return
  const hasEffort = payload.verbosity !== undefined || reasoning.effort !== undefined
  const hasFormat = payload.response_format !== undefined
  const kept = Object.entries(config).filter(
    ([name, value]) => value !== null && (name !== "effort" || hasEffort) && (name !== "format" || hasFormat),
  )
  if (kept.length === 0) delete sent["output_config"]
  else sent["output_config"] = Object.fromEntries(kept)
}

/** Thinking as the caller asks for it; else as the variant of the model's name does. */
const setThinking = (
  sent: Record<string, unknown>,
  kind: ThinkingKind,
  request: ChatRequest,
  maxTokens: number,
  dropped: Array<string>,
): void => {
  const { thinking, tool_choice: choice } = sent
  const wish = reasoningWish(request.reasoning)
  if (!isJsonObject(thinking)) {
    if (wish === undefined || wish === "off") return
    const asked = thinkingFor(kind, request, maxTokens, isForced(choice), turnsOf(sent["messages"]))
    if (asked.thinking !== undefined) sent["thinking"] = asked.thinking
    if (!asked.sampling) for (const { at } of samplingParameters) drop(sent, at, dropped)
    return
  }
  // The host does not reason, and requestFor says so.
  if (wish === undefined && thinking["type"] !== "disabled") delete sent["thinking"]
}

/** The host requires a budget below the output bound, which is not the caller's here. */
const boundThinking = (sent: Record<string, unknown>, maxTokens: number, dropped: Array<string>): void => {
  const { thinking } = sent
  const budget = isJsonObject(thinking) ? thinking["budget_tokens"] : undefined
  if (!isJsonObject(thinking) || typeof budget !== "number" || budget < maxTokens) return
  if (maxTokens > leastBudget) sent["thinking"] = { ...thinking, budget_tokens: maxTokens - 1 }
  else drop(sent, "thinking", dropped)
}

const hasBudget = (thinking: unknown): boolean => isJsonObject(thinking) && thinking["type"] === "enabled"

const leastBudget = 1024

const drop = (sent: Record<string, unknown>, name: string, dropped: Array<string>): void => {
  if (sent[name] === undefined) return
  delete sent[name]
  dropped.push(name)
}

const turnsOf = (messages: unknown): ReadonlyArray<Turn> =>
  (Array.isArray(messages) ? messages : []).map((message: unknown) => {
    const { role, content }: JsonObject = isJsonObject(message) ? message : {}
    return { role: role === "assistant" ? role : "user", content: Array.isArray(content) ? content : [] }
  })
