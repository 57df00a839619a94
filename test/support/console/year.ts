/**
 * A year of requests as an installation of some teams may have had them: keys with owners and tags, twelve models at their hosts, a rhythm
 * of days and weeks, growth, failures and alerts. By a seed, so that the same is made each time. Written through the repositories.
 */
import * as Effect from "effect/Effect"
import * as Redacted from "effect/Redacted"
import type { AlertRule } from "../../../src/domain/alerts/Alert.ts"
import type { RequestOutcome } from "../../../src/domain/failures/RequestOutcome.ts"
import { generationId, inBase62, type KeyId, requestIdAt } from "../../../src/domain/ids.ts"
import { parseUsd } from "../../../src/domain/price/money.ts"
import { KeyStore, type NewKey } from "../../../src/services/keys/KeyStore.ts"
import type { LedgerRow } from "../../../src/services/storage/ledger.ts"
import type { RequestRecord } from "../../../src/services/storage/requests.ts"
import { Storage } from "../../../src/services/storage/Storage.ts"

const hourMs = 3_600_000
const dayMs = 24 * hourMs

/** Between 0 and 1, evenly. */
type Chance = () => number

const chanceOf = (seed: number): Chance => {
  let state = seed
  return () => {
    state = (state + 0x6d2b79f5) | 0
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state)
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 4_294_967_296
  }
}

/** One of them, each as often as its `often` says. */
const pick = <One extends { readonly often: number }>(all: ReadonlyArray<One>, chance: Chance): One => {
  let left = chance() * all.reduce((sum, { often }) => sum + often, 0)
  const found = all.find(({ often }) => {
    left -= often
    return left < 0
  })
  const chosen = found ?? all.at(-1)
  if (chosen === undefined) throw new Error("there is none to pick")
  return chosen
}

/** `prompt`, `completion`: USD per token. `hosts`: by how much slower each is. */
export const yearModels = [
  {
    id: "openai/gpt-5-mini",
    often: 30,
    prompt: "0.00000025",
    completion: "0.000002",
    hosts: ["openai", "azure"],
    ms: 420,
  },
  {
    id: "anthropic/claude-sonnet-5",
    often: 22,
    prompt: "0.000003",
    completion: "0.000015",
    hosts: ["anthropic", "bedrock"],
    ms: 780,
  },
  { id: "google/gemini-3-flash", often: 12, prompt: "0.0000003", completion: "0.0000025", hosts: ["google"], ms: 360 },
  { id: "openai/gpt-5", often: 9, prompt: "0.00000125", completion: "0.00001", hosts: ["openai", "azure"], ms: 900 },
  {
    id: "meta-llama/llama-4-maverick",
    often: 7,
    prompt: "0.00000022",
    completion: "0.00000085",
    hosts: ["groq", "together"],
    ms: 180,
  },
  {
    id: "deepseek/deepseek-v3.2",
    often: 6,
    prompt: "0.00000028",
    completion: "0.00000042",
    hosts: ["together"],
    ms: 640,
  },
  {
    id: "anthropic/claude-haiku-5",
    often: 5,
    prompt: "0.000001",
    completion: "0.000005",
    hosts: ["anthropic", "bedrock"],
    ms: 390,
  },
  {
    id: "mistralai/mistral-large-3",
    often: 3,
    prompt: "0.000002",
    completion: "0.000006",
    hosts: ["mistral"],
    ms: 510,
  },
  {
    id: "qwen/qwen3-coder",
    often: 3,
    prompt: "0.0000004",
    completion: "0.0000016",
    hosts: ["together", "groq"],
    ms: 450,
  },
  { id: "openai/gpt-5-nano", often: 2, prompt: "0.00000005", completion: "0.0000004", hosts: ["openai"], ms: 300 },
  { id: "google/gemini-3-pro", often: 1, prompt: "0.00000125", completion: "0.00001", hosts: ["google"], ms: 1100 },
  { id: "moonshotai/kimi-k2", often: 1, prompt: "0.0000006", completion: "0.0000025", hosts: ["groq"], ms: 260 },
] as const

