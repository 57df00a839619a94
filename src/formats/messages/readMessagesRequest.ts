/**
 * Decodes the JSON of `POST /messages` to a `ChatRequest`: the canonical form for routing, money and hosts of other forms,
 * and beside it the body for hosts that speak this form. All problems are reported at once, with paths of this form.
 */
import * as Either from "effect/Either"
import type { Mutable } from "effect/Types"
import type { BadRequest } from "../../domain/failures/Failure.ts"
import {
  anyObject,
  type Check,
  checkThat,
  described,
  type Issues,
  integer,
  listOf,
  objectOf,
  oneOf,
  quoted,
  refined,
  report,
  text,
} from "../../domain/json/checks.ts"
import { isJsonObject, type JsonObject } from "../../domain/json/json.ts"
import type { ChatPayload, Message } from "../../domain/request/chat.ts"
import { placedIn } from "../../domain/request/placedParameters.ts"
import type { ChatRequest, FormNeed, Reasoning } from "../../domain/request/request.ts"
import { stored } from "../payload/names.ts"
import { chatRequest, countOf } from "../request/chatRequest.ts"
import { dropOthers } from "../request/Dropped.ts"
import { memberTable, model, most, readMembers, refusalOf, sharedMembers, tokenCount } from "../request/members.ts"
import { isEffort, noReasoning } from "../request/reasoning.ts"
import { ruleOf } from "../request/rules.ts"
import { Translation, translatedMembers } from "./MessagesTranslation.ts"
import { choiceOf, needsWhere, ownToolAmong, parallelOf, toolChoice, toolOf, tools } from "./messagesTools.ts"
import { messagesForm } from "./nativeMessages.ts"
import { notOfMessages } from "./notOfMessages.ts"

const thinkingShape = objectOf(
  {
    type: oneOf("enabled", "disabled", "adaptive"),
    budget_tokens: described("Required where type is enabled.", integer(1, most.tokens)),
    display: oneOf("summarized", "omitted"),
  },
  "type",
)
const thinking = refined(thinkingShape, needsWhere("enabled", "budget_tokens"), (value, path, issues) => {
  if (isJsonObject(value) && value["type"] === "enabled" && value["budget_tokens"] === undefined) {
    report(issues, `${path}.budget_tokens`, "is required")
  }
})

const format = objectOf({ type: oneOf("json_schema"), schema: anyObject }, "type", "schema")
const outputConfig = objectOf({
  effort: oneOf("low", "medium", "high", "xhigh", "max"),
  format,
  task_budget: anyObject,
})

const mostFallbacks = 3
const fallbackShape = objectOf({ model }, "model")
const fallback = refined(fallbackShape, { additionalProperties: false }, (value, path, issues) => {
  for (const name in isJsonObject(value) ? value : {}) {
    if (name !== "model") report(issues, `${path}.${name}`, "is not a member of a fallback, which has only a model")
  }
})

const noEarlierMessage = checkThat(
  { type: "object", properties: { previous_message_id: { type: "null" } } },
  (value) => isJsonObject(value) && value["previous_message_id"] == null,
  stored,
)

/** Parameters that this form has with a value of the canonical form. */
const parameters = placedIn("messages").flatMap(({ name, at, check }) =>
  check === undefined ? [] : [{ name, at, check }],
)

const members: Readonly<Record<string, Check>> = {
  ...sharedMembers,
  ...notOfMessages,
  ...translatedMembers,
  ...Object.fromEntries(parameters.map(({ at, check }) => [at, check])),
  max_tokens: tokenCount,
  stop_sequences: listOf(text),
  tools,
  tool_choice: toolChoice,
  thinking,
  output_config: outputConfig,
  output_format: format,
  metadata: objectOf({ user_id: text }),
  service_tier: oneOf("auto", "standard_only", "default", "flex", "priority"),
  context_management: anyObject,
  compaction: anyObject,
  fallbacks: described("Models to try after this one. Not together with models.", listOf(fallback, mostFallbacks)),
  modalities: listOf(oneOf("text", "image")),
  diagnostics: noEarlierMessage,
}

const isGiven = { not: { type: "null" } }
const oneListOfModels = {
  not: { properties: { fallbacks: isGiven, models: isGiven }, required: ["fallbacks", "models"] },
}
const fallbacksRule = ruleOf(oneListOfModels, (body, issues) => {
  if (body["fallbacks"] != null && body["models"] != null)
    report(issues, "fallbacks", "excludes models: give one of them")
})

