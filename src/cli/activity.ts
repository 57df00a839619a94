/** What was used in a time, added up by day, hour, model, provider, app, end user or key, from `GET /api/v1/activity`. */
import * as Effect from "effect/Effect"
import * as Schema from "effect/Schema"
import { formatUsd, type Picodollars, roundUsd, toUsd } from "../domain/price/money.ts"
import type { CommandFailed } from "./CommandFailed.ts"
import type { Gateway } from "./gatewayClient.ts"
import type { Column } from "./output.ts"

const text = Schema.optionalWith(Schema.String, { default: () => "" })

/** The members that are added up: what was used on one day, or in one hour, of one model at one host. */
const Item = Schema.Struct({
  date: Schema.String,
  /** Of a list by hour alone. */
  hour: text,
  /** Absent in answers of earlier versions, which have only days that are over. */
  is_partial: Schema.optionalWith(Schema.Boolean, { default: () => false }),
  model: Schema.String,
  provider_name: text,
  /** Of a list by app alone. */
  app_title: text,
  app_url: text,
  /** Of a list by key alone. */
  api_key_hash: text,
  /** Of a list by end user alone. */
  user_hash: text,
  api_key_name: Schema.optionalWith(Schema.NullOr(Schema.String), { default: () => null }),
  usage: Schema.Number,
  requests: Schema.Number,
  prompt_tokens: Schema.Number,
  completion_tokens: Schema.Number,
})

const Answer = Schema.Struct({ data: Schema.Array(Item) })

export const groupings = ["day", "hour", "model", "provider", "app", "user"] as const

/** By key only of a time: what keys have spent in all is another list. */
export type Grouping = (typeof groupings)[number] | "key"

const groupOf: Readonly<Record<Grouping, (item: typeof Item.Type) => string>> = {
  day: ({ date }) => date,
  hour: ({ hour }) => hour,
  model: ({ model }) => model,
  provider: ({ provider_name }) => provider_name,
  app: ({ app_title, app_url }) => [app_title, app_url].filter((text) => text !== "").join(" ") || "-",
  user: ({ user_hash }) => user_hash || "-",
  key: ({ api_key_hash }) => api_key_hash,
}

/** Parameters that a grouping needs. */
const parametersOf: { readonly [by in Grouping]?: string } = {
  hour: "interval=hour",
  app: "group_by=app",
  user: "group_by=user",
  key: "group_by=api_key",
}

const pathOf = (by: Grouping, from: string | undefined): string => {
  const parameters = [parametersOf[by], from === undefined ? undefined : `from=${from}`]
  const query = parameters.filter((one) => one !== undefined).join("&")
  return `/activity${query === "" ? "" : `?${query}`}`
}

export interface Total {
  /** What it is grouped by. */
  readonly of: string
  /** Of a key: its name; `null`: it is not known. */
  readonly name?: string | null
  /** Whether a part of it is of a day that is not over. */
  readonly isPartial: boolean
  readonly requests: number
  readonly promptTokens: number
  readonly completionTokens: number
  readonly cost: Picodollars
}

/** Whether it is a grouping by time, which is listed by time. */
const isOfTime = (by: Grouping): boolean => by === "day" || by === "hour"

/** Newest day or hour first, or what cost most first. `from`: since when, as ISO 8601; absent: as long as the gateway says without it. */
export const totals = (
  gateway: Gateway,
  by: Grouping,
  from: string | undefined,
): Effect.Effect<ReadonlyArray<Total>, CommandFailed> =>
  Effect.map(gateway.call({ method: "GET", path: pathOf(by, from) }, Answer), ({ data }) => {
    const sums = new Map<string, Total>()
    for (const item of data) {
      const of = groupOf[by](item)
      const sum = sums.get(of)
      sums.set(of, {
        of,
        ...(by === "key" && { name: item.api_key_name }),
        isPartial: item.is_partial || sum?.isPartial === true,
        requests: item.requests + (sum?.requests ?? 0),
        promptTokens: item.prompt_tokens + (sum?.promptTokens ?? 0),
        completionTokens: item.completion_tokens + (sum?.completionTokens ?? 0),
        cost: (roundUsd(item.usage) ?? 0n) + (sum?.cost ?? 0n),
      })
    }
    const all = [...sums.values()]
    return isOfTime(by)
      ? all.toSorted((a, b) => (a.of < b.of ? 1 : -1))
      : all.toSorted((a, b) => (a.cost === b.cost ? 0 : a.cost < b.cost ? 1 : -1))
  })

/** What `--json` writes of a sum. */
export const figuresOf = (
  by: Grouping,
  { of, name, isPartial, requests, promptTokens, completionTokens, cost }: Total,
) => ({
  ...(by === "key" ? { hash: of, name } : { [by]: of }),
  ...(isOfTime(by) && { is_partial: isPartial }),
  requests,
  prompt_tokens: promptTokens,
  completion_tokens: completionTokens,
  usage: toUsd(cost),
})

/** Of these rows. */
export const totalOf = (sums: ReadonlyArray<Total>): Total => {
  const sum = (member: "requests" | "promptTokens" | "completionTokens") =>
    sums.reduce((added, one) => added + one[member], 0)
  return {
    ...{ of: "total", isPartial: false },
    ...{ requests: sum("requests"), promptTokens: sum("promptTokens"), completionTokens: sum("completionTokens") },
    cost: sums.reduce((added, { cost }) => added + cost, 0n),
  }
}

export const totalColumns = (by: Grouping): ReadonlyArray<Column<Total>> => [
  {
    title: by === "key" ? "HASH" : by.toUpperCase(),
    value: ({ of }) => of,
    ...(isOfTime(by) && { short: ({ of, isPartial }: Total) => (isPartial ? `${of} (not over)` : of) }),
    ...(by === "key" && { short: ({ of }: Total) => of.slice(0, 12) }),
  },
  ...(by === "key" ? [{ title: "NAME", value: ({ of, name }: Total) => (of === "total" ? "" : (name ?? "-")) }] : []),
  { title: "REQUESTS", value: ({ requests }) => `${requests}`, align: "right" },
  { title: "TOKENS IN", value: ({ promptTokens }) => `${promptTokens}`, align: "right" },
  { title: "TOKENS OUT", value: ({ completionTokens }) => `${completionTokens}`, align: "right" },
  { title: "SPENT", value: ({ cost }) => formatUsd(cost), align: "right" },
]