const usd = (text: string): bigint => {
  const amount = parseUsd(text)
  if (amount === undefined) throw new Error(`${text} is no amount`)
  return amount
}

/** How often each is used, and since which part of the year there is the key. */
const yearKeys: ReadonlyArray<NewKey & { readonly often: number; readonly since: number }> = [
  {
    kind: "ordinary",
    name: "support-bot",
    owner: "support@acme.example",
    tags: ["production", "support"],
    often: 30,
    since: 0,
    limit: usd("2500"),
    limitReset: "monthly",
  },
  {
    kind: "ordinary",
    name: "search",
    owner: "search@acme.example",
    tags: ["production"],
    often: 24,
    since: 0.1,
    limit: usd("60"),
    limitReset: "daily",
  },
  {
    kind: "ordinary",
    name: "coding agents",
    owner: "platform@acme.example",
    tags: ["engineering", "agents"],
    often: 18,
    since: 0.35,
  },
  {
    kind: "ordinary",
    name: "nightly summaries",
    owner: "data@acme.example",
    tags: ["batch"],
    often: 9,
    since: 0.2,
    limit: usd("500"),
    limitReset: "weekly",
  },
  {
    kind: "ordinary",
    name: "alice",
    owner: "alice@acme.example",
    tags: ["engineering"],
    often: 5,
    since: 0,
    limit: usd("5"),
    limitReset: "daily",
  },
  {
    kind: "ordinary",
    name: "bob",
    owner: "bob@acme.example",
    tags: ["engineering"],
    often: 4,
    since: 0.5,
    limit: usd("5"),
    limitReset: "daily",
  },
  {
    kind: "ordinary",
    name: "translations of the shop",
    owner: "shop@acme.example",
    tags: ["production", "shop"],
    often: 6,
    since: 0.6,
  },
  {
    kind: "ordinary",
    name: "experiments",
    owner: "research@acme.example",
    tags: ["research"],
    often: 3,
    since: 0.15,
    limit: usd("40"),
    limitReset: "monthly",
  },
  { kind: "ordinary", name: "old intranet", owner: null, tags: [], often: 1, since: 0 },
]

const yearApps = [
  { title: "Support desk", url: "https://support.acme.example", often: 30 },
  { title: "Shop search", url: "https://shop.acme.example", often: 22 },
  { title: "opencode", url: "https://opencode.ai", often: 18 },
  { title: "Notebook", url: "", often: 6 },
  { title: "", url: "", often: 14 },
]

const failures: ReadonlyArray<{
  readonly outcome: RequestOutcome
  readonly status: number
  readonly why: string
  readonly often: number
  readonly ms: number
}> = [
  { outcome: "host_rate_limited", status: 429, why: "all hosts are rate limited", often: 8, ms: 900 },
  { outcome: "host_timeout", status: 504, why: "no first token within its time", often: 3, ms: 60_000 },
  { outcome: "host_unavailable", status: 502, why: "the hosts answered 503", often: 4, ms: 2100 },
  { outcome: "caller_bad_request", status: 400, why: "messages: is missing", often: 6, ms: 2 },
  { outcome: "policy_budget_used_up", status: 402, why: "the daily limit of the key is used up", often: 5, ms: 1 },
]

const hoursOfDay = [2, 1, 1, 1, 1, 2, 4, 8, 14, 18, 20, 19, 16, 18, 20, 20, 18, 15, 11, 8, 6, 5, 4, 3]

