/** `headgate spend`: what was spent, by key, day or model. */
import * as Command from "@effect/cli/Command"
import * as Options from "@effect/cli/Options"
import * as Effect from "effect/Effect"
import * as Schema from "effect/Schema"
import { formatUsd, type Picodollars, parseUsd, toUsd } from "../domain/Money.ts"
import { totalColumns, totals } from "./activity.ts"
import { connect, type Gateway, urlOption } from "./gatewayClient.ts"
import { jsonOption } from "./keyFlags.ts"
import { listKeys, readKey, stateOf } from "./keyRecords.ts"
import { type Column, writeJson, writeTable } from "./output.ts"

/** A key's amounts in picodollars. */
interface KeySpend {
  readonly hash: string
  readonly name: string
  /** `deleted`, `disabled`, `expired`; "" for one that is accepted, and for the total. */
  readonly mark: string
  readonly daily: Picodollars
  readonly weekly: Picodollars
  readonly monthly: Picodollars
  readonly total: Picodollars
}

const keyColumns: ReadonlyArray<Column<KeySpend>> = [
  { title: "HASH", value: ({ hash }) => hash, short: ({ hash }) => (hash === "total" ? hash : hash.slice(0, 12)) },
  { title: "NAME", value: ({ name, mark }) => (mark === "deleted" ? `${name} (deleted)` : name) },
  { title: "TODAY", value: ({ daily }) => formatUsd(daily), align: "right" },
  { title: "WEEK", value: ({ weekly }) => formatUsd(weekly), align: "right" },
  { title: "MONTH", value: ({ monthly }) => formatUsd(monthly), align: "right" },
  { title: "TOTAL", value: ({ total }) => formatUsd(total), align: "right" },
]

const SpendPage = Schema.Struct({
  data: Schema.Array(
    Schema.Struct({
      hash: Schema.String,
      name: Schema.NullOr(Schema.String),
      is_deleted: Schema.Boolean,
      usage: Schema.String,
      usage_daily: Schema.String,
      usage_weekly: Schema.String,
      usage_monthly: Schema.String,
    }),
  ),
  next: Schema.NullOr(Schema.String),
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

const byKey = (gateway: Gateway, json: boolean) =>
  Effect.gen(function* () {
    const keys = yield* Effect.forEach(yield* listKeys(gateway, { includeDisabled: true }), readKey)
    const marks = new Map(keys.map((key) => [key.hash, stateOf(key) === "active" ? "" : stateOf(key)]))
    const spent = (yield* spenders(gateway)).map(
      (one): KeySpend => ({
        hash: one.hash,
        name: one.name ?? "-",
        mark: one.is_deleted ? "deleted" : (marks.get(one.hash) ?? ""),
        daily: amount(one.usage_daily),
        weekly: amount(one.usage_weekly),
        monthly: amount(one.usage_monthly),
        total: amount(one.usage),
      }),
    )
    const known = new Set(spent.map(({ hash }) => hash))
    const none = { daily: 0n, weekly: 0n, monthly: 0n, total: 0n }
    const idle = keys
      .filter(({ hash }) => !known.has(hash))
      .map(({ hash, name }): KeySpend => ({ hash, name, mark: marks.get(hash) ?? "", ...none }))
    const all = [...spent, ...idle].toSorted((a, b) => (a.total === b.total ? 0 : a.total < b.total ? 1 : -1))
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
    const sum = (member: "daily" | "weekly" | "monthly" | "total") =>
      all.reduce((added, one) => added + one[member], 0n)
    const total: KeySpend = {
      ...{ hash: "total", name: "", mark: "" },
      ...{ daily: sum("daily"), weekly: sum("weekly"), monthly: sum("monthly"), total: sum("total") },
    }
    return yield* writeTable(all.length === 0 ? [] : [...all, total], keyColumns, {
      empty: "no keys",
      isFaint: ({ mark }) => mark !== "",
    })
  })

const byDayOrModel = (gateway: Gateway, by: "day" | "model", json: boolean) =>
  Effect.gen(function* () {
    const sums = yield* totals(gateway, by)
    if (!json)
      return yield* writeTable(sums, totalColumns(by), { empty: "nothing was used today and on the 30 days before" })
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
    by: Options.choice("by", ["key", "day", "model"]).pipe(
      Options.withDescription(
        "key: this UTC day, week and month, and in all; day, model: today (UTC), which is not over, and the 30 days before",
      ),
      Options.withDefault("key"),
    ),
    json: jsonOption,
    url: urlOption,
  },
  ({ by, json, url }) =>
    Effect.flatMap(connect(url), (gateway) => (by === "key" ? byKey(gateway, json) : byDayOrModel(gateway, by, json))),
).pipe(Command.withDescription("What was spent, in USD."))
