/** The mock's answers, by method and path below `/api/v1`. */
import type { Alert, GatewayState, LiveRequest, OwnKey, Session } from "../api/types.ts"
import { analytics, chance, keyHash, keyNames, request } from "./data.ts"
import { detailOf, keysOf, keyWith } from "./keyData.ts"
import { freshProviders, hostsOf, models, providersAt } from "./modelData.ts"

export interface Asked {
  readonly query: URLSearchParams
  readonly names: Readonly<Record<string, string>>
  readonly body: unknown
  readonly session: Session
  /** Milliseconds since 1970. */
  readonly now: number
}

type Handler = (asked: Asked) => unknown

const iso = (at: number) => new Date(at).toISOString()

/** Keys of the mock, and whose session each begins. */
export const sessions: Readonly<Record<string, Pick<Session, "kind" | "role" | "name">>> = {
  "sk-all": { kind: "management", role: "all", name: "operator" },
  "sk-keys": { kind: "management", role: "keys", name: "team lead" },
  "sk-read": { kind: "management", role: "read", name: "on call" },
  "sk-own": { kind: "ordinary", role: null, name: "kitchen-app" },
}

const live = (now: number): ReadonlyArray<LiveRequest> =>
  Array.from({ length: 14 }, (_, at): LiveRequest => {
    const row = request(at * 3, now)
    const age = Math.round(((now / 1000 + at * 7) % 60) * 1000) + at * 40
    return {
      request_id: row.request_id,
      created_at: iso(now - age),
      age_ms: age,
      key_hash: row.key_hash,
      key_name: keyNames[at % keyNames.length] ?? null,
      route: row.route,
      form: row.form,
      model: row.model,
      host: at % 5 === 4 ? null : row.host,
      streamed: row.streamed,
      state: at % 5 === 4 ? "receiving" : at % 3 === 0 ? "waiting" : "streaming",
      process: at % 2 === 0 ? "gateway-1:4711" : "gateway-2:4712",
      is_here: at % 2 === 0,
    }
  }).toSorted((left, right) => right.age_ms - left.age_ms)

const alerts = (now: number): ReadonlyArray<Alert> => [
  {
    id: "a1",
    rule: "breaker_open",
    subject: { kind: "host", id: "groq", name: "groq" },
    severity: "warning",
    state: "firing",
    text: "The circuit breaker of groq for meta/llama-5-70b has been open for 12 minutes.",
    created_at: iso(now - 720_000),
    seen_at: iso(now - 20_000),
    resolved_at: null,
  },
  {
    id: "a2",
    rule: "account_refused",
    subject: { kind: "provider", id: "azure", name: "azure" },
    severity: "critical",
    state: "firing",
    text: "azure refused our account (401): check AZURE_API_KEY.",
    created_at: iso(now - 3_000_000),
    seen_at: iso(now - 30_000),
    resolved_at: null,
  },
]

const state = (now: number): GatewayState => ({
  version: "0.1.0",
  bun_version: "1.4.5",
  started_at: iso(now - 86_400_000 * 3),
  storage: { kind: "sqlite", reachable: true },
  ledger: { takes_requests: true, why: null, backlog_rows: 3, spooled_rows: 0, last_commit_at: iso(now - 900) },
  disk: { free_bytes: 41e9, total_bytes: 80e9 },
  requests: { running: 14, placed: 120, places: 4096 },
  breakers: [{ model: "meta/llama-5-70b", host: "groq", state: "open", since: iso(now - 720_000), why: "overloaded" }],
  resting: [
    {
      provider: "azure",
      model: "openai/gpt-5-mini",
      host: "azure/eu",
      until: iso(now + 1_200_000),
      why: "401 Unauthorized",
    },
  ],
  keys_near_limit: [{ hash: keyHash("ci"), name: "ci", spent_share: 0.93, resets_at: iso(now + 86_400_000 * 5) }],
  warnings: ["server.trusted_proxies is not set, and requests come with X-Forwarded-For."],
  configuration: { file: "/headgate/headgate.config.json", loaded_at: iso(now - 86_400_000) },
})

