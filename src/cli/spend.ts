/** `headgate spend`: what was spent, by key, day or model. */
import * as Command from "@effect/cli/Command"
import * as Options from "@effect/cli/Options"
import * as Effect from "effect/Effect"
import { toUsd } from "../domain/Money.ts"
import { totalColumns, totals } from "./activity.ts"
import { connect, type Gateway, urlOption } from "./gatewayClient.ts"
import { jsonOption } from "./keyFlags.ts"
import { type Key, listKeys, readKey, shortHash, stateOf, usd } from "./keyRecords.ts"
import { type Column, writeJson, writeTable } from "./output.ts"

const keyColumns: ReadonlyArray<Column<Key>> = [
  { title: "HASH", value: ({ hash }) => hash, short: shortHash },
  { title: "NAME", value: ({ name }) => name },
  { title: "TODAY", value: ({ usage_daily }) => usd(usage_daily), align: "right" },
  { title: "WEEK", value: ({ usage_weekly }) => usd(usage_weekly), align: "right" },
  { title: "MONTH", value: ({ usage_monthly }) => usd(usage_monthly), align: "right" },
  { title: "TOTAL", value: ({ usage }) => usd(usage), align: "right" },
]

const byKey = (gateway: Gateway, json: boolean) =>
  Effect.gen(function* () {
    const keys = yield* Effect.forEach(yield* listKeys(gateway, { includeDisabled: true }), readKey)
    const sorted = keys.toSorted((a, b) => b.usage - a.usage)
    if (!json)
      return yield* writeTable(sorted, keyColumns, { empty: "no keys", isFaint: (key) => stateOf(key) !== "active" })
    const figures = sorted.map(({ hash, name, usage_daily, usage_weekly, usage_monthly, usage }) => ({
      hash,
      name,
      usage_daily,
      usage_weekly,
      usage_monthly,
      usage,
    }))
    return yield* writeJson(figures)
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
