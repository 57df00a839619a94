/** What strategies cost on the same simulated days, as a table. `bun bench/conversations.ts` prints it. */
import { dayOf, type Offer, type Policy, type Spent, type Workload } from "./conversationDay.ts"

interface Market {
  readonly name: string
  readonly offers: Readonly<Record<string, Offer>>
}

/** USD per million tokens; a cache that charges for writing keeps a prompt for 5 minutes, another one for 5 minutes or an hour. */
export const markets: ReadonlyArray<Market> = [
  {
    name: "the cheapest host has no cache",
    offers: {
      plain: { prompt: 2, completion: 8 },
      brief: { prompt: 2.2, completion: 8.5, cacheRead: 0.22, lifetimeSeconds: 300 },
      written: { prompt: 2.1, completion: 8.4, cacheRead: 0.21, cacheWrite: 2.625, lifetimeSeconds: 300 },
      lasting: { prompt: 2.5, completion: 8, cacheRead: 0.625, lifetimeSeconds: 3600 },
    },
  },
  {
    name: "the cheapest host has a cache",
    offers: {
      cheap: { prompt: 2, completion: 8, cacheRead: 0.5, lifetimeSeconds: 300 },
      dear: { prompt: 2.4, completion: 9, cacheRead: 0.24, lifetimeSeconds: 300 },
      plain: { prompt: 2.2, completion: 8 },
    },
  },
]

const few = { kinds: 3, tokens: 600 }

/** Tokens, and seconds between turns. */
export const workloads: Readonly<Record<string, Workload>> = {
  "chat, a minute between turns": {
    ...{ conversations: 400, turns: 6, pause: 60, instructions: few },
    ...{ firstMessage: 200, message: 150, answer: 350 },
  },
  "agents, 8 s between calls": {
    ...{ conversations: 60, turns: 25, pause: 8, instructions: { kinds: 2, tokens: 6000 } },
    ...{ firstMessage: 800, message: 900, answer: 200 },
  },
  "documents of 20,000 tokens": {
    ...{ conversations: 150, turns: 4, pause: 120, instructions: few },
    ...{ firstMessage: 20_000, message: 100, answer: 400 },
  },
  "slow: 40 minutes between turns": {
    ...{ conversations: 150, turns: 5, pause: 2400, instructions: few },
    ...{ firstMessage: 4000, message: 200, answer: 300 },
  },
  "single requests": {
    ...{ conversations: 1500, turns: 1, pause: 60, instructions: { kinds: 1_000_000, tokens: 500 } },
    ...{ firstMessage: 1500, message: 0, answer: 250 },
  },
  "single requests, shared instructions": {
    ...{ conversations: 1500, turns: 1, pause: 60, instructions: { kinds: 4, tokens: 3000 } },
    ...{ firstMessage: 300, message: 0, answer: 150 },
  },
}

const policies = {
  balanced: { strategy: "balanced" },
  sessions: { strategy: "balanced", sessions: true },
  price: { strategy: "price" },
  warm: { strategy: "cheapest-warm" },
} as const satisfies Record<string, Policy>

export interface Row {
  readonly market: string
  readonly workload: string
  readonly requests: number
  readonly spent: Readonly<Record<keyof typeof policies, Spent>>
}

const seed = 20_261_122

export const rows = async (): Promise<ReadonlyArray<Row>> => {
  const all: Array<Row> = []
  for (const { name, offers } of markets) {
    for (const [workload, what] of Object.entries(workloads)) {
      const spent = {
        balanced: await dayOf(offers, what, policies.balanced, seed),
        sessions: await dayOf(offers, what, policies.sessions, seed),
        price: await dayOf(offers, what, policies.price, seed),
        warm: await dayOf(offers, what, policies.warm, seed),
      }
      all.push({ market: name, workload, requests: spent.warm.requests, spent })
    }
  }
  return all
}

const usd = ({ usd: amount }: Spent): string => amount.toFixed(2)

const less = ({ usd: cost }: Spent, than: Spent): string => {
  const percent = Math.round((1 - cost / than.usd) * 1000) / 10
  return percent === 0 ? "0 %" : `${percent > 0 ? "−" : "+"}${Math.abs(percent)} %`
}

/** The table in the form of a page. */
export const table = (all: ReadonlyArray<Row>): string =>
  markets
    .map(({ name }) => {
      const lines = all
        .filter(({ market }) => market === name)
        .map(({ workload, requests, spent: { balanced, sessions, price, warm } }) =>
          [
            ...[workload, requests, usd(balanced), usd(sessions), usd(price), usd(warm)],
            ...[less(warm, balanced), less(warm, sessions), less(warm, price)],
            `${Math.round(warm.cachedShare * 100)} %`,
          ].join(" | "),
        )
      return [
        `In the market where ${name}:`,
        "",
        "| workload | requests | `balanced` | with sessions | `price` | `cheapest-warm` | than `balanced` | with sessions | than `price` | read from caches |",
        "| --- | --: | --: | --: | --: | --: | --: | --: | --: | --: |",
        ...lines.map((line) => `| ${line} |`),
      ].join("\n")
    })
    .join("\n\n")
