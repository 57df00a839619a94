/** The filters of the overview, as they stand in its address and in that of `GET /analytics`. */
import { data } from "../../api/call.ts"
import type { Analytics, Figures, Grouping, GroupNames } from "../../api/types.ts"
import { type Picodollars, picodollars } from "../../lib/money.ts"
import { seen } from "../../lib/names.ts"
import { type Interval, type Span, spanParameters } from "../../lib/range.ts"
import { parameters } from "../../state/router.ts"

export const filterNames = ["model", "host", "provider", "key_hash", "app", "user_hash"] as const
export type FilterName = (typeof filterNames)[number]
export type Filters = Readonly<Partial<Record<FilterName, string>>>

export const filtersOf = (from: URLSearchParams): Filters =>
  Object.fromEntries(
    filterNames.flatMap((name) => {
      const value = from.get(name)
      return value === null ? [] : [[name, value]]
    }),
  )

export const useFilters = (): Filters => filtersOf(parameters.value)

export const groupings: ReadonlyArray<{ readonly name: Grouping; readonly title: string }> = [
  { name: "model", title: "Models" },
  { name: "host", title: "Hosts" },
  { name: "provider", title: "Providers" },
  { name: "key", title: "Keys" },
  { name: "app", title: "Apps" },
  { name: "user", title: "Users" },
]

export const isGrouping = (text: string | null): text is Grouping => groupings.some(({ name }) => name === text)

/** The filter that leaves one group, and what to call it. */
export const groupName = (group: GroupNames, by: Grouping): { readonly title: string; readonly filter: Filters } => {
  const none = (text: string | null | undefined, words: string) =>
    text === null || text === undefined || text === "" ? words : text
  if (by === "model") return { title: none(group.model, "no model"), filter: { model: group.model ?? "" } }
  if (by === "host") return { title: none(group.host, "no host"), filter: { host: group.host ?? "" } }
  if (by === "provider") {
    return {
      title: none(group.provider_name, none(group.provider, "no provider")),
      filter: { provider: group.provider ?? "" },
    }
  }
  if (by === "key") {
    const hash = group.key_hash ?? ""
    return { title: seen(group.key_name ?? "", `${hash.slice(0, 16)}…`), filter: { key_hash: hash } }
  }
  if (by === "app") {
    const app = none(group.app_title, none(group.app_url, ""))
    return { title: none(app, "no app named"), filter: { app } }
  }
  return { title: none(group.user_hash, "no user named"), filter: { user_hash: group.user_hash ?? "" } }
}

export interface Question {
  readonly span: Span
  readonly interval: Interval
  readonly filters: Filters
  readonly by?: Grouping
}

/** What changes when the question does. */
export const questionText = ({ span, interval, filters, by }: Question): string =>
  JSON.stringify([spanParameters(span), interval, filters, by ?? null])

export const ask = ({ span, interval, filters, by }: Question, signal: AbortSignal): Promise<Analytics> =>
  data<Analytics>("/analytics", {
    query: { ...spanParameters(span), interval, ...filters, group_by: by },
    signal,
  })

export const spanOf = ({ from, to }: Analytics): Span => ({ from: new Date(from), to: new Date(to) })

/** Of an interval without requests: none. */
export const spendOf = (figures: Figures | null): Picodollars => picodollars(figures?.exact.usage) ?? 0n

export const causes = [
  { name: "host", title: "hosts" },
  { name: "caller", title: "callers" },
  { name: "policy", title: "limits and rules" },
  { name: "gateway", title: "the gateway" },
] as const

/** Errors as a share of all requests. `null` where there are none, or it is not known. */
export const errorShare = ({ errors, requests }: Figures): number | null =>
  errors === null || requests === 0 ? null : errors / requests
