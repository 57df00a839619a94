/** `headgate spend`: what each key has spent. */
import * as Command from "@effect/cli/Command"
import * as Effect from "effect/Effect"
import { connect, urlOption } from "./gatewayClient.ts"
import { type Key, listKeys, readKey, shortHash, stateOf, usd } from "./keyRecords.ts"
import { jsonOption } from "./keys.ts"
import { type Column, writeJson, writeTable } from "./output.ts"

const columns: ReadonlyArray<Column<Key>> = [
  { title: "HASH", value: ({ hash }) => hash, short: shortHash },
  { title: "NAME", value: ({ name }) => name },
  { title: "TODAY", value: ({ usage_daily }) => usd(usage_daily), align: "right" },
  { title: "WEEK", value: ({ usage_weekly }) => usd(usage_weekly), align: "right" },
  { title: "MONTH", value: ({ usage_monthly }) => usd(usage_monthly), align: "right" },
  { title: "TOTAL", value: ({ usage }) => usd(usage), align: "right" },
]

export const spend = Command.make("spend", { json: jsonOption, url: urlOption }, ({ json, url }) =>
  Effect.gen(function* () {
    const keys = yield* Effect.forEach(yield* listKeys(yield* connect(url), { includeDisabled: true }), readKey)
    const sorted = keys.toSorted((a, b) => b.usage - a.usage)
    if (json) {
      const figures = sorted.map(({ hash, name, usage_daily, usage_weekly, usage_monthly, usage }) => ({
        hash,
        name,
        usage_daily,
        usage_weekly,
        usage_monthly,
        usage,
      }))
      return yield* writeJson(figures)
    }
    yield* writeTable(sorted, columns, { empty: "no keys", isFaint: (key) => stateOf(key) !== "active" })
  }),
).pipe(Command.withDescription("What each key has spent in USD: this UTC day, week and month, and in all. Most first."))
