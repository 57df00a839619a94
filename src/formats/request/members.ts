/**
 * What the bodies of all forms have in common: the members that speak to the router, and how a body
 * is read member by member. A form adds its own members to the table.
 */

import { BadRequest } from "../../domain/failures/Failure.ts"
import {
  anyObject,
  anything,
  type Check,
  checkOf,
  described,
  exactly,
  flag,
  hasMember,
  type Issues,
  integer,
  type JsonSchema,
  listOf,
  objectOf,
  objectSchema,
  oneOf,
  onlyFalse,
  quoted,
  report,
  shortText,
  text,
} from "../../domain/json/checks.ts"
import { isJsonObject, type JsonObject } from "../../domain/json/json.ts"
import { mostTokens } from "../../domain/request/chatParameters.ts"
import { normalName } from "../../domain/request/hostedTools.ts"
import { asksNothing } from "../../domain/request/neutralMembers.ts"
import type { Preferences } from "../../domain/request/Preferences.ts"
import { routerOnly } from "../../domain/request/request.ts"
import { findingInBody } from "../payload/walk.ts"
import { checkInnerJson } from "./innerJson.ts"
import { operatorMembers } from "./operatorMembers.ts"
import { plugins, preset, transforms } from "./otherRouters.ts"
import { preferences, preferencesOf } from "./preferences.ts"
import { type Rule, ruleOf } from "./rules.ts"

/** See docs/guarantees.md#g30. */
export const most = { members: 1024, tools: 512, models: 16, metadata: 16, inputs: 2048, tokens: mostTokens }

const longestModel = 256
const malformedModel = /\p{Cc}|[\u2028\u2029]|\.\.[/\\]|%00/u

export const model: Check = checkOf(
  { type: "string", minLength: 1, maxLength: longestModel, not: { pattern: malformedModel.source } },
  (value, path, issues) => {
    if (typeof value !== "string" || value === "") report(issues, path, "must be a non-empty string")
    else if (value.length > longestModel || malformedModel.test(value))
      report(issues, path, `${quoted(value)} is not a valid model ID`)
  },
)

const metadataName = 64
const metadataValue = shortText(512)
const metadataSchema = {
  type: "object",
  maxProperties: most.metadata,
  propertyNames: { type: "string", maxLength: metadataName },
  additionalProperties: metadataValue.schema,
}
const metadata = checkOf(metadataSchema, (value, path, issues) => {
  if (!isJsonObject(value)) return report(issues, path, "must be an object")
  const names = Object.keys(value)
  if (names.length > most.metadata)
    report(issues, path, `must have at most ${most.metadata} members, not ${names.length}`)
  for (const key of names) {
    if (key.length > metadataName) report(issues, path, `${quoted(key)} is longer than ${metadataName} characters`)
    metadataValue(value[key], `${path}[${quoted(key)}]`, issues)
  }
})

export const tokenCount = integer(1, most.tokens)

const tiers = oneOf("auto", "default", "fast", "flex", "priority", "scale")

/** A tier without a price is refused with a sentence, and not as an unknown word. */
const serviceTier = checkOf(tiers.schema, (value, path, issues) => {
  if (value === "ultrafast") report(issues, path, "is a tier that this gateway has no price for: use priority")
  else tiers(value, path, issues)
})

const cacheTime = exactly("30m", "must be 30m: the gateway has no price for a longer time")
const noPrewarm = onlyFalse("is not supported: the gateway sends requests for their answers")
const cacheShape = objectOf({ mode: text, prewarm: flag })

/** Options of OpenAI's prompt cache. Prices of caches are those of the usual time, so no other may be asked for. */
const cacheOptions = checkOf(
  objectSchema({ mode: text, ttl: cacheTime, prewarm: noPrewarm }),
  (value, path, issues) => {
    cacheShape(value, path, issues)
    if (!isJsonObject(value)) return
    const { ttl, prewarm } = value
    if (ttl != null) cacheTime(ttl, `${path}.ttl`, issues)
    if (prewarm === true) noPrewarm(prewarm, `${path}.prewarm`, issues)
  },
)

const usageAlways = described("Usage comes always.", flag)

