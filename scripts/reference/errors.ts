/**
 * Every way in which a request fails: statuses, codes and words, as the code makes them of each failure. What each means is said here;
 * a failure, reason or word without a meaning does not compile, a filter without one throws.
 */
import type { AvailabilityCode } from "../../src/domain/failures/Availability.ts"
import { filterNames } from "../../src/domain/failures/Availability.ts"
import {
  AnswerBeyondLimit,
  BadRequest,
  BodyTooLarge,
  CallerGone,
  type ExhaustedBecause,
  type Failure,
  HostFailed,
  KeyMissing,
  KeyNotAccepted,
  NoHostMatches,
  NotFound,
  NotPermitted,
  PaymentRequired,
  RateLimited,
  RequestRepeated,
  RoutingExhausted,
  TimedOut,
  Unavailable,
  UpgradeRequired,
} from "../../src/domain/failures/Failure.ts"
import type { HostReason } from "../../src/domain/failures/HostReason.ts"
import { type RequestOutcome, requestOutcome, requestOutcomes } from "../../src/domain/failures/RequestOutcome.ts"
import { verdictOn } from "../../src/domain/failures/Verdict.ts"
import type { ForbiddenBy } from "../../src/domain/keys/Permissions.ts"
import { hardFilters, softFilters } from "../../src/domain/routing/routeFilters.ts"
import { messagesErrorBody } from "../../src/formats/messages/messagesError.ts"
import type { Rendered } from "../../src/formats/Rendered.ts"
import { defect, render } from "../../src/http/errorBody.ts"
import { shouldRetryHeader } from "../../src/http/headers.ts"
import type { Inadmissible } from "../../src/services/hosts/endpointHealth.ts"
import type { KeysOut } from "../../src/services/hosts/ProviderKeys.ts"

/** A failure, and when it happens. */
interface Case {
  readonly failure: Failure
  readonly when: string
}

type Words<Name extends string> = Readonly<Record<Name, string>>

const each = <Name extends string>(words: Words<Name>, failureOf: (name: Name) => Failure): ReadonlyArray<Case> =>
  (Object.keys(words) as Array<Name>).map((name) => ({ failure: failureOf(name), when: words[name] }))

const money = { limitSource: "", limit: 0n, spend: 0n, reserved: 0n, resetsAt: null }
const first = { firstRequestId: "", generationId: null }
const issues = [{ path: "", message: "" }] as const

const payments: Words<PaymentRequired["reason"]> = {
  limit_exhausted: "the key's limit is used up",
  request_exceeds_budget: "the request could cost more than the key has left",
  in_flight_budget_exhausted: "running requests of the key reserve what it has left",
  unknown_price: "no price is known of the model's hosts, and the key has a limit",
}

const limits: Words<RateLimited["scope"]> = {
  key: "`rate_limit` of the key",
  "free-models-per-min": "`billing.free_models`, in 60 seconds",
  "free-models-per-day": "`billing.free_models`, on a UTC day",
  "key-requests-in-flight": "requests of one key in flight",
  "key-bytes-in-flight": "bytes of request bodies of one key in flight",
  "sign-in": "failed tries to sign in to the console",
}

const exhausted: Words<ExhaustedBecause> = {
  request: "a host refused the request itself; [another type](../routing.md#refusals) where another host may take it",
  "rate-limited": "every host is rate limited",
  "not-found": "every host answered that it does not know the model",
  "cooling-down": "every host cools down after failures",
  busy: "every host has as many requests as it may have",
  timeout: "every host timed out, or the deadline of the request came",
  forbidden: "every host failed, the last one by a rule of its own, such as moderation",
  unavailable: "every host failed in another way",
}

const unavailable: Words<Unavailable["why"]> = {
  overloaded: "too many requests, bytes of bodies or keys to look up at once, or no descriptors, memory or ports",
  draining: "the gateway stops",
  metering: "the database takes no rows; `/readyz` says why",
  storage: "the database cannot be read; `/readyz` says why",
  backup: "a backup cannot be made now; the log says why",
  callers: "an app's own `authenticate` failed",
  processes: "a request was to be stopped, and another process that may run it [did not answer](../requests.md#live)",
}

const repeated: Words<RequestRepeated["because"]> = {
  "other-body": "the Idempotency-Key came before, with another body",
  running: "the request with this Idempotency-Key still runs",
  "not-kept": "the request was carried out and charged, and its answer was not kept",
  unknown: "the gateway stopped while the request ran, so its outcome is unknown",
}

