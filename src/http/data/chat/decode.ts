/**
 * Decodes the JSON of a chat completion to a `ChatRequest`. All problems are reported at once, at most ten. Plain
 * functions and a table, since it runs on every request (see `../../decode/checks.ts`). Optional members may be null.
 * Ranges that depend on the host are left to the host.
 */
import * as Either from "effect/Either"
import type { ChatPayload, Message } from "../../../domain/Chat.ts"
import { BadRequest } from "../../../domain/Failure.ts"
import { isJsonObject, type JsonObject } from "../../../domain/Json.ts"
import { noPreferences, type Preferences } from "../../../domain/Preferences.ts"
import {
  type ChatRequest,
  type Effort,
  mostSearches,
  type Needs,
  noNeeds,
  type Reasoning,
  routerOnly,
} from "../../../domain/Request.ts"
import {
  anyInteger,
  anyObject,
  anything,
  byType,
  type Check,
  filledText,
  flag,
  type Issues,
  integer,
  listOf,
  matching,
  numberWithin,
  objectOf,
  oneOf,
  onlyKnown,
  orNull,
  quoted,
  report,
  shortText,
  text,
} from "../../decode/checks.ts"
import { decodePreferences, withSiblings } from "../../decode/preferences.ts"
import { measure, messages, textContent } from "./messages.ts"
import { otherTool, plugins, preset, transforms } from "./otherRouters.ts"

/** See docs/guarantees.md#g30. */
const most = { tools: 512, models: 16, stop: 4, metadata: 16, tokens: 2 ** 31 - 1 }

const malformedModel = /\p{Cc}|[\u2028\u2029]|\.\.[/\\]|%00/u

const model: Check = (value, path, issues) => {
  if (typeof value !== "string" || value === "") report(issues, path, "must be a non-empty string")
  else if (value.length > 256 || malformedModel.test(value))
    report(issues, path, `${quoted(value)} is not a valid model ID`)
}

const name = matching(/^[a-zA-Z0-9_-]{1,64}$/, "must be 1 to 64 letters, digits, underscores and dashes")
const maybeText = orNull(text)
const maybeFlag = orNull(flag)
const maybeObject = orNull(anyObject)
const effort = oneOf("max", "xhigh", "high", "medium", "low", "minimal", "none")

const toolTypes: ReadonlyMap<string, Check> = new Map([
  [
    "function",
    objectOf(
      { function: objectOf({ name, description: maybeText, parameters: maybeObject, strict: maybeFlag }, "name") },
      "function",
    ),
  ],
])

const tools = listOf(byType(toolTypes, otherTool), most.tools)

const namedChoice = byType(
  new Map([["function", objectOf({ function: objectOf({ name: filledText }, "name") }, "function")]]),
  () => {},
)
const wordChoice = oneOf("none", "auto", "required")
const toolChoice: Check = (value, path, issues) => (isJsonObject(value) ? namedChoice : wordChoice)(value, path, issues)

const formats: ReadonlyMap<string, Check> = new Map([
  ["text", anything],
  ["json_object", anything],
  [
    "json_schema",
    objectOf(
      { json_schema: objectOf({ name, description: maybeText, schema: maybeObject, strict: maybeFlag }, "name") },
      "json_schema",
    ),
  ],
  ["grammar", objectOf({ grammar: text }, "grammar")],
  ["python", anything],
])

const reasoning = objectOf({
  effort: orNull(effort),
  max_tokens: orNull(integer(0, most.tokens)),
  enabled: flag,
  exclude: flag,
  summary: orNull(oneOf("auto", "concise", "detailed")),
  context: oneOf("auto", "all_turns", "current_turn"),
  mode: oneOf("standard", "pro"),
})

const stops = listOf(text, most.stop)
const stop: Check = (value, path, issues) => {
  if (Array.isArray(value)) stops(value, path, issues)
  else if (typeof value !== "string") report(issues, path, "must be a string or an array of strings")
}

const bias = numberWithin(-100, 100)
const logitBias: Check = (value, path, issues) => {
  if (!isJsonObject(value)) return report(issues, path, "must be an object")
  for (const token in value) bias(value[token], `${path}[${quoted(token)}]`, issues)
}

const metadataValue = shortText(512)
const metadata: Check = (value, path, issues) => {
  if (!isJsonObject(value)) return report(issues, path, "must be an object")
  const names = Object.keys(value)
  if (names.length > most.metadata)
    report(issues, path, `must have at most ${most.metadata} members, not ${names.length}`)
  for (const key of names) {
    if (key.length > 64) report(issues, path, `${quoted(key)} is longer than 64 characters`)
    metadataValue(value[key], `${path}[${quoted(key)}]`, issues)
  }
}

const tokenCount = orNull(integer(1, most.tokens))
const share = orNull(numberWithin(0, 1))
const penalty = orNull(numberWithin(-2, 2))
const answers = orNull(integer(1, 8))

