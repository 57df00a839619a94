/** Made-up figures that are the same at each start: sums by hour of some models, hosts, keys, apps and users. */

import { formatUsd } from "../../src/domain/price/money.ts"
import type { Analytics, Figures, Group, Grouping, GroupNames, Point, RequestRow } from "../api/types.ts"

const hourMs = 3_600_000

/** From 0 to 1, the same for the same text. */
export const chance = (text: string): number => Number(Bun.hash.wyhash(text) % 1_000_003n) / 1_000_003

interface Kind extends GroupNames {
  readonly model: string
  readonly host: string
  readonly provider: string
  readonly provider_name: string
  /** Requests an hour, on average, and picodollars each. */
  readonly rate: number
  readonly price: number
}

const keys = ["ci", "kitchen-app", "support desk", "research", "Ümlaut & <b>Söhne</b>", "batch"] as const
const hostile = '<img src=x onerror="alert(1)">'

const kind = (model: string, host: string, rate: number, price: number): Kind => ({
  model,
  host,
  provider: host.split("/")[0] ?? host,
  provider_name: (host.split("/")[0] ?? host).replace(/^./, (first) => first.toUpperCase()),
  rate,
  price,
})

export const kinds: ReadonlyArray<Kind> = [
  kind("openai/gpt-5-mini", "openai", 210, 1_240_000_000),
  kind("openai/gpt-5-mini", "azure/eu", 90, 1_310_000_000),
  kind("anthropic/claude-sonnet-5", "anthropic", 120, 9_730_000_000),
  kind("anthropic/claude-sonnet-5", "bedrock/us-east-1", 40, 9_990_000_000),
  kind("google/gemini-3-flash", "google-vertex", 160, 410_000_000),
  kind("meta/llama-5-70b", "groq", 70, 220_000_000),
  kind("meta/llama-5-70b", "my-vllm", 300, 35_000_123),
  kind(`acme/${hostile}`, "acme", 3, 1_000_001),
]

export const keyHash = (name: string): string => new Bun.CryptoHasher("sha256").update(name).digest("hex")
export const keyNames: ReadonlyArray<string> = keys
const apps = [
  { app_title: "Kitchen", app_url: "https://kitchen.example" },
  { app_title: hostile, app_url: null },
  { app_title: null, app_url: null },
]
const users = Array.from({ length: 24 }, (_, at) => keyHash(`user ${at}`).slice(0, 16))

const weights = [0.34, 0.26, 0.17, 0.12, 0.07, 0.04]

/** What one kind and key did in one hour. */
interface Sum {
  readonly names: GroupNames
  readonly requests: number
  readonly errors: number
  readonly prompt: number
  readonly completion: number
  readonly usage: bigint
  readonly p50: number
}

interface Cause {
  readonly caller: number
  readonly policy: number
  readonly host: number
  readonly gateway: number
}

/** Errors by who caused them, as shares of all. */
const causesOf = (errors: number): Cause => {
  const host = Math.round(errors * 0.6)
  const policy = Math.round(errors * 0.25)
  return { host, policy, gateway: 0, caller: errors - host - policy }
}

const sumsAt = (hour: number): ReadonlyArray<Sum> => {
  const at = new Date(hour * hourMs)
  const daily = 0.55 + 0.45 * Math.sin(((at.getUTCHours() - 8) / 24) * 2 * Math.PI)
  const weekly = [0, 6].includes(at.getUTCDay()) ? 0.4 : 1
  return kinds.flatMap((one, place) =>
    keys.map((key, index): Sum => {
      const noise = 0.7 + 0.6 * chance(`${hour} ${place} ${index}`)
      const requests = Math.round(one.rate * (weights[index] ?? 0) * daily * weekly * noise)
      const isBad = chance(`bad ${Math.floor(hour / 5)} ${place}`) > 0.985
      return {
        names: {
          ...one,
          key_hash: keyHash(key),
          key_name: key,
          ...apps[index % apps.length],
          user_hash: users[(place * 7 + index * 3 + (hour % 5)) % users.length] ?? null,
        },
        requests,
        errors: Math.round(requests * (isBad ? 0.3 : 0.006)),
        prompt: Math.round(requests * 2400 * noise),
        completion: Math.round(requests * 310 * noise),
        usage: BigInt(requests) * BigInt(Math.round(one.price * noise)),
        p50: Math.round((180 + place * 60) * noise * (isBad ? 3 : 1)),
      }
    }),
  )
}

