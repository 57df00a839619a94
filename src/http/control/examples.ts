/** Examples of requests and answers in the description of the control plane. */
import { isJsonObject, type JsonObject } from "../../domain/json/json.ts"
import { version } from "../../process/version.ts"
import { exampleOf } from "../openapi/exampleOf.ts"
import { mapped } from "../openapi/mapped.ts"

/** Bodies of requests, by the ids of operations. */
const requests: JsonObject = {
  "keys.create": { name: "alice", limit: 10, limit_reset: "monthly", allowed_models: ["openai/*"], tags: ["team-a"] },
  "keys.change": { limit: 25, disabled: false },
  "keys.rotate": { overlap_s: 3600 },
  "session.signIn": { key: "sk-gwm-7UHkr0T6lRz2QpWm9bXcVn4YsDf1Ea8GtJv3Lo5Kqi0wZxC" },
}

/** Of answers, by the names of members. */
const values: JsonObject = {
  // Of keys.
  hash: "4af0dcc83df1515ce0a358f8a3406d3668f7399142ad9dc6236c5b93e431bb3e",
  key: "sk-gw-nsOTG0MM47bopR2val5s2tdEAxZGmIkjnSJB0q1nqyR4YWIEz",
  label: "sk-gw-nsO...IEz",
  limit: 10,
  limit_remaining: 7.5,
  limit_reset: "monthly",
  limit_usd: 10,
  spend_usd: 2.5,
  remaining_usd: 7.5,
  scope: "key_limit",
  reset_interval: "monthly",
  remaining: 10,
  resets_at: "2026-12-01T00:00:00.000Z",
  usage: 2.5,
  usage_daily: 0.5,
  usage_weekly: 1.25,
  usage_monthly: 2.5,
  byok_usage: 0,
  byok_usage_daily: 0,
  byok_usage_weekly: 0,
  byok_usage_monthly: 0,
  tags: ["team-a", "production"],
  total_credits: 100,
  total_usage: 2.5,
  created_at: "2026-11-02T09:30:00.000Z",
  previous_ends_at: "2026-11-24T09:30:00.000Z",
  allowed_models: ["openai/*"],
  allowed_data_regions: ["global"],
  creator_user_id: "44492725-6eed-4c84-a406-ea56d8d61852",
  workspace_id: "44492725-6eed-4c84-a406-ea56d8d61852",
  effective_budget: {},
  interval: "10s",
  note: "Deprecated: no such limit is kept.",
  // Of models and hosts.
  id: "openai/gpt-5-mini",
  canonical_slug: "openai/gpt-5-mini-2025-08-07",
  name: "GPT-5 Mini",
  description: "A small model for well-defined tasks.",
  created: 1_754_524_800,
  count: 42,
  total_count: 1,
  context_length: 400_000,
  max_completion_tokens: 128_000,
  tokenizer: "GPT",
  modality: "text+image->text",
  input_modalities: ["text", "image"],
  output_modalities: ["text"],
  prompt: "0.00000025",
  completion: "0.000002",
  request: "0",
  image: "0",
  web_search: "0",
  internal_reasoning: "0",
  input_cache_read: "0.000000025",
  input_cache_write: "0",
  overrides: [],
  supported_parameters: ["max_tokens", "reasoning", "tools"],
  details: "/api/v1/models/openai/gpt-5-mini/endpoints",
  owned_by: "openai",
  display_name: "GPT-5 Mini",
  model_id: "openai/gpt-5-mini",
  model_name: "GPT-5 Mini",
  provider: "openai",
  provider_name: "OpenAI",
  slug: "openai",
  tag: "openai",
  quantization: "unknown",
  uptime_last_30m: 99.9,
  auto: true,
  none: true,
  required: true,
  function: true,
  // Of what was used.
  date: "2026-11-22",
  model: "openai/gpt-5-mini",
  model_permaslug: "openai/gpt-5-mini-2025-08-07",
  endpoint_id: "openai",
  upstream_inference_cost: 2.5,
  requests: 120,
  prompt_tokens: 24_000,
  completion_tokens: 6000,
  request_id: "req_01JDGH2M8Q4V7WXYZ",
  api_type: "completions",
  finish_reason: "stop",
  tokens_prompt: 12,
  tokens_completion: 4,
  native_tokens_prompt: 12,
  native_tokens_completion: 4,
  latency: 640,
  generation_time: 1180,
  data_region: "global",
  origin: "https://app.example",
  strategy: "price",
  host: "openai",
  form: "chat",
  operation: "chat",
  outcome: "completed",
  price_basis: "list",
  // Of the program.
  file: "/etc/headgate/headgate.config.json",
  changed: ["providers.openai"],
  needs_restart: [],
  warnings: [],
  version,
  bun: "1.4.5",
}