/** Parameters that a host may or may not support (`supported_parameters`). */
const optional: Readonly<Record<string, Check>> = {
  temperature: orNull(numberWithin(0, 2)),
  top_p: share,
  top_k: orNull(integer(0, most.tokens)),
  min_p: share,
  top_a: share,
  frequency_penalty: penalty,
  presence_penalty: penalty,
  repetition_penalty: orNull(numberWithin(0, 2)),
  max_tokens: tokenCount,
  max_completion_tokens: tokenCount,
  logit_bias: orNull(logitBias),
  logprobs: maybeFlag,
  top_logprobs: orNull(integer(0, 20)),
  prediction: orNull(objectOf({ type: oneOf("content"), content: textContent }, "type", "content")),
  seed: orNull(anyInteger),
  response_format: orNull(byType(formats, onlyKnown(formats))),
  structured_outputs: maybeFlag,
  stop: orNull(stop),
  tools: orNull(tools),
  tool_choice: orNull(toolChoice),
  parallel_tool_calls: maybeFlag,
  include_reasoning: maybeFlag,
  reasoning: orNull(reasoning),
  reasoning_effort: orNull(effort),
  web_search_options: anyObject,
  verbosity: orNull(oneOf("low", "medium", "high", "xhigh", "max")),
}

const others: Readonly<Record<string, Check>> = {
  messages,
  prompt: text,
  model: orNull(model),
  models: listOf(model, most.models),
  route: orNull(oneOf("fallback", "sort")),
  preset,
  stream: maybeFlag,
  stream_options: orNull(objectOf({ include_usage: maybeFlag })),
  usage: orNull(objectOf({ include: maybeFlag })),
  n: answers,
  best_of: answers,
  service_tier: orNull(oneOf("auto", "default", "fast", "flex", "priority", "scale")),
  modalities: orNull(listOf(oneOf("text", "image", "audio"))),
  image_config: anyObject,
  audio: anyObject,
  cache_control: objectOf({ type: oneOf("ephemeral"), ttl: oneOf("5m", "1h") }, "type"),
  prompt_cache_key: maybeText,
  prompt_cache_options: maybeObject,
  session_id: shortText(256),
  user: maybeText,
  metadata: orNull(metadata),
  trace: anyObject,
  plugins,
  transforms,
  stop_server_tools_when: listOf(anyObject, Number.POSITIVE_INFINITY, 1),
  debug: anyObject,
}

interface Member {
  readonly check: Check
  readonly kind: "parameter" | "other" | "dropped"
}

/** Credentials and addresses, which only the configuration may set. See docs/guarantees.md#g29. */
const dropped = [
  "api_base",
  "base_url",
  "api_key",
  "api_version",
  "organization",
  "headers",
  "extra_headers",
  "extra_body",
  "extra_query",
  "timeout",
]

const members: ReadonlyMap<string, Member> = new Map<string, Member>([
  ...Object.entries(optional).map(([key, check]) => [key, { check, kind: "parameter" }] as const),
  ...Object.entries(others).map(([key, check]) => [key, { check, kind: "other" }] as const),
  ...dropped.map((key) => [key, { check: anything, kind: "dropped" }] as const),
])

const requireMembers = (body: JsonObject, issues: Issues): void => {
  if (body["model"] == null) {
    const { models } = body
    if (models === undefined) {
      report(
        issues,
        "model",
        body["model"] === null ? "must be a non-empty string" : "is required, or models in its place",
      )
    } else if (Array.isArray(models) && models.length === 0) report(issues, "models", "must name at least one model")
  }
  if (body["messages"] === undefined) report(issues, "messages", "is required")
}

/** Effort, its shorthand and a token budget exclude each other, unless they agree. */
const checkReasoning = (body: JsonObject, issues: Issues): void => {
  const { reasoning: asked, reasoning_effort: shorthand } = body
  if (!isJsonObject(asked)) return
  if (asked["max_tokens"] != null && (asked["effort"] ?? shorthand) != null) {
    report(issues, "reasoning", "takes either an effort or max_tokens, not both")
  }
  if (shorthand != null && asked["effort"] != null && asked["effort"] !== shorthand) {
    report(issues, "reasoning_effort", "differs from reasoning.effort")
  }
}

const modelsOf = (body: JsonObject): ReadonlyArray<string> => {
  const wanted = typeof body["model"] === "string" ? [body["model"]] : []
  const { models } = body
  return Array.isArray(models) ? [...new Set([...wanted, ...models.filter((id) => typeof id === "string")])] : wanted
}

const countOf = (value: unknown): number | undefined => (typeof value === "number" ? value : undefined)

const sessionOf = (session: unknown): { readonly session?: string } =>
  typeof session === "string" && session !== "" ? { session } : {}

/** Members that become fields of `ChatRequest`. Protocols encode them for each host. */
const decodedApart: ReadonlySet<string> = new Set([
  // As a member of a new object it would become its prototype.
  "__proto__",
  ...["model", "stream", "stream_options", "max_tokens", "max_completion_tokens"],
  ...["reasoning", "reasoning_effort", "include_reasoning"],
])

const isSent = (member: string): boolean =>
  !routerOnly.has(member) && !decodedApart.has(member) && members.get(member)?.kind !== "dropped"