/** How much there is in an hour, as a part of all: days have a rhythm, weekends are quiet, and the year grows. */
const weightsOf = (start: number, hours: number, chance: Chance): ReadonlyArray<number> =>
  Array.from({ length: hours }, (_, at) => {
    const date = new Date(start + at * hourMs)
    const weekend = date.getUTCDay() % 6 === 0 ? 0.3 : 1
    return (hoursOfDay[date.getUTCHours()] ?? 1) * weekend * (0.3 + (1.4 * at) / hours) * (0.75 + chance() / 2)
  })

export interface Year {
  /** The end of it, Unix milliseconds. */
  readonly now: number
  /** Of the ledger; the refused and failed ones come on top. */
  readonly rows: number
  readonly seed?: number
}

/** Fills the database. The keys that it made, by their names. */
export const fillYear = ({ now, rows, seed = 29 }: Year) =>
  Effect.gen(function* () {
    const storage = yield* Storage
    const store = yield* KeyStore
    const chance = chanceOf(seed)
    const keys: Array<{ readonly id: KeyId; readonly often: number; readonly from: number }> = []
    const secrets = new Map<string, string>()
    const start = Math.floor((now - 365 * dayMs) / hourMs) * hourMs
    for (const { often, since, ...key } of yearKeys) {
      const { record, secret } = yield* store.create(key)
      const author = { actor: "gateway", at: now } as const
      // As if it had been made back then.
      const from = start + since * 365 * dayMs
      yield* storage.keys.remove(record.id, author)
      yield* storage.keys.insert({ ...record, createdAt: from, updatedAt: from }, author)
      secrets.set(key.name, Redacted.value(secret))
      keys.push({ id: record.id, often, from })
    }
    const hours = Math.ceil((now - start) / hourMs)
    const weights = weightsOf(start, hours, chance)
    const whole = weights.reduce((sum, weight) => sum + weight, 0)
    let made = 0
    let owed = 0
    let batch: Array<LedgerRow> = []
    let records: Array<RequestRecord> = []
    const write = Effect.suspend(() => {
      const [some, others] = [batch, records]
      batch = []
      records = []
      return Effect.all([
        some.length === 0 ? Effect.void : storage.ledger.append(some),
        others.length === 0 ? Effect.void : storage.requests.add(others),
      ])
    })
    for (const [hour, weight] of weights.entries()) {
      owed += (weight / whole) * rows
      const count = Math.floor(owed)
      owed -= count
      const times = Array.from({ length: count }, () => start + hour * hourMs + Math.floor(chance() * hourMs))
      for (const at of times.toSorted((a, b) => a - b)) {
        if (at >= now - 60_000) continue
        made += 1
        const there = keys.filter(({ from }) => from <= at)
        const row = rowAt(at, made, pick(there, chance).id, chance)
        batch.push(row)
        if (at > now - 29 * dayMs && chance() < 0.025) records.push(recordOf(row, made, chance))
      }
      if (batch.length > 1500) yield* write
    }
    yield* write
    for (const [place, alert] of alertsAt(now).entries()) yield* insertAlert(storage, alert, place)
    return secrets
  })

/** A long tail: most are near `middle`, some are many times as much. */
const long = (middle: number, chance: Chance): number => middle * Math.exp((chance() + chance() + chance() - 1.5) * 1.3)