const excludedBy = (by: string) =>
  new NoHostMatches({ models: [], excluded: [{ host: "", model: "", by, reason: "" }] })

const cases: Readonly<Record<Failure["_tag"], ReadonlyArray<Case>>> = {
  BadRequest: [
    { failure: new BadRequest({ issues }), when: "the request is at fault: `path`, `issues` (the first 10)" },
    ...each<NonNullable<BadRequest["kind"]>>(
      {
        context_length_exceeded: "the prompt is too long for every host",
        model_not_found: "no model, alias or bare slug has this name",
        wrong_endpoint: "the model serves another operation",
      },
      (kind) => new BadRequest({ issues, kind }),
    ),
  ],
  KeyMissing: [{ failure: new KeyMissing(), when: "no key came with the request" }],
  KeyNotAccepted: [
    { failure: new KeyNotAccepted(), when: "the key is unknown, disabled, expired, deleted or malformed" },
  ],
  PaymentRequired: each(
    payments,
    (reason) =>
      new PaymentRequired({
        ...money,
        reason,
        ...(reason === "in_flight_budget_exhausted" ? { retryAfterSeconds: 1 } : {}),
      }),
  ),
  NotPermitted: [
    { failure: new NotPermitted({ rule: "" }), when: "a rule of the key or of the gateway forbids it" },
    ...each<NonNullable<NotPermitted["by"]>>(
      {
        address: "the caller's address is not among the key's `allowed_addresses`, or not known",
        stop: "the operator stopped the request",
      },
      (by) => new NotPermitted({ rule: "", by }),
    ),
  ],
  RateLimited: each(limits, (scope) => new RateLimited({ scope, limit: 0, resetsAt: 0, retryAfterSeconds: 1 })),
  NotFound: [{ failure: new NotFound({ what: "" }), when: "there is no such path, key or record" }],
  UpgradeRequired: [{ failure: new UpgradeRequired(), when: "a WebSocket was asked for" }],
  NoHostMatches: [
    { failure: excludedBy("only"), when: "the request's own wishes exclude every host" },
    { failure: excludedBy("zdr"), when: "`provider.zdr` or `provider.data_collection` excludes every host" },
    { failure: excludedBy("free"), when: "no host of the model is free, and `:free` was asked for" },
    { failure: excludedBy("provider"), when: "the operator lets no host of the model be called" },
  ],
  TimedOut: each<TimedOut["phase"]>(
    {
      body: "the body did not arrive in time",
      upstream: "the deadline of the request passed; `host_timeout` if hosts used up the time",
    },
    (phase) => new TimedOut({ phase, afterMs: 0 }),
  ),
  BodyTooLarge: [{ failure: new BodyTooLarge({ limitBytes: 0 }), when: "the body is longer than `limits.body_bytes`" }],
  RoutingExhausted: each(exhausted, (outcome) => new RoutingExhausted({ outcome, attempts: [] })),
  AnswerBeyondLimit: [
    {
      failure: new AnswerBeyondLimit({ limit: "", provider: "", cost: 0n }),
      when: "the host's answer exceeds a limit of the gateway on size, nesting or number of values; it is charged (`metadata.cost`)",
    },
  ],
  Unavailable: each(unavailable, (why) => new Unavailable({ why, retryAfterSeconds: 1 })),
  RequestRepeated: each(repeated, (because) => new RequestRepeated({ because, ...first })),
  CallerGone: [{ failure: new CallerGone(), when: "the caller closed the connection; only observers see the status" }],
}

const all: ReadonlyArray<Case> = Object.values(cases).flat()

// --- tables

const code = (word: string | undefined): string => (word === undefined || word === "" ? "" : `\`${word}\``)

const table = (heads: ReadonlyArray<string>, rows: ReadonlyArray<ReadonlyArray<string>>): string =>
  [heads, heads.map(() => "---"), ...rows].map((cells) => `| ${cells.join(" | ")} |`).join("\n")

const failureRow = (rendered: Rendered, outcome: RequestOutcome, when: string): ReadonlyArray<string> => {
  const { status, errorType, headers = {}, availability } = rendered
  return [
    String(status),
    code(errorType),
    when,
    code(availability?.code),
    code(outcome),
    code(messagesErrorBody(rendered, "").error.type),
    code(headers[shouldRetryHeader]),
  ]
}