/** `isBooked`: only what the ledger has, in which there are no errors. */
const figuresOf = (sums: ReadonlyArray<Sum>, hasTimes: boolean, isBooked = false): Figures => {
  const total = (pick: (sum: Sum) => number) => sums.reduce((all, sum) => all + pick(sum), 0)
  const usage = sums.reduce((all, sum) => all + sum.usage, 0n)
  const requests = total((sum) => sum.requests)
  const p50 = requests === 0 ? 0 : Math.round(total((sum) => sum.p50 * sum.requests) / requests)
  const cost = (usage * 97n) / 100n
  return {
    requests,
    errors: isBooked ? null : total((sum) => sum.errors),
    errors_by: isBooked ? null : causesOf(total((sum) => sum.errors)),
    tokens_prompt: total((sum) => sum.prompt),
    tokens_completion: total((sum) => sum.completion),
    tokens_cached: Math.round(total((sum) => sum.prompt) * 0.42),
    tokens_reasoning: Math.round(total((sum) => sum.completion) * 0.2),
    exact: { usage: formatUsd(usage), upstream_cost: formatUsd(cost) },
    first_token_ms: hasTimes && requests > 0 ? { p50, p99: p50 * 4 + 120, count: requests } : null,
  }
}

const namesFor: Readonly<Record<Grouping, ReadonlyArray<keyof GroupNames>>> = {
  model: ["model"],
  host: ["host", "provider", "provider_name"],
  provider: ["provider", "provider_name"],
  key: ["key_hash", "key_name"],
  app: ["app_title", "app_url"],
  user: ["user_hash"],
}

const picked = (names: GroupNames, members: ReadonlyArray<keyof GroupNames>): GroupNames =>
  Object.fromEntries(members.map((member) => [member, names[member] ?? ""]))

/** What `GET /analytics` answers; `now` bounds it. */
export const analytics = (query: URLSearchParams, now: number): Analytics => {
  const interval = query.get("interval") === "day" ? "day" : "hour"
  const from = Date.parse(query.get("from") ?? new Date(now - 24 * hourMs).toISOString())
  const to = Date.parse(query.get("to") ?? new Date(now).toISOString())
  const filters = (["model", "host", "provider", "key_hash", "user_hash"] as const).flatMap((name) => {
    const asked = query.get(name)
    return asked === null ? [] : [[name, asked] as const]
  })
  const step = interval === "day" ? 24 : 1
  const buckets: Array<{ readonly at: number; readonly sums: ReadonlyArray<Sum> }> = []
  for (let hour = Math.floor(from / hourMs); hour * hourMs < Math.min(to, now); hour++) {
    const sums = sumsAt(hour).filter(({ names }) => filters.every(([name, asked]) => names[name] === asked))
    const at = Math.floor(hour / step) * step
    const last = buckets.at(-1)
    if (last?.at === at) buckets[buckets.length - 1] = { at, sums: [...last.sums, ...sums] }
    else buckets.push({ at, sums })
  }
  const pointsOf = (belongs: (sum: Sum) => boolean, hasTimes: boolean): ReadonlyArray<Point> =>
    buckets.map(({ at, sums }) => ({
      at: new Date(at * hourMs).toISOString(),
      is_partial: (at + step) * hourMs > now,
      ...figuresOf(sums.filter(belongs), hasTimes),
    }))
  const all = buckets.flatMap(({ sums }) => sums)
  const grouping = (Object.keys(namesFor) as ReadonlyArray<Grouping>).find((name) => name === query.get("group_by"))
  const groups = grouping === undefined ? [] : groupsOf(all, grouping, pointsOf)
  const limit = Number(query.get("limit") ?? 10)
  const others = groups.slice(limit)
  return {
    from: new Date(from).toISOString(),
    to: new Date(to).toISOString(),
    interval,
    kept_since: {
      sums: new Date(now - 400 * 24 * hourMs).toISOString(),
      rows: new Date(now - 90 * 24 * hourMs).toISOString(),
      requests: new Date(now - 30 * 24 * hourMs).toISOString(),
    },
    totals: figuresOf(all, true),
    points: pointsOf(() => true, true),
    groups: groups.slice(0, limit).map(({ group }) => group),
    other:
      others.length === 0
        ? null
        : figuresOf(
            others.flatMap(({ sums }) => sums),
            false,
          ),
  }
}

