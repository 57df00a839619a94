/** A canonical request as a call of Converse or ConverseStream. */
import * as Either from "effect/Either"
import {
  baseModelOf,
  betasFor,
  type ChatPayload,
  type ChatRequest,
  type Conversation,
  type Encoded,
  effortFor,
  exactSchema,
  type Host,
  isJsonObject,
  type JsonObject,
  jsonBody,
  lostOfMessages,
  objectIn,
  objectsIn,
  reasoningWish,
  type Turn,
  thinkingFor,
  Unsupported,
  withFunctions,
} from "headgate/plugin"
import { type Family, familyOf, novaReasons, pathOf, thinkingKindOf } from "../model.ts"
import { cachePoint, conversationOf } from "./converseMessages.ts"
import { type Tools, toolsOf } from "./converseTools.ts"

export const encodeConverse = (request: ChatRequest, host: Host): Either.Either<Encoded, Unsupported> => {
  const lost: Array<string> = []
  const payload = withFunctions(request.payload, lost)
  const family = familyOf(host)
  const betas = family === "claude" ? betasFor("bedrock", request.native, host, lost) : []
  const conversation = conversationOf(payload.messages, family)
  if (conversation instanceof Unsupported) return Either.left(conversation)
  const tools = toolsOf(payload, conversation, family, host)
  if (tools instanceof Unsupported) return Either.left(tools)
  // The gateway writes a stream out of a whole answer.
  const stream = request.stream && (tools.config === undefined || host.streamsTools !== false)
  const own = ownFields(request, host, family, conversation, tools)
  const fields = betas.length === 0 ? own.fields : { ...own.fields, anthropic_beta: betas }
  if (family !== "claude" && family !== "nova") lost.push(...lostOfMessages(payload.messages, ["marks"]))
  const marks = cachePoint(payload, family)
  const turns = marks.length === 0 ? conversation.turns : withMarkedEnd(conversation, tools, marks, family)
  const isMarked = turns.at(-1)?.content.at(-1)?.["cachePoint"] !== undefined
  if (payload.cache_control != null && !isMarked) lost.push("cache_control")
  const bound = boundOf(request, host)
  const format = textFormat(payload)
  const tier = tierOf(payload.service_tier)
  const body: JsonObject = {
    ...(conversation.system.length === 0 ? {} : { system: conversation.system }),
    messages: turns,
    inferenceConfig: {
      // The context is no bound of the output: with it, a prompt of any length would be too long.
      ...(request.maxTokens === undefined && bound === host.contextLength ? {} : { maxTokens: bound }),
      ...(own.sampling ? samplingOf(payload, family) : {}),
      ...stopOf(payload.stop),
    },
    ...(tools.config === undefined ? {} : { toolConfig: tools.config }),
    ...(format === undefined ? {} : { outputConfig: { textFormat: format } }),
    ...(tier === undefined ? {} : { serviceTier: { type: tier } }),
    ...(Object.keys(fields).length === 0 ? {} : { additionalModelRequestFields: fields }),
  }
  return Either.right({
    path: pathOf(host, stream ? "converse-stream" : "converse"),
    ...(stream ? { headers: { accept: "application/vnd.amazon.eventstream" } } : {}),
    ...jsonBody(body),
    dropped: [...lost, ...conversation.dropped, ...tools.dropped, ...droppedOf(request, body, own, tools)],
  })
}

/** The host takes no more marks (AWS's page on prompt caching, 2026-11). */
const mostMarks = 4

/**
 * The turns with a mark at their end, which `cache_control` of the body asks for. The same turns, where the model takes
 * none there: Nova takes marks beside text and media only, and thinking takes none.
 */
