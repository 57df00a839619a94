/** `headgate spend`: what was spent, by key, day, hour, model, provider, app or end user, in all or since a time, and what keys of providers were charged. */
import * as Command from "@effect/cli/Command"
import * as Options from "@effect/cli/Options"
import * as Clock from "effect/Clock"
import * as Effect from "effect/Effect"
import * as Option from "effect/Option"
import * as Schema from "effect/Schema"
import { formatUsd, type Picodollars, parseUsd, toUsd } from "../domain/price/money.ts"
import { figuresOf, type Grouping, groupings, totalColumns, totalOf, totals } from "./activity.ts"
import { wrongUse } from "./CommandFailed.ts"
import { connect, type Gateway, urlOption } from "./gatewayClient.ts"
import { jsonOption } from "./keyFlags.ts"
import { listKeys, readKey, stateOf } from "./keys/keyRecords.ts"
import { type Column, writeJson, writeTable } from "./output.ts"
import { timeOf } from "./requests/requestRecords.ts"

/** In picodollars. */
interface Amounts {
  readonly daily: Picodollars
  readonly weekly: Picodollars
  readonly monthly: Picodollars
  readonly total: Picodollars
}

interface KeySpend extends Amounts {
  readonly hash: string
  readonly name: string
  /** `deleted`, `disabled`, `expired`; "" for one that is accepted, and for the total. */
  readonly mark: string
}

interface ProviderKeySpend extends Amounts {
  readonly provider: string
  readonly key: string
}

const amountColumns: ReadonlyArray<Column<Amounts>> = [
  { title: "TODAY", value: ({ daily }) => formatUsd(daily), align: "right" },
  { title: "WEEK", value: ({ weekly }) => formatUsd(weekly), align: "right" },
  { title: "MONTH", value: ({ monthly }) => formatUsd(monthly), align: "right" },
  { title: "TOTAL", value: ({ total }) => formatUsd(total), align: "right" },
]

const keyColumns: ReadonlyArray<Column<KeySpend>> = [
  { title: "HASH", value: ({ hash }) => hash, short: ({ hash }) => (hash === "total" ? hash : hash.slice(0, 12)) },
  { title: "NAME", value: ({ name, mark }) => (mark === "deleted" ? `${name} (deleted)` : name) },
  ...amountColumns,
]

const providerKeyColumns: ReadonlyArray<Column<ProviderKeySpend>> = [
  { title: "PROVIDER", value: ({ provider }) => provider },
  { title: "KEY", value: ({ key }) => key },
  ...amountColumns,
]

const usages = {
  usage: Schema.String,
  usage_daily: Schema.String,
  usage_weekly: Schema.String,
  usage_monthly: Schema.String,
}

const SpendPage = Schema.Struct({
  data: Schema.Array(
    Schema.Struct({
      hash: Schema.String,
      name: Schema.NullOr(Schema.String),
      is_deleted: Schema.Boolean,
      ...usages,
    }),
  ),
  next: Schema.NullOr(Schema.String),
})

const ProviderKey = Schema.Struct({
  provider: Schema.String,
  api_key: Schema.NullOr(Schema.String),
  id: Schema.String,
  ...usages,
})

/** Of all keys that have spent anything, deleted ones too. */
const spenders = (gateway: Gateway) =>
  Effect.gen(function* () {
    const all: Array<(typeof SpendPage.Type)["data"][number]> = []
    for (let after: string | null = ""; after !== null; ) {
      const path = `/spend?after=${encodeURIComponent(after)}`
      const page: typeof SpendPage.Type = yield* gateway.call({ method: "GET", path }, SpendPage)
      all.push(...page.data)
      after = page.next
    }
    return all
  })

const amount = (usd: string): Picodollars => parseUsd(usd) ?? 0n

const amountsOf = (one: Readonly<Record<keyof typeof usages, string>>): Amounts => ({
  daily: amount(one.usage_daily),
  weekly: amount(one.usage_weekly),
  monthly: amount(one.usage_monthly),
  total: amount(one.usage),
})

const sumOf = (all: ReadonlyArray<Amounts>): Amounts => {
  const sum = (member: keyof Amounts) => all.reduce((added, one) => added + one[member], 0n)
  return { daily: sum("daily"), weekly: sum("weekly"), monthly: sum("monthly"), total: sum("total") }
}

/** The most first. */
const byTotal = (a: Amounts, b: Amounts): number => (a.total === b.total ? 0 : a.total < b.total ? 1 : -1)