const ownKey = (now: number): OwnKey => ({
  label: "sk-gw-nsO...IEz",
  is_management_key: false,
  limit_reset: "monthly",
  exact: {
    limit: "250",
    limit_remaining: "87.412345678901",
    usage: "1312.5",
    usage_daily: "9.250000000017",
    usage_weekly: "41.1",
    usage_monthly: "162.587654321099",
  },
  budgets: [
    {
      scope: "key_limit",
      reset_interval: "monthly",
      resets_at: iso(now + 86_400_000 * 5),
      include_byok: false,
      exact: { limit_usd: "250", spend_usd: "162.587654321099", remaining_usd: "87.412345678901" },
    },
  ],
  expires_at: null,
  free_model_daily_requests: { used: 3, limit: 50, remaining: 47 },
})

const total = 100_000

/** A page of the requests; `after` is the number of the last row of the page before. */
const requests = ({ query, now }: Asked) => {
  const limit = Number(query.get("limit") ?? 100)
  const first = query.get("after") === null ? 0 : Number(query.get("after")) + 1
  const rows = Array.from({ length: Math.min(limit, total - first) }, (_, at) => request(first + at, now))
  const last = first + rows.length - 1
  const wanted = rows.filter(
    (row) =>
      (query.get("model") ?? row.model) === row.model &&
      (query.get("host") ?? row.host) === row.host &&
      (query.get("key_hash") ?? row.key_hash) === row.key_hash &&
      (query.get("outcome") === null || row.outcome.startsWith(query.get("outcome") ?? "")),
  )
  return { data: wanted, next: last + 1 < total ? String(last) : null, position: null }
}

/** Patterns as those of lib/address.ts. */
export const routes: Readonly<Record<string, Handler>> = {
  "GET /analytics": ({ query, now }) => ({ data: analytics(query, now) }),
  "GET /requests": requests,
  "GET /requests/live": ({ now }) => ({ data: live(now), complete: chance(String(Math.floor(now / 5000))) > 0.2 }),
  "DELETE /requests/live/:id": () => ({ deleted: true }),
  "GET /alerts": ({ now }) => ({ data: alerts(now), next: null }),
  "GET /state": ({ now }) => ({ data: state(now) }),
  "GET /providers/state": ({ now }) => ({ data: providersAt(now) }),
  "GET /models/:id*/endpoints": ({ names }) => ({ data: hostsOf(names["id"] ?? "") }),
  "GET /auth/key": ({ now }) => ({ data: ownKey(now) }),
  "GET /models": () => ({ data: models, links: { next: null }, total_count: models.length }),
  "GET /keys": ({ query, now }) => ({ data: keysOf(query.get("search") ?? "", now) }),
  "GET /keys/:hash": ({ names, now }) => ({ data: keyWith(names["hash"] ?? "", now) }),
  "PATCH /keys/:hash": ({ names, now }) => ({ data: keyWith(names["hash"] ?? "", now) }),
  "POST /keys": ({ now }) => ({ data: keyWith("", now), key: `sk-gw-${keyHash("new").slice(0, 49)}` }),
  "POST /keys/:hash/rotate": ({ names, now }) => ({
    data: keyWith(names["hash"] ?? "", now),
    key: `sk-gw-${keyHash("next").slice(0, 49)}`,
  }),
  "DELETE /keys/:hash": () => ({ deleted: true }),
  "GET /generation": ({ query, now }) => ({ data: detailOf(query.get("id") ?? "", now) }),
}

/** Those of a gateway that was just installed, where they differ. */
export const freshRoutes: Readonly<Record<string, Handler>> = {
  ...routes,
  "GET /analytics": ({ query }) => ({
    data: { ...analytics(query, 0), kept_since: { sums: null, rows: null, requests: null } },
  }),
  "GET /requests": () => ({ data: [], next: null, position: null }),
  "GET /requests/live": () => ({ data: [], complete: true }),
  "GET /alerts": () => ({ data: [], next: null }),
  "GET /state": ({ now }) => ({
    data: {
      ...state(now),
      breakers: [],
      resting: [],
      keys_near_limit: [],
      warnings: [],
      requests: { running: 0, placed: 0, places: 4096 },
    },
  }),
  "GET /providers/state": () => ({ data: freshProviders }),
  "GET /models": () => ({ data: [], links: { next: null }, total_count: 0 }),
  "GET /keys": () => ({ data: [] }),
}
