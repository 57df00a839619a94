/** What was used today and on the 30 UTC days before it, added up by day or by model, from `GET /api/v1/activity`. */
import * as Effect from "effect/Effect"
import * as Schema from "effect/Schema"
import { formatUsd, type Picodollars, roundUsd } from "../domain/price/money.ts"
import type { CommandFailed } from "./CommandFailed.ts"
import type { Gateway } from "./gatewayClient.ts"
import type { Column } from "./output.ts"

/** The members that are added up: what was used on one day of one model at one host. */
const Item = Schema.Struct({
  date: Schema.String,
  /** Absent in answers of earlier versions, which have only days that are over. */
  is_partial: Schema.optionalWith(Schema.Boolean, { default: () => false }),
  model: Schema.String,
  usage: Schema.Number,
  requests: Schema.Number,
  prompt_tokens: Schema.Number,
  completion_tokens: Schema.Number,
})

const Answer = Schema.Struct({ data: Schema.Array(Item) })

export interface Total {
  /** The day or the model. */
  readonly of: string
  /** Whether a part of it is of a day that is not over. */
  readonly isPartial: boolean
  readonly requests: number
  readonly promptTokens: number
  readonly completionTokens: number
  readonly cost: Picodollars
}

/** Newest day first, or dearest model first. */
export const totals = (gateway: Gateway, by: "day" | "model"): Effect.Effect<ReadonlyArray<Total>, CommandFailed> =>
  Effect.map(gateway.call({ method: "GET", path: "/activity" }, Answer), ({ data }) => {
    const sums = new Map<string, Total>()
    for (const item of data) {
      const of = by === "day" ? item.date : item.model
      const sum = sums.get(of)
      sums.set(of, {
        of,
        isPartial: item.is_partial || sum?.isPartial === true,
        requests: item.requests + (sum?.requests ?? 0),
        promptTokens: item.prompt_tokens + (sum?.promptTokens ?? 0),
        completionTokens: item.completion_tokens + (sum?.completionTokens ?? 0),
        cost: (roundUsd(item.usage) ?? 0n) + (sum?.cost ?? 0n),
      })
    }
    const all = [...sums.values()]
    return by === "day"
      ? all.toSorted((a, b) => (a.of < b.of ? 1 : -1))
      : all.toSorted((a, b) => (a.cost === b.cost ? 0 : a.cost < b.cost ? 1 : -1))
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

export const totalColumns = (by: "day" | "model"): ReadonlyArray<Column<Total>> => [
  {
    title: by === "day" ? "DAY" : "MODEL",
    value: ({ of }) => of,
    ...(by === "day" && { short: ({ of, isPartial }: Total) => (isPartial ? `${of} (not over)` : of) }),
  },
  { title: "REQUESTS", value: ({ requests }) => `${requests}`, align: "right" },
  { title: "TOKENS IN", value: ({ promptTokens }) => `${promptTokens}`, align: "right" },
  { title: "TOKENS OUT", value: ({ completionTokens }) => `${completionTokens}`, align: "right" },
  { title: "SPENT", value: ({ cost }) => formatUsd(cost), align: "right" },
]