const failureRows = (): ReadonlyArray<ReadonlyArray<string>> =>
  [
    ...all.map(({ failure, when }) => failureRow(render(failure), requestOutcome(failure, undefined), when)),
    failureRow(defect, requestOutcome("defect", undefined), "a defect of the gateway; its log has the cause"),
  ].toSorted(([a = ""], [b = ""]) => Number(a) - Number(b))

const meanings: Words<RequestOutcome> = {
  ok: "the answer was sent as a whole",
  caller_bad_request: "the request itself is at fault",
  caller_context_length: "it is too long for the model",
  caller_model_not_found: "nobody knows the model",
  caller_unauthenticated: "there was no key, or it is not accepted",
  caller_not_found: "there is no such path, key or record",
  caller_upgrade_required: "a WebSocket was asked for",
  caller_body_too_large: "the body is too long",
  caller_slow_body: "the body did not arrive in time",
  caller_repeated: "its Idempotency-Key came before",
  caller_refused_by_host: "a host found the request itself at fault",
  caller_gone: "the caller closed the connection, before the answer or during a stream",
  policy_budget_used_up: "the key's limit is used up",
  policy_budget_too_small: "what the key has left does not cover the request",
  policy_budget_in_flight: "running requests of the key reserve what it has left",
  policy_unknown_price: "the price is not known, and the key has a limit",
  policy_not_permitted: "a rule of the key or of the gateway forbids it",
  policy_address: "the caller's address is not among the key's `allowed_addresses`, or not known",
  policy_stopped: "the operator stopped the request",
  policy_rate_limited: "the key has made as many requests as it may; or signing in was tried too often",
  policy_free_models: "the key has made as many requests to free models as it may",
  policy_in_flight: "the key has as many requests or bytes in flight as it may",
  policy_no_host: "no host is left after the filters of caller and operator",
  policy_cut:
    "a limit of the gateway ended the request or its answer: budget, deadline, `limits.stream_ms`, length, a client that takes no bytes, a stop",
  policy_answer_limit: "the host's answer exceeds a limit of the gateway, and is charged",
  host_broke_off: "the host ended a stream that had begun",
  host_rate_limited: exhausted["rate-limited"],
  host_not_found: exhausted["not-found"],
  host_cooling_down: exhausted["cooling-down"],
  host_busy: exhausted.busy,
  host_timeout: exhausted.timeout,
  host_forbidden: exhausted.forbidden,
  host_unavailable: exhausted.unavailable,
  gateway_overloaded: "the gateway takes no more requests for now",
  gateway_stopping: "the gateway stops",
  gateway_ledger: "the ledger cannot be written",
  gateway_storage: "the database cannot be read",
  gateway_backup: "the database could not be copied",
  gateway_callers: "it could not be checked who calls",
  gateway_processes: "another process did not answer to a stop",
  gateway_defect: "an error in the gateway, which its log has",
  gateway_crashed: "a gateway that was killed left the request behind",
}

/** Statuses of requests whose answer had begun, and of those that got none. */
const otherStatuses: Readonly<Partial<Record<RequestOutcome, string>>> = {
  ok: "200",
  caller_gone: "none, or 200 of a stream; observers see 408",
  policy_stopped: "403, or 200 of a stream",
  policy_cut: "200; 408 before an answer",
  policy_answer_limit: "502, or 200 of a stream",
  host_broke_off: "200",
  gateway_defect: "500",
  gateway_crashed: "none",
}

const outcomeRows = (): ReadonlyArray<ReadonlyArray<string>> => {
  const byOutcome = Map.groupBy(all, ({ failure }) => requestOutcome(failure, undefined))
  return (Object.keys(meanings) as ReadonlyArray<RequestOutcome>)
    .filter((outcome) => requestOutcomes.includes(outcome))
    .map((outcome) => {
      const statuses = new Set((byOutcome.get(outcome) ?? []).map(({ failure }) => render(failure).status))
      return [code(outcome), meanings[outcome], otherStatuses[outcome] ?? [...statuses].toSorted().join(", ")]
    })
}

const limitRows = (): ReadonlyArray<ReadonlyArray<string>> =>
  cases.RateLimited.map(({ failure, when }) => {
    const { limit_source, remedy_hint } = render(failure).metadata ?? {}
    return [code(String(limit_source)), when, String(remedy_hint)]
  })

