/**
 * What the bodies of all forms have in common: the members that speak to the router, parameters of sampling, and how a body
 * is read member by member. A form adds its own members to the table.
 */

import { BadRequest } from "../../domain/failures/Failure.ts"
import { isJsonObject, type JsonObject } from "../../domain/json/Json.ts"
import { mostTokens } from "../../domain/request/chatParameters.ts"
import { normalName } from "../../domain/request/hostedTools.ts"
import { asksNothing } from "../../domain/request/neutralMembers.ts"
import { noPreferences, type Preferences } from "../../domain/request/Preferences.ts"
import { parameterChecks } from "../../domain/request/placedParameters.ts"
import { routerOnly } from "../../domain/request/Request.ts"
import { findingInBody } from "../../services/payload/walk.ts"
import {
  anyObject,
  anything,
  type Check,
  flag,
  type Issues,
  integer,
  listOf,
  objectOf,
  oneOf,
  orNull,
  quoted,
  report,
  shortText,
  text,
} from "./checks.ts"
import { checkInnerJson } from "./innerJson.ts"
import { operatorMembers, refused } from "./operatorMembers.ts"
import { plugins, preset, transforms } from "./otherRouters.ts"
import { decodePreferences } from "./preferences.ts"
import { reasoningMembers } from "./reasoning.ts"

/** See docs/guarantees.md#g30. */
export const most = { members: 1024, tools: 512, models: 16, metadata: 16, inputs: 2048, tokens: mostTokens }

export const maybeText = orNull(text)
export const maybeFlag = orNull(flag)
export const maybeObject = orNull(anyObject)

const malformedModel = /\p{Cc}|[\u2028\u2029]|\.\.[/\\]|%00/u