const withMarkedEnd = (
  { system, turns }: Conversation,
  { config }: Tools,
  marks: ReadonlyArray<JsonObject>,
  family: Family,
): ReadonlyArray<Turn> => {
  const last = turns.at(-1)
  const block = last?.content.at(-1)
  if (last === undefined || block === undefined) return turns
  const others = [...system, ...objectsIn(config?.["tools"]), ...turns.flatMap(({ content }) => content)]
  const isFull = others.filter((one) => one["cachePoint"] !== undefined).length >= mostMarks
  const isTaken =
    block["reasoningContent"] === undefined &&
    (family !== "nova" || (block["toolUse"] === undefined && block["toolResult"] === undefined))
  if (isFull || !isTaken || block["cachePoint"] !== undefined) return turns
  return turns.with(-1, { ...last, content: [...last.content, ...marks] })
}

const boundOf = ({ maxTokens }: ChatRequest, { maxCompletionTokens }: Host): number =>
  Math.min(maxTokens ?? maxCompletionTokens, maxCompletionTokens)

/** Temperatures go to 1 here. Newer models of Claude refuse temperature and top_p together, so they get one of them. */
const samplingOf = ({ temperature, top_p: topP }: ChatPayload, family: Family): JsonObject => ({
  ...(temperature == null ? {} : { temperature: Math.min(temperature, 1) }),
  ...(topP == null || (family === "claude" && temperature != null) ? {} : { topP }),
})

const stopTexts = (stop: ChatPayload["stop"]): ReadonlyArray<string> =>
  typeof stop === "string" ? [stop] : (stop ?? [])

const isBlank = (text: string): boolean => text.trim() === ""

/** Claude refuses a blank one. */
const stopOf = (stop: ChatPayload["stop"]): JsonObject => {
  const texts = stopTexts(stop).filter((text) => !isBlank(text))
  return texts.length === 0 ? {} : { stopSequences: texts }
}

/** The host wants the schema as text. A JSON object without a schema has no counterpart. */
const textFormat = ({ response_format: format }: ChatPayload): JsonObject | undefined => {
  const wanted = format?.type === "json_schema" ? format.json_schema : undefined
  if (wanted?.schema == null) return undefined
  const { name, schema, description } = wanted
  const described = typeof description === "string" ? { description } : {}
  return {
    type: "json_schema",
    structure: { jsonSchema: { name, ...described, schema: JSON.stringify(exactSchema(schema)) } },
  }
}

const tiers: ReadonlySet<unknown> = new Set(["default", "flex", "priority"])

const tierOf = (tier: string | null | undefined): string | undefined =>
  tiers.has(tier) && typeof tier === "string" ? tier : undefined

/** What Converse has no member for, in the words of the model's vendor. */
interface OwnFields {
  /** Value of `additionalModelRequestFields`. */
  readonly fields: JsonObject
  /** Whether temperature and top_p may be sent along. */
  readonly sampling: boolean
  /** Whether the caller's wish for reasoning is met, or there is none. */
  readonly reasons: boolean
}

const ownFields = (
  request: ChatRequest,
  host: Host,
  family: Family,
  { turns }: Conversation,
  tools: Tools,
): OwnFields => {
  const { payload, reasoning } = request
  const wish = reasoningWish(reasoning)
  const asked = wish !== undefined && wish !== "off"
  const k = payload.top_k == null || payload.top_k === 0 ? undefined : payload.top_k
  switch (family) {
    case "claude":
      return claudeFields(request, host, turns, tools)
    case "nova": {
      // The highest effort is not offered: with it the host takes no bound on the output, and the reservation needs
      // one.
      const effort = asked && novaReasons(host) ? effortOf(request, host, ["low", "medium"]) : undefined
      const config = effort === undefined ? {} : { reasoningConfig: { type: "enabled", maxReasoningEffort: effort } }
      const sampled = k === undefined ? {} : { inferenceConfig: { topK: k } }
      return { fields: { ...config, ...sampled }, sampling: true, reasons: !asked || effort !== undefined }
    }
    case "gpt-oss": {
      const effort = asked ? { reasoning_effort: effortOf(request, host, ["low", "medium", "high"]) } : {}
      return { fields: effort, sampling: true, reasons: true }
    }
    case "cohere":
      return { fields: k === undefined ? {} : { k }, sampling: true, reasons: !asked }
    default:
      return { fields: {}, sampling: true, reasons: !asked }
  }
}