export const messagesTable = memberTable({
  title: "MessagesRequest",
  parameters: {},
  others: members,
  decodedApart: ["user", ...Object.keys(notOfMessages)],
  required: ["messages"],
  after: [fallbacksRule],
})

/** Known members that hosts of other forms are not sent. */
const ownMembers = ["context_management", "diagnostics"]

/** Members that are translated, or are not sent under this name. Others are passed on, since the host may know them. */
const translated: ReadonlySet<string> = new Set(Object.keys(members).filter((name) => name !== "modalities"))

export const decodeMessages = (body: JsonObject, headers: Headers): Either.Either<ChatRequest, BadRequest> => {
  const issues: Issues = []
  const read = readMembers(body, messagesTable, issues)
  const betas = betasOf(headers, issues)
  const translation = new Translation(issues)
  translation.system(body["system"])
  if (body["messages"] !== undefined) translation.turns(body["messages"])
  const refusal = refusalOf(body, read, issues)
  if (refusal !== undefined) return Either.left(refusal)
  const { payload: own, preferences, dropped } = read
  const payload = payloadOf(body, own, translation)
  const reasoning = reasoningOf(body)
  const maxTokens = countOf(body["max_tokens"])
  const named = parametersOf(payload, reasoning, maxTokens)
  const onlyForm = translation.onlyForm ?? onlyHere(body)
  const request = chatRequest({
    body: routed(body),
    payload,
    preferences,
    parameters: named,
    reasoning,
    maxTokens,
    dropped,
    native: onlyForm === undefined && translation.untranslated.length === 0 ? undefined : own,
    form: messagesForm,
    onlyForm,
    // A block that only hosts of this form know may stand for more than it is.
    unseen: translation.onlyForm !== undefined,
  })
  return Either.right({
    ...request,
    native: {
      form: messagesForm,
      body: own,
      headers: headersOf(headers, betas),
      untranslated: translation.untranslated,
      pathOf: translation.pathOf,
    },
  })
}

/** The canonical payload. The members are checked. */
const payloadOf = (body: JsonObject, own: JsonObject, translation: Translation): ChatPayload => {
  const { stop_sequences: stop, tools, tool_choice: choice, cache_control: mark } = body
  const config = isJsonObject(body["output_config"]) ? body["output_config"] : {}
  const schema = config["format"] ?? body["output_format"]
  for (const name of ownMembers) if (own[name] != null) translation.untranslated.push(name)
  if (isJsonObject(body["metadata"]))
    dropOthers(body["metadata"], metadataMembers, "metadata", translation.untranslated)
  dropOthers(config, outputMembers, "output_config", translation.untranslated)
  if (config["task_budget"] != null) translation.untranslated.push("output_config.task_budget")
  const listed = Array.isArray(tools) ? tools.filter(isJsonObject) : []
  const messages: ReadonlyArray<Message> = translation.messages
  const others: Record<string, unknown> = {}
  for (const name in own) if (!translated.has(name)) others[name] = own[name]
  const payload: Mutable<ChatPayload> = { ...others, messages }
  for (const { name, at } of parameters) if (body[at] != null) payload[name] = body[at]
  if (Array.isArray(stop)) payload.stop = stop.filter((word) => typeof word === "string")
  if (listed.length > 0)
    payload.tools = listed.map((tool, at) => toolOf(tool, `tools[${at}]`, translation.untranslated))
  if (isJsonObject(choice)) Object.assign(payload, { tool_choice: choiceOf(choice) }, parallelOf(choice))
  if (isJsonObject(schema)) {
    const inner = isJsonObject(schema["schema"]) ? schema["schema"] : {}
    payload.response_format = { type: "json_schema", json_schema: { name: "answer", schema: inner, strict: true } }
  }
  if (typeof config["effort"] === "string" && !isAdaptive(body["thinking"])) payload.verbosity = config["effort"]
  Object.assign(payload, userField(body), tierField(body["service_tier"]))
  if (isJsonObject(mark)) payload.cache_control = mark
  return payload
}

const metadataMembers = new Set(["user_id"])
const outputMembers = new Set(["effort", "format", "task_budget"])