/** Values that differ for a group of operations, or for one. */
const special: Readonly<Record<string, JsonObject>> = {
  keyStatus: { requests: -1 },
  keys: { name: "alice", owner: "alice@acme.example", total: 1 },
  session: {
    ...{ kind: "management", role: "keys", name: "alice at the console", label: "sk-gwm-7UH...ZxC" },
    created_at: "2026-11-24T09:30:00.000Z",
    expires_at: "2026-11-24T17:30:00.000Z",
    idle_ends_at: "2026-11-24T10:00:00.000Z",
    public_url: "https://gateway.acme.example",
  },
  "activity.activity": { exact: { usage: "2.5", byok_usage_inference: "0", upstream_inference_cost: "2.5" } },
  "activity.credits": { total_credits: 2.5, exact: { total_credits: "2.5", total_usage: "2.5" } },
  "activity.spend": { name: "alice" },
  "activity.providerKeys": { id: "key-1" },
  "providers.providers": { name: "OpenAI" },
  "providers.zdr": { name: "OpenAI | openai/gpt-5-mini" },
  "models.embeddings": {
    id: "openai/text-embedding-3-small",
    canonical_slug: "openai/text-embedding-3-small",
    name: "Text Embedding 3 Small",
    description: "Vectors of texts.",
    context_length: 8192,
    modality: "text->embeddings",
    input_modalities: ["text"],
    output_modalities: ["embeddings"],
    prompt: "0.00000002",
    completion: "0",
    supported_parameters: ["dimensions"],
    details: "/api/v1/models/openai/text-embedding-3-small/endpoints",
  },
  analytics: {
    from: "2026-11-23T10:00:00.000Z",
    to: "2026-11-24T10:00:00.000Z",
    at: "2026-11-23T10:00:00.000Z",
    kept_since: {
      sums: "2026-10-19T10:00:00.000Z",
      rows: "2026-07-15T09:30:00.000Z",
      requests: "2026-10-25T09:30:00.000Z",
    },
    group: { model: "openai/gpt-5-mini" },
    errors: 2,
    errors_by: { caller: 0, policy: 1, host: 1, gateway: 0 },
    tokens_prompt: 24_000,
    tokens_completion: 6000,
    upstream_cost: 2.5,
    exact: { usage: "2.5", upstream_cost: "2.5" },
    first_token_ms: { p50: 640, p99: 2100, count: 96 },
  },
  generation: {
    id: "gen-1764000000-4fGh2kLm9PqRsT7vWxYz",
    usage: 0.000011,
    total_cost: 0.000011,
    upstream_inference_cost: 0.000011,
    status: 200,
    lines: [
      {
        what: "prompt",
        quantity: 12,
        unit: "token",
        unit_price_usd: "0.00000025",
        amount_usd: "0.000003",
      },
      {
        what: "completion",
        quantity: 4,
        unit: "token",
        unit_price_usd: "0.000002",
        amount_usd: "0.000008",
      },
    ],
    // Not null; its members are these.
    route: {},
    seed: 1_042_883_310,
    order: [
      { model: "openai/gpt-5-mini", host: "openai", outcome: "finished", fault: null },
      { model: "openai/gpt-5-mini", host: "other", outcome: "not_called", fault: null },
    ],
    excluded: [{ model: "openai/gpt-5-mini", host: "azure", by: "data_collection", reason: "may train on prompts" }],
    cut: false,
  },
  requests: {
    request_id: "req_0N4x2Qb7004fGh2kLm9PqRsT7v",
    key_hash: "4af0dcc83df1515ce0a358f8a3406d3668f7399142ad9dc6236c5b93e431bb3e",
    route: "POST /api/v1/chat/completions",
    app_title: "Kitchen",
    app_url: "https://app.example",
    status: 429,
    outcome: "policy_rate_limited",
    why: "Rate limit exceeded: requests of this key.",
    usage: 0,
    tokens_prompt: 0,
    tokens_completion: 0,
    attempts: [],
    host: null,
    duration_ms: 1.4,
    bytes_in: 0,
    bytes_out: 152,
    address: "203.0.113.7",
    next: "req_0N4x2Qb7004fGh2kLm9PqRsT7v",
    position: "1042.88310",
  },
  live: {
    request_id: "req_0N4x2Qb7004fGh2kLm9PqRsT7v",
    age_ms: 4200,
    key_hash: "4af0dcc83df1515ce0a358f8a3406d3668f7399142ad9dc6236c5b93e431bb3e",
    key_name: "alice",
    route: "POST /api/v1/chat/completions",
    process: "gateway-1:4711",
    is_here: true,
    complete: true,
  },
  "requests.unknown": { minute: "2026-11-24T12:04:00.000Z", status: 401, requests: 812, address: "203.0.113.7" },
  "alerts.list": {
    data: [
      {
        id: "5d0c6b1e0d6a4f4f9f0a3a4f1b2c3d4e",
        rule: "breaker_open",
        subject: { kind: "host", id: "openai/gpt-5-mini openai", name: "openai (openai/gpt-5-mini)" },
        severity: "warning",
        state: "firing",
        text: 'the circuit breaker of the host "openai" for openai/gpt-5-mini is open (overloaded): it gets no calls but probes',
        value: 630,
        threshold: 600,
        unit: "seconds",
        created_at: "2026-11-02T09:42:00.000Z",
        seen_at: "2026-11-02T09:42:30.000Z",
        resolved_at: null,
      },
    ],
    next: "1762076520000.5d0c6b1e0d6a4f4f9f0a3a4f1b2c3d4e",
  },
  state: {
    bun_version: "1.4.5",
    started_at: "2026-11-02T09:30:00.000Z",
    loaded_at: "2026-11-02T09:30:00.000Z",
    last_commit_at: "2026-11-02T09:42:30.000Z",
    machine: "gateway-1",
    pid: 4711,
    kind: "postgres",
    reachable: true,
    takes_requests: true,
    backlog_rows: 0,
    disk: {},
    free_bytes: 52_000_000_000,
    total_bytes: 100_000_000_000,
    running: 12,
    placed: 12,
    places: 1000,
    breakers: [
      {
        model: "openai/gpt-5-mini",
        host: "openai",
        state: "open",
        since: "2026-11-02T09:32:00.000Z",
        why: "overloaded",
      },
    ],
    resting: [],
    keys_near_limit: [
      {
        hash: "4af0dcc83df1515ce0a358f8a3406d3668f7399142ad9dc6236c5b93e431bb3e",
        name: "alice",
        spent_share: 0.92,
        resets_at: "2026-12-01T00:00:00.000Z",
      },
    ],
    warnings: ["storage: a password stands in the file; HEADGATE_STORAGE or PGPASSWORD keeps it out."],
  },
  "state.providers": {
    name: "OpenAI",
    plugin: "openai",
    source: "environment",
    state: "on",
    variable: "OPENAI_API_KEY",
    base_url_host: "api.openai.com",
    network: "public",
    hosts: 42,
    models: 42,
    keys: [],
  },
  "generation.content": { code: 404, message: "This generation does not exist." },
}