/** What excludes hosts, by the names of filters. */
const filterMeanings: Readonly<Record<string, string>> = {
  service_tier: "hosts of another service tier",
  only: "hosts that are not named; `metadata.available_providers` has what could be named",
  ignore: "hosts that are named",
  data_collection: "hosts that may train on prompts, or of which that is not known",
  zdr: "hosts that may keep prompts, or of which that is not known",
  enforce_distillable_text: "models that may not be distilled, or of which that is not known",
  quantizations: "hosts of another quantization",
  max_price: "hosts whose [lowest charge for this prompt](../api-differences.md#ceilings) is above it",
  context_length: "hosts whose context the prompt does not fit for sure",
  input_modalities: "hosts that lack a kind of part in the prompt",
  output_modalities: "hosts that do not make a kind of output",
  dimensions: "hosts that cannot set the length of vectors",
  form: "hosts that cannot carry what only hosts of the request's own format can do, such as [compaction](../responses.md#compaction)",
  free: "hosts that cost something, for `:free`",
  extended: "hosts without the model's longest context, for `:extended`",
  hosted_tools: "hosts that cannot run a [hosted tool](../hosted-tools.md), or have no price for it",
  thinking: "hosts that do not reason on demand, for `:thinking`",
  online: "hosts without a web search of their own, or a price for it, for `:online`",
  require_parameters: "hosts that lack a parameter of the request",
  max_tokens: "hosts that write fewer tokens, or whose context is too short for prompt and output",
  tool_choice: "hosts that do not support this value",
}

const meaningOf = (filter: string): string => {
  const meaning = filterMeanings[filter] ?? (softNames.includes(filter) ? "hosts that do not support it" : undefined)
  if (meaning === undefined)
    throw new Error(`scripts/reference/errors.ts does not say what the filter ${filter} excludes`)
  return meaning
}

type Other =
  | ForbiddenBy
  | Inadmissible["because"]
  | KeysOut["because"]
  | "provider"
  | "budget"
  | "allow_fallbacks"
  | "plugin"
  | "protocol"

const others: Words<Other> = {
  provider: "hosts of a provider that is off",
  allowed_models: "models that are not in this list of the key",
  allowed_providers: "hosts that are not in this list of the key",
  api_keys: "hosts whose provider has no key that may be used now",
  cooldown: "hosts that cool down",
  breaker: "hosts whose circuit breaker is open",
  concurrency: "hosts with as many requests as they may have",
  budget: "hosts that could cost more than the key has left",
  allow_fallbacks:
    "for `provider.allow_fallbacks: false`: hosts that `provider.order` does not list, or all but the first of each model",
  plugin: "hosts whose plugin could not write the request",
  protocol: "hosts whose protocol cannot carry the request",
}

const softNames = softFilters.map(({ name }) => name)

const filterRows = (names: ReadonlyArray<string>): ReadonlyArray<ReadonlyArray<string>> =>
  names.map((name) => {
    const { excludedBy: inApi, field } = filterNames.get(name) ?? {}
    // What a form alone can carry is at a place of its own.
    const member = name === "form" ? "the path of what it is" : code(field ?? name)
    return [code(name), code(inApi ?? name), member, meaningOf(name)]
  })

const availabilityCodes: Words<AvailabilityCode> = {
  model_not_found: "no model, alias or bare slug has this name",
  wrong_endpoint: "the model serves another operation",
  no_endpoints: "the operator lets no host of the model be called",
  constraint_filtered: "the request's own wishes exclude every host",
  privacy_restricted: "the wanted data policy excludes every host",
  free_variant_ended: "no host of the model is free",
  model_unavailable_upstream: "no host knows the model",
  capacity_exhausted: "nothing but rate limits keeps hosts from being called",
  temporarily_unavailable: "every host failed, cools down or is busy",
}

const codeRows = (): ReadonlyArray<ReadonlyArray<string>> =>
  (Object.keys(availabilityCodes) as ReadonlyArray<AvailabilityCode>).map((name) => {
    const rendered = all.map(({ failure }) => render(failure)).filter(({ availability }) => availability?.code === name)
    const statuses = new Set(rendered.map(({ status }) => status))
    const isRetryable = rendered.some(({ availability }) => availability?.retryable === true)
    return [
      `[\`${name}\`](../errors.md#${name})`,
      [...statuses].toSorted().join(", "),
      String(isRetryable),
      availabilityCodes[name],
    ]
  })