/** Members that mean the same in every form and are no parameters. */
export const sharedMembers = {
  model: described("<author>/<slug>, possibly with variants such as :nitro; or an alias.", model),
  models: described("Tried after model, in this order.", listOf(model, most.models)),
  provider: preferences,
  route: described("Older form of provider.sort.partition.", oneOf("fallback", "sort")),
  preset,
  stream: flag,
  stream_options: objectOf({ include_usage: usageAlways }),
  usage: objectOf({ include: usageAlways }),
  service_tier: serviceTier,
  cache_control: objectOf({ type: oneOf("ephemeral"), ttl: oneOf("5m", "1h") }, "type"),
  prompt_cache_key: text,
  prompt_cache_options: cacheOptions,
  session_id: described("Requests of one session stay with one host.", shortText(256)),
  user: text,
  metadata,
  trace: anyObject,
  plugins,
  transforms,
  stop_server_tools_when: listOf(anyObject, Number.POSITIVE_INFINITY, 1),
  debug: anyObject,
  background: exactly(false, "must be false: an answer in the background could not be fetched here"),
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
  ...["bootstrap_host", "bootstrap_port", "bootstrap_room", "id_slot", "slot_id", "data_parallel_rank"],
  "control_vectors",
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

/** How the bodies of one form are read. Members that are not listed are passed on unchecked. */
export interface MemberTable {
  /** Of the whole body. */
  readonly schema: JsonSchema
  readonly members: ReadonlyMap<string, Member>
  /** Members that are not copied into the payload. */
  readonly notSent: ReadonlySet<string>
  /** Members that may not be null. */
  readonly required: ReadonlyArray<string>
  /** The members that this form knows, by their normal names (`normalName`). */
  readonly known: ReadonlyMap<string, string>
  readonly before: ReadonlyArray<Rule>
  readonly after: ReadonlyArray<Rule>
}

export interface FormMembers {
  /** Of the schema. */
  readonly title: string
  /** Members that a host may or may not support. */
  readonly parameters: Readonly<Record<string, Check>>
  readonly others: Readonly<Record<string, Check>>
  /** Members that become fields of `ChatRequest`, or that the form translates. */
  readonly decodedApart: ReadonlyArray<string>
  /** Members that must be there and may not be null. */
  readonly required?: ReadonlyArray<string>
  /** Whether the path names the model, and the body need not. Default false. */
  readonly isModelInPath?: boolean
  /** Rules for the whole body that are looked at before its members, and after them. */
  readonly before?: ReadonlyArray<Rule>
  readonly after?: ReadonlyArray<Rule>
}

/** What becomes of a member that a form does not know. See docs/guarantees.md#g36. */
const aboutOthers =
  "Members that are not listed go unread to hosts of openai-compatible providers and to local servers, and to other hosts where their plugin or extra_members of the provider names them. The others are named in X-GW-Dropped."

export const memberTable = (form: FormMembers): MemberTable => {
  const {
    title,
    parameters,
    others,
    decodedApart,
    required = [],
    before = [],
    after = [],
    isModelInPath = false,
  } = form
  const rules = [...(isModelInPath ? [] : [modelRule]), ...before, ...after]
  const members = new Map<string, Member>([
    ...Object.entries(parameters).map(([key, check]) => [key, { check, kind: "parameter" }] as const),
    ...Object.entries(others).map(([key, check]) => [key, { check, kind: "other" }] as const),
  ])
  const notKnown = [...credentialMembers, ...costlyMembers].filter((key) => !members.has(key))
  for (const key of notKnown) members.set(key, { check: anything, kind: "dropped" })
  return {
    schema: {
      title,
      ...objectSchema({ ...others, ...parameters }, required),
      description: aboutOthers,
      ...(rules.length === 0 ? {} : { allOf: rules.map(({ schema }) => schema) }),
    },
    members,
    // As a member of a new object `__proto__` would become its prototype.
    notSent: new Set([...routerOnly, ...decodedApart, "background", "__proto__"]),
    required,
    known: new Map([...members.keys(), ...routerOnly, ...decodedApart].map((key) => [normalName(key), key])),
    before: [modelRule, ...before],
    after,
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

/** Checks a body and every member of it. Problems are added to `issues`; the result is valid only if there are none. */
export const readMembers = (body: JsonObject, table: MemberTable, issues: Issues): ReadMembers => {
  const parameters: Array<string> = []
  const payload: Record<string, unknown> = {}
  // Appended to in place: a caller may send as many such members as a body may have.
  const dropped: Array<string> = []
  let count = 0
  for (const rule of table.before) rule(body, issues)
  for (const name of table.required) if (body[name] === undefined) report(issues, name, "is required")
  for (const key in body) {
    // Each is copied and judged several times, for each host anew.
    if (++count > most.members) {
      report(issues, "", `The body must have at most ${most.members} members`)
      break
    }
    const value = body[key]
    if (value === undefined) continue
    const member = table.members.get(key)
    // Another spelling of a name that is known may be the same to a host.
    if (member?.kind === "dropped" || (member === undefined && isRespelt(key, table))) {
      if (!asksNothing(key, value)) dropped.push(key)
      continue
    }
    if (!table.notSent.has(key)) payload[key] = value
    // Some clients write null for fields that are not set.
    if (member === undefined || (value === null && !table.required.includes(key))) continue
    member.check(value, key, issues)
    if (member.kind === "parameter") parameters.push(key)
  }
  for (const rule of table.after) rule(body, issues)
  return { payload, preferences: preferencesOf(body["provider"]), parameters, dropped }
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

const modelSchema = { anyOf: [hasMember("model", text.schema), hasMember("models", { type: "array", minItems: 1 })] }

const modelRule = ruleOf(modelSchema, (body, issues) => {
  if (body["model"] != null) return
  const { models } = body
  if (models === undefined) {
    const message = body["model"] === null ? "must be a non-empty string" : "is required, or models in its place"
    report(issues, "model", message)
  } else if (Array.isArray(models) && models.length === 0) report(issues, "models", "must name at least one model")
})