const userField = ({ user, metadata }: JsonObject): { readonly user?: string } => {
  const id = isJsonObject(metadata) ? (metadata["user_id"] ?? user) : user
  return typeof id === "string" ? { user: id } : {}
}

const tierField = (tier: unknown): { readonly service_tier?: string } => {
  if (typeof tier !== "string") return {}
  return { service_tier: tier === "standard_only" ? "default" : tier }
}

const isAdaptive = (thinking: unknown): boolean => isJsonObject(thinking) && thinking["type"] === "adaptive"

/** Adaptive thinking goes by the effort, which without it says how long the answer is to be. */
const reasoningOf = ({ thinking, output_config: config }: JsonObject): Reasoning => {
  if (!isJsonObject(thinking)) return noReasoning
  switch (thinking["type"]) {
    case "enabled": {
      const maxTokens = countOf(thinking["budget_tokens"])
      return { ...noReasoning, maxTokens, written: { reasoning: { max_tokens: maxTokens } } }
    }
    case "adaptive": {
      const effort = isJsonObject(config) ? config["effort"] : undefined
      return isEffort(effort)
        ? { ...noReasoning, effort, written: { reasoning: { effort } } }
        : { ...noReasoning, enabled: true, written: { reasoning: { enabled: true } } }
    }
    default:
      return { ...noReasoning, enabled: false, written: { reasoning: { enabled: false } } }
  }
}

/** Members of the canonical form that a host may not support. */
const optional = [
  ...parameters.map(({ name }) => name),
  ...["stop", "tools", "tool_choice", "parallel_tool_calls", "response_format"],
  "verbosity",
]

const parametersOf = (
  payload: ChatPayload,
  reasoning: Reasoning,
  maxTokens: number | undefined,
): ReadonlyArray<string> => {
  const names = optional.filter((name) => payload[name] !== undefined)
  if (reasoning !== noReasoning) names.push("reasoning")
  if (maxTokens !== undefined) names.push("max_tokens")
  return names
}

/** The members that speak to the router, with the names that all forms share. */
const routed = (body: JsonObject): JsonObject => {
  const { fallbacks, service_tier: tier } = body
  if (!Array.isArray(fallbacks) && tier !== "standard_only") return body
  const others = Array.isArray(fallbacks)
    ? fallbacks.map((entry) => (isJsonObject(entry) ? entry["model"] : entry))
    : []
  return {
    ...body,
    ...(others.length === 0 ? {} : { models: others }),
    ...(tier === "standard_only" ? { service_tier: "default" } : {}),
  }
}

/** What only hosts of this form have, besides blocks of messages. */
const onlyHere = ({ tools, compaction }: JsonObject): FormNeed | undefined => {
  if (compaction != null) {
    return { path: "compaction", reason: "only hosts of the Messages format summarize a conversation" }
  }
  const at = Array.isArray(tools) ? ownToolAmong(tools) : -1
  if (at === -1) return undefined
  return { path: `tools[${at}]`, reason: "only hosts of the Messages format have this tool" }
}

const betaName = /^[a-zA-Z0-9._-]{1,64}$/

/** Betas that reach what belongs to the operator. */
const refusedBetas = /^(?:mcp-tunnels|managed-agents|agent-memory|message-threads|user-profiles)/

/** Names in `anthropic-beta` and `x-anthropic-beta`, each once. */
const betasOf = (headers: Headers, issues: Issues): ReadonlyArray<string> => {
  const names: Array<string> = []
  for (const header of ["anthropic-beta", "x-anthropic-beta"]) {
    for (const name of (headers.get(header) ?? "").split(",").map((word) => word.trim())) {
      if (name === "" || names.includes(name)) continue
      if (!betaName.test(name)) report(issues, header, `${quoted(name)} is not the name of a beta`)
      else if (refusedBetas.test(name)) report(issues, header, `${quoted(name)} ${stored}`)
      else names.push(name)
    }
  }
  return names
}

const headersOf = (headers: Headers, betas: ReadonlyArray<string>): Readonly<Record<string, string>> => {
  const version = headers.get("anthropic-version")
  return {
    ...(version !== null && /^[0-9a-z-]{1,32}$/.test(version) ? { "anthropic-version": version } : {}),
    ...(betas.length === 0 ? {} : { "anthropic-beta": betas.join(",") }),
  }
}