const reasons: Words<HostReason> = {
  unreachable: "no connection, or one that broke off",
  timeout: "the host or the gateway gave up waiting",
  account: "the host refuses the provider's key, or its account is out of credit",
  forbidden: "the host refuses this request by a rule of its own, such as moderation or a region",
  "not-found": "the host does not know the model",
  request:
    "the host refuses the request itself; the model's other hosts are tried only [where they may take it](../routing.md#refusals)",
  "rate-limited": "the host takes no more for now",
  overloaded: "the host is in trouble",
  malformed: "what the host sent is no answer of its protocol",
  plugin: "a hook of the plugin threw, or returned what it may not",
  limit: "what the host sent exceeds a limit of the gateway",
  shortage: "the gateway has no descriptors, memory or disk left; no other host is tried",
  defect: "an error in the gateway; no other host is tried, and the answer is 500",
  unsendable: "the request could not be written or addressed, so nothing was sent",
  "cut-short": "the deadline of the request came before the host had its full time",
  ended: "the request was ended from outside, or another call of it was faster",
}

const cooldowns = {
  account: "`limits.cooldown.account_s`",
  "not-found": "`limits.cooldown.not_found_s`",
  "rate-limit": "the host's `Retry-After`, else `limits.cooldown.rate_limit_s`",
  "as-asked": "the host's `Retry-After`",
}

const reasonRows = (): ReadonlyArray<ReadonlyArray<string>> =>
  (Object.keys(reasons) as ReadonlyArray<HostReason>).map((reason) => {
    const { uptime, breaker, cooldown } = verdictOn(
      new HostFailed({ reason, status: reason === "account" ? 401 : 429 }),
    )
    const counts = [uptime === "failure" ? "uptime" : "", breaker === "failure" ? "circuit breaker" : ""]
    return [
      code(reason),
      reasons[reason],
      counts.filter((word) => word !== "").join(", "),
      cooldown === undefined ? "" : cooldowns[cooldown],
    ]
  })

const heads = {
  failures: ["status", "`error_type`", "when", "`availability.code`", "outcome", "Messages `type`", "`x-should-retry`"],
  filters: ["filter", "`availability.excluded_by`", "member of the request", "excludes"],
}

export const page = (): string => `# Errors and outcomes

For callers, authors of clients, and operators: every status, code and word for a failure.
Made by \`bun scripts/reference.ts\` from \`src/domain/failures\` and \`src/http/errorBody.ts\`; do not edit.

[Errors](../errors.md) says what to do.

## Answers <a id="answers"></a>

\`error_type\` is in \`metadata\`, the outcome in logs, metrics and [requests](../requests.md).
\`x-should-retry\` is also \`false\` where \`Retry-After\` is above 60.

${table(heads.failures, failureRows())}

## Codes of \`availability\` <a id="codes"></a>

${table(["code", "status", "`retryable`", "when"], codeRows())}

## Reasons of a 402 <a id="payment"></a>

${table(
  ["`metadata.reason`", "when"],
  Object.entries(payments).map(([reason, when]) => [code(reason), when]),
)}

## Limits of a 429 <a id="limits"></a>

${table(["`metadata.limit_source`", "which limit", "`metadata.remedy_hint`"], limitRows())}

## Filters of a plan <a id="filters"></a>

They run in this order. A plan names the filter; \`metadata.excluded_by\` does, too.

${table(heads.filters, filterRows(hardFilters.map(({ name }) => name)))}

These exclude no host where none would be left:

${table(heads.filters, filterRows(softNames))}

What excludes hosts beside the request:

${table(
  ["name", "excludes"],
  Object.entries(others).map(([name, meaning]) => [code(name), meaning]),
)}

## Reasons of an attempt <a id="reasons"></a>

\`metadata.previous_errors[].code\` has them where the host gave no code of its own.

${table(["reason", "when", "counts against the host's", "the host cools down for"], reasonRows())}

## Outcomes <a id="outcomes"></a>

The beginning of the word says who caused it: the caller, a rule of the operator (\`policy\`), the host, or the gateway.

${table(["outcome", "what happened", "status"], outcomeRows())}
`