/** The nearest effort that the model knows. */
const effortOf = (request: ChatRequest, host: Host, known: ReadonlyArray<"low" | "medium" | "high">): string => {
  const wish = reasoningWish(request.reasoning)
  if (wish === undefined || wish === "off") return "low"
  if (wish.tokens !== undefined) return effortFor(wish.tokens, boundOf(request, host), known)
  if (wish.effort === "minimal" || wish.effort === "low") return "low"
  return known.find((effort) => effort === wish.effort) ?? known.at(-1) ?? "low"
}

const claudeFields = (
  request: ChatRequest,
  host: Host,
  turns: ReadonlyArray<Turn>,
  { additional, forced }: Tools,
): OwnFields => {
  const { payload, reasoning } = request
  const lastTurns = turns.slice(-2).map(asThinkingSeesIt)
  const { thinking, effort, sampling } = thinkingFor(
    thinkingKindOf(baseModelOf(host), host.model),
    request,
    boundOf(request, host),
    forced,
    lastTurns,
  )
  const verbosity = host.supportedParameters.includes("verbosity") ? payload.verbosity : undefined
  const wanted = effort ?? verbosity
  const k = payload.top_k
  const wish = reasoningWish(reasoning)
  const thinks = isJsonObject(thinking) && thinking["type"] !== "disabled"
  return {
    fields: {
      ...additional,
      ...(thinking === undefined ? {} : { thinking }),
      ...(wanted == null ? {} : { output_config: { effort: wanted } }),
      ...(k == null || k === 0 || !sampling ? {} : { top_k: k }),
    },
    sampling,
    reasons: wish === undefined || wish === "off" || thinks || isJsonObject(payload["thinking"]),
  }
}

/** The turn in the words of the Messages API, as far as the rules of thinking read it. */
const asThinkingSeesIt = (turn: Turn) => ({
  role: turn.role,
  content: turn.content.map((block) => {
    if (block["reasoningContent"] !== undefined) return { type: "thinking" }
    return { type: block["toolResult"] === undefined ? "other" : "tool_result" }
  }),
})

/** Members that are translated wherever the model allows it; `droppedOf` says where it did not. */
const translated: ReadonlySet<string> = new Set([
  ...["messages", "tools", "tool_choice", "stop", "temperature", "top_p", "top_k", "response_format", "service_tier"],
  ...["parallel_tool_calls", "verbosity", "thinking", "cache_control"],
])

/** Names of the caller's members that are not sent to the host in any form. */
const droppedOf = (
  { payload, reasoning }: ChatRequest,
  body: JsonObject,
  { fields, reasons }: OwnFields,
  { additional, config }: Tools,
): ReadonlyArray<string> => {
  const dropped = Object.keys(payload).filter((name) => payload[name] != null && !translated.has(name))
  const inference = objectIn(body["inferenceConfig"])
  const drop = (name: string, isSent: boolean): void => {
    if (payload[name] != null && !isSent) dropped.push(name)
  }
  drop("stop", !stopTexts(payload.stop).some(isBlank))
  drop("temperature", inference["temperature"] !== undefined)
  drop("top_p", inference["topP"] !== undefined)
  drop("top_k", payload.top_k === 0 || ["top_k", "k", "inferenceConfig"].some((name) => fields[name] !== undefined))
  drop("response_format", payload.response_format?.type === "text" || body["outputConfig"] !== undefined)
  drop("service_tier", payload.service_tier === "auto" || body["serviceTier"] !== undefined)
  // Without tools there is nothing to be called in parallel.
  const isAlone = payload.parallel_tool_calls !== false || additional["tool_choice"] !== undefined
  drop("parallel_tool_calls", isAlone || config === undefined)
  drop("verbosity", objectIn(fields["output_config"])["effort"] === payload.verbosity)
  drop("thinking", fields["thinking"] !== undefined)
  if (!reasons) dropped.push(reasoning.written["reasoning"] == null ? "reasoning_effort" : "reasoning")
  return dropped
}