const byKey = (gateway: Gateway, json: boolean) =>
  Effect.gen(function* () {
    const keys = yield* Effect.forEach(yield* listKeys(gateway, { includeDisabled: true }), readKey)
    const marks = new Map(keys.map((key) => [key.hash, stateOf(key) === "active" ? "" : stateOf(key)]))
    const spent = (yield* spenders(gateway)).map(
      (one): KeySpend => ({
        hash: one.hash,
        name: one.name ?? "-",
        mark: one.is_deleted ? "deleted" : (marks.get(one.hash) ?? ""),
        ...amountsOf(one),
      }),
    )
    const known = new Set(spent.map(({ hash }) => hash))
    const none = sumOf([])
    const idle = keys
      .filter(({ hash }) => !known.has(hash))
      .map(({ hash, name }): KeySpend => ({ hash, name, mark: marks.get(hash) ?? "", ...none }))
    const all = [...spent, ...idle].toSorted(byTotal)
    if (json) {
      return yield* writeJson(
        all.map(({ hash, name, mark, daily, weekly, monthly, total }) => ({
          ...{ hash, name, is_deleted: mark === "deleted" },
          usage_daily: toUsd(daily),
          usage_weekly: toUsd(weekly),
          usage_monthly: toUsd(monthly),
          usage: toUsd(total),
        })),
      )
    }
    const total: KeySpend = { ...{ hash: "total", name: "", mark: "" }, ...sumOf(all) }
    return yield* writeTable(all.length === 0 ? [] : [...all, total], keyColumns, {
      empty: "no keys",
      isFaint: ({ mark }) => mark !== "",
    })
  })

const byProviderKey = (gateway: Gateway, json: boolean) =>
  Effect.gen(function* () {
    const Answer = Schema.Struct({ data: Schema.Array(ProviderKey) })
    const { data } = yield* gateway.call({ method: "GET", path: "/spend/provider_keys" }, Answer)
    if (json) return yield* writeJson(data)
    const all = data
      .map(
        (one): ProviderKeySpend => ({
          provider: one.provider,
          key: one.api_key ?? `${one.id} (not configured)`,
          ...amountsOf(one),
        }),
      )
      .toSorted(byTotal)
    const total: ProviderKeySpend = { provider: "total", key: "", ...sumOf(all) }
    return yield* writeTable(all.length === 0 ? [] : [...all, total], providerKeyColumns, {
      empty: "no provider has several keys",
    })
  })

const byActivity = (gateway: Gateway, by: Grouping, since: string | undefined, json: boolean) =>
  Effect.gen(function* () {
    const sums = yield* totals(gateway, by, since)
    if (json) return yield* writeJson(sums.map((sum) => figuresOf(by, sum)))
    const isOfThirtyDays = since === undefined && by !== "hour" && by !== "user"
    return yield* writeTable(sums.length === 0 ? [] : [...sums, totalOf(sums)], totalColumns(by), {
      empty: `nothing was used ${isOfThirtyDays ? "today and on the 30 days before" : "in this time"}`,
    })
  })

export const spend = Command.make(
  "spend",
  {
    by: Options.choice("by", ["key", ...groupings, "provider_key"]).pipe(
      Options.withDescription(
        "key: this UTC day, week and month, and in all; day, model, provider, app: today (UTC), which is not over, and the 30 days before; hour, user: the last 24 hours; provider_key: what was charged to each key of a provider that has several",
      ),
      Options.withDefault("key"),
    ),
    since: Options.text("since").pipe(
      Options.withDescription(
        "only what was used since then, of at most 31 days and 1,000,000 rows of the ledger: 15m, 1h, 7d, or a time such as 2026-07-15T09:30:00Z",
      ),
      Options.optional,
    ),
    json: jsonOption,
    url: urlOption,
  },
  ({ by, since, json, url }) =>
    Effect.gen(function* () {
      const now = yield* Clock.currentTimeMillis
      const from = Option.isSome(since) ? yield* timeOf(since.value, now) : undefined
      if (by === "provider_key" && from !== undefined)
        return yield* wrongUse("--since cannot be used with --by provider_key")
      const gateway = yield* connect(url)
      if (by === "provider_key") return yield* byProviderKey(gateway, json)
      return yield* by === "key" && from === undefined ? byKey(gateway, json) : byActivity(gateway, by, from, json)
    }),
).pipe(Command.withDescription("What was spent, in USD."))