const rowAt = (at: number, number: number, key: KeyId, chance: Chance): LedgerRow => {
  const model = pick(yearModels, chance)
  const slot = model.hosts.length > 1 && chance() < 0.2 ? 1 : 0
  const host = model.hosts[slot] ?? model.hosts[0]
  const app = pick(yearApps, chance)
  const promptTokens = Math.round(long(1400, chance))
  const completionTokens = Math.round(long(260, chance))
  const cachedTokens = chance() < 0.4 ? Math.floor((promptTokens * 0.7) / 128) * 128 : 0
  const reasoningTokens = chance() < 0.25 ? Math.floor(completionTokens * 0.4) : 0
  const cost = BigInt(promptTokens) * usd(model.prompt) + BigInt(completionTokens) * usd(model.completion)
  const requestId = `${requestIdAt(at)}${inBase62(number, 16)}`
  const latencyMs = Math.round(long(model.ms * (1 + slot * 0.4), chance))
  const durationMs = latencyMs + Math.round(long(completionTokens * 9, chance))
  return {
    ...{ requestId, generationId: generationId(Math.floor(at / 1000), requestId), key, model: model.id },
    ...{ host, provider: host, cost, upstreamCost: (cost * 97n) / 100n, promptTokens, completionTokens, cachedTokens },
    ...{ cacheWriteTokens: 0, reasoningTokens, rareUsage: null, estimated: false, streamed: chance() < 0.7 },
    ...{ finishReason: chance() < 0.15 ? "tool_calls" : "stop", outcome: "finished", admittedAt: at },
    ...{ settledAt: at + durationMs, latencyMs, durationMs, appTitle: app.title, appUrl: app.url },
    ...{ strategy: "balanced", seed: Math.floor(chance() * 2 ** 31), priceBasis: "listed", priceVersion: null },
    ...{ waived: null, form: "chat", operation: "chat", providerKey: "", callerRequestId: "" },
    ...{
      userHash: inBase62(Math.floor(chance() ** 2 * 900), 2)
        .padStart(16, "0")
        .toLowerCase(),
      routed: "",
    },
  }
}

const recordOf = (row: LedgerRow, number: number, chance: Chance): RequestRecord => {
  const { outcome, status, why, ms } = pick(failures, chance)
  const isOfHost = outcome.startsWith("host_")
  const createdAt = row.admittedAt + 1
  return {
    ...{ requestId: `${requestIdAt(createdAt)}${inBase62(number, 16)}`, generationId: null, callerRequestId: "" },
    ...{ createdAt, key: row.key, appTitle: row.appTitle, appUrl: row.appUrl, userHash: row.userHash },
    ...{ route: "POST /api/v1/chat/completions", form: "chat", model: row.model, host: isOfHost ? row.host : null },
    ...{ status, outcome, why, streamed: row.streamed, times: { admitted: 1 }, durationMs: ms, bytesIn: 1200 },
    attempts: isOfHost ? [{ model: row.model, host: row.host, outcome: "overloaded", status: 503, ms }] : [],
    ...{ bytesOut: 240, strategy: "", seed: 0, routed: "", address: "10.0.3.17", requests: 1 },
  }
}

interface YearAlert {
  readonly rule: AlertRule
  readonly subject: { readonly kind: "installation" | "host"; readonly id: string; readonly name: string }
  readonly text: string
  readonly value: number
  readonly threshold: number
  readonly at: number
  readonly resolvedAt: number | null
}

const alertsAt = (now: number): ReadonlyArray<YearAlert> => [
  {
    ...{ rule: "error_rate", subject: { kind: "host", id: "together", name: "together" }, value: 0.31, threshold: 0.2 },
    ...{
      text: "31% of the requests to together failed in the last ten minutes",
      at: now - 14 * 60_000,
      resolvedAt: null,
    },
  },
  {
    ...{
      rule: "daily_spend",
      subject: { kind: "installation", id: "", name: "this gateway" },
      value: 6.4,
      threshold: 6,
    },
    ...{ text: "this gateway has spent $6.40 today, more than $6.00", at: now - 5 * hourMs, resolvedAt: null },
  },
]

const insertAlert = (storage: Storage["Type"], alert: YearAlert, place: number) => {
  const { rule, subject, text, value, threshold, at, resolvedAt } = alert
  const severity = "warning" as const
  return storage.alerts.insert(
    { rule, subject: `${subject.kind}:${subject.id}`, period: `${at}` },
    {
      ...{ id: `alert_${place}`, instance: "gateway-1", installation: storage.installation, createdAt: at, resolvedAt },
      alert: { rule, subject, severity, value, threshold, unit: "share", since: at, text, period: null },
    },
    [],
  )
}