const valuesFor = (operation: string): JsonObject => ({
  ...values,
  ...special[operation.split(".")[0] ?? ""],
  ...special[operation],
})

const jsonOf = (body: unknown): JsonObject | undefined => {
  const content = isJsonObject(body) ? body["content"] : undefined
  const json = isJsonObject(content) ? content["application/json"] : undefined
  return isJsonObject(json) ? json : undefined
}

const withJson = (body: unknown, example: unknown): unknown => {
  const json = jsonOf(body)
  if (!isJsonObject(body) || !isJsonObject(body["content"]) || json === undefined || "example" in json) return body
  return { ...body, content: { ...body["content"], "application/json": { ...json, example } } }
}

/** The answer that an example is of: the success, or of an operation without one the refusal that it always has. */
const answered = (responses: JsonObject): string | undefined =>
  Object.keys(responses).find((status) => status.startsWith("2")) ??
  (responses["404"] === undefined ? undefined : "404")

const withExample = (operation: unknown, schemas: JsonObject): unknown => {
  if (!isJsonObject(operation)) return operation
  const { operationId, requestBody, responses } = operation
  const request = requests[String(operationId)]
  const status = isJsonObject(responses) ? answered(responses) : undefined
  if (!isJsonObject(responses) || status === undefined) return operation
  const answer = responses[status]
  return {
    ...operation,
    ...(request === undefined ? {} : { requestBody: withJson(requestBody, request) }),
    responses: {
      ...responses,
      [status]: withJson(answer, exampleOf(jsonOf(answer)?.["schema"], valuesFor(String(operationId)), schemas)),
    },
  }
}

/** The document of the control plane with examples for every operation. */
export const withExamples = (document: JsonObject): JsonObject => {
  const { paths, components } = document
  const schemas = isJsonObject(components) && isJsonObject(components["schemas"]) ? components["schemas"] : {}
  if (!isJsonObject(paths)) return document
  const described = mapped(paths, (methods) =>
    isJsonObject(methods) ? mapped(methods, (operation) => withExample(operation, schemas)) : methods,
  )
  return { ...document, paths: described }
}