const groupsOf = (
  all: ReadonlyArray<Sum>,
  grouping: Grouping,
  pointsOf: (belongs: (sum: Sum) => boolean, hasTimes: boolean) => ReadonlyArray<Point>,
): ReadonlyArray<{ readonly group: Group; readonly sums: ReadonlyArray<Sum> }> => {
  const members = namesFor[grouping]
  const hasTimes = ["model", "host", "provider"].includes(grouping)
  const textOf = (sum: Sum) => JSON.stringify(picked(sum.names, members))
  return [...Map.groupBy(all, textOf)]
    .map(([text, sums]) => ({
      sums,
      usage: sums.reduce((total, sum) => total + sum.usage, 0n),
      group: {
        group: picked(sums[0]?.names ?? {}, members),
        totals: figuresOf(sums, hasTimes, grouping === "app" || grouping === "user"),
        points: pointsOf((sum) => textOf(sum) === text, hasTimes),
      },
    }))
    .sort((left, right) => (left.usage < right.usage ? 1 : -1))
}

const outcomes = [
  { status: 200, outcome: "ok", why: null },
  { status: 429, outcome: "policy_rate_limited", why: "Rate limit exceeded: requests of this key." },
  { status: 502, outcome: "host_unavailable", why: "Provider returned error." },
  { status: 400, outcome: "caller_bad_request", why: "messages[3].content" },
] as const

/** Request number `at`, counted from the newest. */
export const request = (at: number, now: number): RequestRow => {
  const roll = chance(`request ${at}`)
  const one = kinds[Math.floor(roll * kinds.length)]
  const key = keys[at % keys.length] ?? "ci"
  const end = outcomes[chance(`outcome ${at}`) > 0.95 ? 1 + (at % 3) : 0] ?? outcomes[0]
  const first = 120 + Math.round(roll * 900)
  const id = `req_${(1e9 - at).toString(36).padStart(24, "0")}`
  const isOk = end.status === 200
  const total = first + 400 + Math.round(chance(`total ${at}`) * 4000)
  return {
    request_id: id,
    generation_id: isOk ? id.replace("req", "gen") : null,
    caller_request_id: null,
    created_at: new Date(now - at * 7300).toISOString(),
    key_hash: keyHash(key),
    app_title: apps[at % 3]?.app_title ?? null,
    app_url: apps[at % 3]?.app_url ?? null,
    user_hash: users[at % users.length] ?? null,
    route: "POST /api/v1/chat/completions",
    form: "chat",
    model: one?.model ?? null,
    host: end.outcome.startsWith("policy") ? null : (one?.host ?? null),
    status: end.status,
    outcome: end.outcome,
    why: end.why,
    streamed: at % 2 === 0,
    exact: { usage: isOk ? formatUsd(BigInt(Math.round((one?.price ?? 0) * (0.5 + roll)))) : "0" },
    tokens_prompt: isOk ? Math.round(roll * 8000) : 0,
    tokens_completion: isOk ? Math.round(chance(`tokens ${at}`) * 900) : 0,
    attempts: end.outcome.startsWith("policy")
      ? []
      : [
          {
            model: one?.model ?? "",
            host: one?.host ?? "",
            outcome: isOk ? "ok" : "overloaded",
            status: isOk ? 200 : 500,
            duration_ms: total - 3,
          },
        ],
    duration_ms: total,
    times_ms: {
      admitted: 0.4,
      first_attempt: 1.1,
      first_token: isOk ? first : null,
      first_byte: isOk ? first + 1 : null,
      last_byte: total,
      booked: isOk ? total - 1 : null,
    },
    bytes_in: 2400,
    bytes_out: 5100,
    address: "203.0.113.7",
    requests: 1,
  }
}
