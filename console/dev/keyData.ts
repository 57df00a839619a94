/** The mock's keys, and one request in full. */
import { formatUsd } from "../../src/domain/price/money.ts"
import type { Key } from "../api/keyTypes.ts"
import type { RequestDetail } from "../api/requestTypes.ts"
import { chance, keyHash, keyNames, request } from "./data.ts"

const iso = (at: number) => new Date(at).toISOString()

const dollars = (name: string, most: number): bigint =>
  BigInt(Math.round(chance(name) * most * 1e6)) * 1_000_000n + 123n

export const keyOf = (name: string, now: number): Key => {
  const month = dollars(`month ${name}`, 120)
  const limit = chance(`limit ${name}`) > 0.3 ? 100_000_000_000_000n : null
  const left = limit === null ? null : limit > month ? limit - month : 0n
  return {
    hash: keyHash(name),
    name,
    label: "sk-gw-nsO...IEz",
    disabled: name === "batch",
    limit_reset: limit === null ? null : "monthly",
    rate_limit: chance(`rate ${name}`) > 0.5 ? { requests: 600, interval_s: 60 } : null,
    allowed_models: chance(`models ${name}`) > 0.6 ? ["openai/*", "anthropic/claude-sonnet-5"] : null,
    allowed_providers: null,
    allowed_addresses: null,
    expires_at: null,
    created_at: iso(now - 86_400_000 * Math.ceil(chance(`made ${name}`) * 300)),
    updated_at: null,
    previous_ends_at: null,
    tags: chance(`tags ${name}`) > 0.4 ? ["team-a", "production"] : [],
    owner: chance(`owner ${name}`) > 0.4 ? "Ann Example" : null,
    role: null,
    exact: {
      limit: limit === null ? null : formatUsd(limit),
      limit_remaining: left === null ? null : formatUsd(left),
      usage: formatUsd(month * 7n),
      usage_daily: formatUsd(month / 20n),
      usage_weekly: formatUsd(month / 4n),
      usage_monthly: formatUsd(month),
    },
  }
}

export const keysOf = (search: string, now: number): ReadonlyArray<Key> =>
  keyNames.filter((name) => name.includes(search)).map((name) => keyOf(name, now))

export const keyWith = (hash: string, now: number): Key =>
  keyOf(keyNames.find((name) => keyHash(name) === hash) ?? "ci", now)

/** The request with the id of a row of the list. */
export const detailOf = (id: string, now: number): RequestDetail => {
  const row = Array.from({ length: 200 }, (_, at) => request(at, now)).find(({ request_id }) => request_id === id)
  const { model, host, created_at, status, outcome, why, streamed } = row ?? request(0, now)
  return {
    id: "gen-1795255204-pIB63cDx9q7xsSPX3HVx",
    request_id: id,
    caller_request_id: null,
    ...{ model, created_at, status, outcome, why, streamed },
    api_type: "completions",
    provider_name: host,
    cancelled: false,
    finish_reason: "stop",
    tokens_prompt: 2300,
    tokens_completion: 310,
    native_tokens_reasoning: 120,
    native_tokens_cached: 1500,
    exact: {
      usage: "0.001082500017",
      total_cost: "0.001082500017",
      upstream_inference_cost: "0.001082500017",
      cache_discount: "0.0003",
    },
    latency: 412,
    generation_time: 3250,
    origin: "",
    plan: { strategy: "balanced", seed: 3_141_592_653, host: host ?? "", form: "chat" },
    route: {
      strategy: "balanced",
      seed: 3_141_592_653,
      order: [
        { model: model ?? "", host: host ?? "", outcome: "finished" },
        { model: model ?? "", host: "azure/eu", outcome: "not_called" },
      ],
      excluded: [
        { model: model ?? "", host: "groq", by: "breaker", reason: "Its circuit breaker is open after failures." },
        { model: model ?? "", host: "acme", by: "max_price", reason: "It costs more than max_price allows." },
      ],
      cut: false,
    },
    billing: {
      price_basis: "host",
      price_version: 42,
      estimated: false,
      waived: null,
      lines: [
        { what: "prompt", quantity: 800, unit: "token", unit_price_usd: "0.0000005", amount_usd: "0.0004" },
        { what: "cached_prompt", quantity: 1500, unit: "token", unit_price_usd: "0.00000005", amount_usd: "0.000075" },
        { what: "completion", quantity: 310, unit: "token", unit_price_usd: "0.00000195", amount_usd: "0.0006045" },
        { what: "rounding", quantity: null, unit: null, unit_price_usd: null, amount_usd: "0.000003000017" },
      ],
    },
  }
}