const noReasoning: Reasoning = {
  effort: undefined,
  maxTokens: undefined,
  enabled: undefined,
  exclude: false,
  written: {},
}

/** Combines the three members for reasoning, which were checked before. */
const reasoningOf = (body: JsonObject): Reasoning => {
  const { reasoning: asked, reasoning_effort: shorthand, include_reasoning: include } = body
  if (asked == null && shorthand == null && include == null) return noReasoning
  const { effort: named, max_tokens: maxTokens, enabled, exclude }: JsonObject = isJsonObject(asked) ? asked : {}
  const effort = named ?? shorthand
  return {
    effort: isEffort(effort) ? effort : undefined,
    maxTokens: countOf(maxTokens),
    enabled: typeof enabled === "boolean" ? enabled : undefined,
    exclude: include === false || exclude === true,
    written: {
      ...(asked == null ? {} : { reasoning: asked }),
      ...(shorthand == null ? {} : { reasoning_effort: shorthand }),
      ...(include == null ? {} : { include_reasoning: include }),
    },
  }
}

const efforts: ReadonlySet<unknown> = new Set<Effort>(["none", "minimal", "low", "medium", "high", "xhigh", "max"])

const isEffort = (value: unknown): value is Effort => efforts.has(value)

/** The most web searches that the request is assumed to cause: one where it does not ask for any, for a host that always searches. */
const searchesIn = (body: JsonObject): number => {
  const tools: ReadonlyArray<unknown> = Array.isArray(body["tools"]) ? body["tools"] : []
  const searches = (tool: unknown) => isJsonObject(tool) && String(tool["type"]).includes("web_search")
  return body["web_search_options"] != null || tools.some(searches) ? mostSearches : 1
}

/** What the request needs of a host besides parameters; checked before. */
const needsOf = (body: JsonObject, inputs: Needs["inputs"]): Needs => {
  const { tool_choice: choice, modalities } = body
  if (choice == null && modalities == null && inputs.length === 0) return noNeeds
  const outputs: ReadonlyArray<unknown> = Array.isArray(modalities) ? modalities : []
  return {
    inputs,
    outputs: outputs.filter((kind) => typeof kind === "string" && kind !== "text").map(String),
    toolChoice: toolChoiceOf(choice),
  }
}

const toolChoiceOf = (choice: unknown): Needs["toolChoice"] => {
  if (choice === "none" || choice === "auto" || choice === "required") return choice
  return isJsonObject(choice) && choice["type"] === "function" ? "function" : undefined
}

/** `bodyBytes`: length of the body as received. The request refers to `body`, which must not change any more. */
export const decodeChat = (body: JsonObject, bodyBytes: number): Either.Either<ChatRequest, BadRequest> => {
  const issues: Issues = []
  const parameters: Array<string> = []
  const payload: Record<string, unknown> = {}
  let preferences: Preferences = noPreferences
  requireMembers(body, issues)
  for (const key in body) {
    const value = body[key]
    if (value === undefined) continue
    if (key === "provider") {
      preferences = decodePreferences(value, key, issues)
      continue
    }
    if (isSent(key)) payload[key] = value
    const member = members.get(key)
    // Some clients write null for fields that are not set.
    if (member === undefined || (value === null && key !== "messages")) continue
    member.check(value, key, issues)
    if (member.kind === "parameter") parameters.push(key)
  }
  checkReasoning(body, issues)
  const [first, ...rest] = issues
  if (first !== undefined) return Either.left(new BadRequest({ issues: [first, ...rest] }))
  return Either.right(requestOf(body, checkedPayload(payload), withSiblings(preferences, body), parameters, bodyBytes))
}

/** The checks above guarantee the type: required members are present, and known members have their type. */
const checkedPayload = (payload: Record<string, unknown>): ChatPayload => payload as unknown as ChatPayload

const requestOf = (
  body: JsonObject,
  payload: ChatPayload,
  preferences: Preferences,
  parameters: ReadonlyArray<string>,
  bodyBytes: number,
): ChatRequest => {
  const maxTokens = countOf(body["max_completion_tokens"]) ?? countOf(body["max_tokens"])
  const turns: ReadonlyArray<Message> = payload.messages
  const measured = measure(turns)
  const toolBytes = payload.tools == null ? 0 : Buffer.byteLength(JSON.stringify(payload.tools))
  return {
    operation: "chat",
    routing: {
      models: modelsOf(body),
      preferences,
      parameters,
      needs: needsOf(body, measured.inputs),
      ...sessionOf(body["session_id"]),
    },
    bounds: {
      promptBytes: bodyBytes,
      mediaBytes: measured.mediaBytes,
      mediaParts: measured.mediaParts,
      textBytes: measured.textBytes + toolBytes,
      messages: turns.length,
      images: measured.images,
      searches: searchesIn(body),
      maxTokens,
      // A host that picks the best of several answers bills them all.
      choices: Math.max(countOf(body["n"]) ?? 1, countOf(body["best_of"]) ?? 1),
    },
    stream: body["stream"] === true,
    maxTokens,
    reasoning: reasoningOf(body),
    payload,
  }
}
