/** `headgate spend`: what was spent, by key, day or model, and what keys of providers were charged. */
import * as Command from "@effect/cli/Command"
import * as Options from "@effect/cli/Options"
import * as Effect from "effect/Effect"
import * as Schema from "effect/Schema"
import { formatUsd, type Picodollars, parseUsd, toUsd } from "../domain/price/money.ts"
import { totalColumns, totalOf, totals } from "./activity.ts"
import { connect, type Gateway, urlOption } from "./gatewayClient.ts"
import { jsonOption } from "./keyFlags.ts"
import { listKeys, readKey, stateOf } from "./keys/keyRecords.ts"
import { type Column, writeJson, writeTable } from "./output.ts"

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

const byDayOrModel = (gateway: Gateway, by: "day" | "model", json: boolean) =>
  Effect.gen(function* () {
    const sums = yield* totals(gateway, by)
    if (!json)
      return yield* writeTable(sums.length === 0 ? [] : [...sums, totalOf(sums)], totalColumns(by), {
        empty: "nothing was used today and on the 30 days before",
      })
    const figures = sums.map(({ of, isPartial, requests, promptTokens, completionTokens, cost }) => ({
      [by]: of,
      ...(by === "day" && { is_partial: isPartial }),
      requests,
      prompt_tokens: promptTokens,
      completion_tokens: completionTokens,
      usage: toUsd(cost),
    }))
    return yield* writeJson(figures)
  })

export const spend = Command.make(
  "spend",
  {
    by: Options.choice("by", ["key", "day", "model", "provider_key"]).pipe(
      Options.withDescription(
        "key: this UTC day, week and month, and in all; day, model: today (UTC), which is not over, and the 30 days before; provider_key: what was charged to each key of a provider that has several",
      ),
      Options.withDefault("key"),
    ),
    json: jsonOption,
    url: urlOption,
  },
  ({ by, json, url }) =>
    Effect.flatMap(connect(url), (gateway) => {
      if (by === "key") return byKey(gateway, json)
      return by === "provider_key" ? byProviderKey(gateway, json) : byDayOrModel(gateway, by, json)
    }),
).pipe(Command.withDescription("What was spent, in USD."))