export const model: Check = (value, path, issues) => {
  if (typeof value !== "string" || value === "") report(issues, path, "must be a non-empty string")
  else if (value.length > 256 || malformedModel.test(value))
    report(issues, path, `${quoted(value)} is not a valid model ID`)
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

export const tokenCount = orNull(integer(1, most.tokens))

/** Parameters of the canonical form that a host may or may not support (`supported_parameters`). */
export const samplingMembers: Readonly<Record<string, Check>> = { ...parameterChecks, ...reasoningMembers }

const tiers = oneOf("auto", "default", "fast", "flex", "priority", "scale")

/** A tier without a price is refused with a sentence, and not as an unknown word. */
const serviceTier: Check = (value, path, issues) => {
  if (value === "ultrafast") report(issues, path, "is a tier that this gateway has no price for: use priority")
  else tiers(value, path, issues)
}

const cacheShape = objectOf({ mode: maybeText, prewarm: maybeFlag })

/** Options of OpenAI's prompt cache. Prices of caches are those of the usual time, so no other may be asked for. */
const cacheOptions: Check = (value, path, issues) => {
  cacheShape(value, path, issues)
  if (!isJsonObject(value)) return
  const { ttl, prewarm } = value
  if (ttl != null && ttl !== "30m")
    report(issues, `${path}.ttl`, "must be 30m: the gateway has no price for a longer time")
  if (prewarm === true)
    report(issues, `${path}.prewarm`, "is not supported: the gateway sends requests for their answers")
}

/** Members that mean the same in every form and are no parameters. `provider` is read by `readMembers` itself. */
export const sharedMembers = {
  model: orNull(model),
  models: listOf(model, most.models),
  route: orNull(oneOf("fallback", "sort")),
  preset,
  stream: maybeFlag,
  stream_options: orNull(objectOf({ include_usage: maybeFlag })),
  usage: orNull(objectOf({ include: maybeFlag })),
  service_tier: orNull(serviceTier),
  cache_control: objectOf({ type: oneOf("ephemeral"), ttl: oneOf("5m", "1h") }, "type"),
  prompt_cache_key: maybeText,
  prompt_cache_options: orNull(cacheOptions),
  session_id: shortText(256),
  user: maybeText,
  metadata: orNull(metadata),
  trace: anyObject,
  plugins,
  transforms,
  stop_server_tools_when: listOf(anyObject, Number.POSITIVE_INFINITY, 1),
  debug: anyObject,
  background: refused(
    "must be false: an answer in the background could not be fetched here",
    (value) => value === false,
  ),
  ...operatorMembers,
} satisfies Readonly<Record<string, Check>>

/** Credentials and addresses, which only the configuration may set. See docs/guarantees.md#g29. */
export const credentialMembers: ReadonlyArray<string> = [
  ...["api_base", "base_url", "api_key", "api_version", "organization", "headers"],
  ...["extra_headers", "extra_body", "extra_query", "timeout"],
]

/**
 * Members by which a caller could change what an answer costs, beside the bounds that the gateway writes, or reach what is not the
 * caller's: whatever host would take them, none is sent them. Neither is a second name of a bound, nor what loads code or weights.
 */
export const costlyMembers: ReadonlyArray<string> = [
  // Searches and data that a host brings along by itself.
  ...["search_parameters", "enable_search", "search_options", "num_search_results", "search_context_size"],
  ...["dataSources", "grounding", "web_search", "enable_web_search", "online"],
  // More output, or other output, than was bounded.
  ...["min_tokens", "min_new_tokens", "ignore_eos", "n_predict", "num_predict", "max_new_tokens", "max_length"],
  ...["max_output_tokens", "max_tokens_to_sample", "num_generations", "num_return_sequences", "num_completions"],
  ...["n_best", "use_beam_search", "beam_width", "num_beams", "prompt_logprobs"],
  // What a server would load, or take over from another.
  ...["kv_transfer_params", "lora_path", "lora_request", "lora", "adapter_id", "adapter_source", "chat_template"],
  ...[
    "bootstrap_host",
    "bootstrap_port",
    "bootstrap_room",
    "id_slot",
    "slot_id",
    "data_parallel_rank",
    "control_vectors",
  ],
  ...["guided_decoding_backend", "logits_processors", "custom_logit_processor", "vllm_xargs", "priority"],
  ...["request_id", "return_hidden_states", "mm_processor_kwargs", "media_io_kwargs"],
  // Answers that come later, from somewhere else, or are kept.
  ...["background", "deferred", "async", "webhook", "webhook_url", "callback_url", "store", "context_management"],
  ...["moderation", "access_programs", "amazon-bedrock-guardrailConfig", "guardrail_config", "data_sources"],
  ...["cost_center", "billing", "safeguards"],
]

interface Member {
  readonly check: Check
  readonly kind: "parameter" | "other" | "dropped"
}

/** How the members of one form's bodies are read. Members that are not listed are passed on unchecked. */
export interface MemberTable {
  readonly members: ReadonlyMap<string, Member>
  /** Members that are not copied into the payload. */
  readonly notSent: ReadonlySet<string>
  /** Members that may not be null. */
  readonly required: ReadonlySet<string>
  /** The members that this form knows, by their normal names (`normalName`). */
  readonly known: ReadonlyMap<string, string>
}

/** `decodedApart`: members of this form that become fields of `ChatRequest`, or that it translates. */
export const memberTable = (
  parameters: Readonly<Record<string, Check>>,
  others: Readonly<Record<string, Check>>,
  decodedApart: ReadonlyArray<string>,
  required: ReadonlyArray<string>,
): MemberTable => {
  const members = new Map<string, Member>([
    ...Object.entries(parameters).map(([key, check]) => [key, { check, kind: "parameter" }] as const),
    ...Object.entries(others).map(([key, check]) => [key, { check, kind: "other" }] as const),
  ])
  const notKnown = [...credentialMembers, ...costlyMembers].filter((key) => !members.has(key))
  for (const key of notKnown) members.set(key, { check: anything, kind: "dropped" })
  return {
    members,
    // As a member of a new object `__proto__` would become its prototype.
    notSent: new Set([...routerOnly, ...decodedApart, "background", "__proto__"]),
    required: new Set(required),
    known: new Map([...members.keys(), ...routerOnly, ...decodedApart].map((key) => [normalName(key), key])),
  }
}

export interface ReadMembers {
  /** The members that are sent to hosts, as they were written. */
  readonly payload: Record<string, unknown>
  readonly preferences: Preferences
  /** Names of the parameters in the body. */
  readonly parameters: Array<string>
  /** Names of members that no host is sent, in whatever spelling. */
  readonly dropped: ReadonlyArray<string>
}

/** Checks every member of a body. Problems are added to `issues`; the result is valid only if there are none. */
export const readMembers = (body: JsonObject, table: MemberTable, issues: Issues): ReadMembers => {
  const parameters: Array<string> = []
  const payload: Record<string, unknown> = {}
  let preferences: Preferences = noPreferences
  // Appended to in place: a caller may send as many such members as a body may have.
  const dropped: Array<string> = []
  let count = 0
  for (const key in body) {
    // Each is copied and judged several times, for each host anew.
    if (++count > most.members) {
      report(issues, "", `The body must have at most ${most.members} members`)
      break
    }
    const value = body[key]
    if (value === undefined) continue
    if (key === "provider") {
      preferences = decodePreferences(value, key, issues)
      continue
    }
    const member = table.members.get(key)
    // Another spelling of a name that is known may be the same to a host.
    if (member?.kind === "dropped" || (member === undefined && isRespelt(key, table))) {
      if (!asksNothing(key, value)) dropped.push(key)
      continue
    }
    if (!table.notSent.has(key)) payload[key] = value
    // Some clients write null for fields that are not set.
    if (member === undefined || (value === null && !table.required.has(key))) continue
    member.check(value, key, issues)
    if (member.kind === "parameter") parameters.push(key)
  }
  return { payload, preferences, parameters, dropped }
}

/**
 * The refusal of a body after all checks of its form; `undefined`: it is accepted. Every form ends its checks with this, so that none
 * has to look by itself for what no host may be sent.
 */
export const refusalOf = (body: JsonObject, { dropped }: ReadMembers, issues: Issues): BadRequest | undefined => {
  if (issues.length === 0) checkInnerJson(body, issues)
  if (issues.length === 0) {
    const found = findingInBody(body, dropped)
    if (found !== undefined) report(issues, found.path, found.reason)
  }
  const [first, ...rest] = issues
  return first === undefined ? undefined : new BadRequest({ issues: [first, ...rest] })
}

/** Whether a member that this form does not know has the name of one that it knows, but for case, blanks and dashes. */
const isRespelt = (key: string, { known, notSent }: MemberTable): boolean =>
  !notSent.has(key) && known.has(normalName(key))

export const requireModel = (body: JsonObject, issues: Issues): void => {
  if (body["model"] != null) return
  const { models } = body
  if (models === undefined) {
    const message = body["model"] === null ? "must be a non-empty string" : "is required, or models in its place"
    report(issues, "model", message)
  } else if (Array.isArray(models) && models.length === 0) report(issues, "models", "must name at least one model")
}
