/** `GET /analytics`: spend, requests, tokens, errors and times to the first token over time. Any key sees its own; a management key sees all. */
import * as HttpApi from "@effect/platform/HttpApi"
import * as HttpApiBuilder from "@effect/platform/HttpApiBuilder"
import * as HttpApiEndpoint from "@effect/platform/HttpApiEndpoint"
import * as HttpApiGroup from "@effect/platform/HttpApiGroup"
import * as OpenApi from "@effect/platform/OpenApi"
import * as Clock from "effect/Clock"
import * as Effect from "effect/Effect"
import { ProviderRegistry } from "../../../catalogue/ProviderRegistry.ts"
import { BadRequest, NotPermitted } from "../../../domain/failures/Failure.ts"
import { KeyId } from "../../../domain/ids.ts"
import { dayMs } from "../../../domain/keys/limitWindows.ts"
import { intervalMs, type SpanQuery } from "../../../domain/money/activity.ts"
import {
  type AnalyticsQuestion,
  type FailuresOverTime,
  type FirstTokenSeries,
  type FirstTokensOverTime,
  type GroupNames,
  hasFailures,
  hasFirstTokens,
  sumsFor,
  type UsageOverTime,
} from "../../../domain/money/analytics.ts"
import { FirstTokenCounts } from "../../../domain/money/firstTokens.ts"
import { RequestRecords } from "../../../services/records/RequestRecords.ts"
import { Storage } from "../../../services/storage/Storage.ts"
import { orUnavailable } from "../../../services/storage/StorageUnavailable.ts"
import { badRequest, notPermitted, unavailable } from "../../refusals.ts"
import { Authorize, CurrentKey } from "../Authorize.ts"
import { providerNames } from "../models/providerNames.ts"
import { AnalyticsQuery, questionOf, rowsFor } from "./AnalyticsQuery.ts"
import { AnalyticsAnswer, answerOf } from "./analyticsAnswer.ts"
import { readSpan } from "./readSpan.ts"
import { usageOfRows } from "./usageOfRows.ts"

export const AnalyticsGroup = HttpApiGroup.make("analytics")
  .add(
    HttpApiEndpoint.get("analytics", "/analytics")
      .setUrlParams(AnalyticsQuery)
      .addSuccess(AnalyticsAnswer)
      .addError(badRequest)
      .addError(notPermitted)
      .annotate(
        OpenApi.Description,
        "Spend, requests, tokens, errors and times to the first token over time. Of the calling key; a management key sees all. By default of the last 24 hours by hour, or of the last 30 days by day. With `group_by` the `limit` costliest groups are told apart. Amounts equal those of the ledger: `exact` has them as decimal text. `from` is moved to `kept_since.sums` where sums by hour are not kept that long.",
      ),
  )
  .addError(unavailable)
  .middleware(Authorize)
  .prefix("/api/v1")

/** Of one call for times to the first token. */
const longestRead = { hour: 7 * dayMs, day: 100 * dayMs } as const

/** A part, and the one after it. */
const joined = (a: FirstTokenSeries, b: FirstTokenSeries | undefined): FirstTokenSeries => {
  const counts = new FirstTokenCounts()
  for (const part of [a, b]) counts.add(part?.counts ?? [])
  return { points: [...a.points, ...(b?.points ?? [])], counts: counts.all }
}

const inOne = (a: FirstTokensOverTime | null, b: FirstTokensOverTime): FirstTokensOverTime =>
  a === null ? b : { all: joined(a.all, b.all), groups: a.groups.map((group, place) => joined(group, b.groups[place])) }

const isSame = (a: GroupNames, b: GroupNames): boolean => JSON.stringify(a) === JSON.stringify(b)

export const analyticsHandlers = HttpApiBuilder.group(
  HttpApi.make("headgate").add(AnalyticsGroup),
  "analytics",
  (handlers) =>
    Effect.gen(function* () {
      const storage = yield* Storage
      const { analytics, activity } = storage
      const { flush } = yield* RequestRecords
      const registry = yield* ProviderRegistry
      const reached = orUnavailable("storage", storage)

      const usageOf = (question: AnalyticsQuestion) =>
        Effect.gen(function* () {
          if (sumsFor(question.filter, question.by) !== undefined) return yield* reached(analytics.usage(question))
          const span = rowsFor(question)
          if (span instanceof BadRequest) return yield* span
          const part = (of: SpanQuery, below: string) => reached(activity.spanSums(of, below))
          return usageOfRows(question, yield* readSpan(span, part))
        })

      const failuresOf = (question: AnalyticsQuestion, groups: ReadonlyArray<GroupNames>) =>
        hasFailures(question) ? reached(analytics.failures(question, groups)) : Effect.succeed(null)

      /** The groups of the usage, and where there are fewer than wanted, those that have failures alone. */
      const groupsOf = (question: AnalyticsQuestion, { groups }: UsageOverTime) =>
        Effect.gen(function* () {
          const names = groups.map((group) => group.names)
          if (question.by === null || names.length >= question.limit || !hasFailures(question)) return names
          const failed = yield* reached(analytics.failedGroups(question))
          const more = failed.filter(
            (one, place) => ![...names, ...failed.slice(0, place)].some((other) => isSame(one, other)),
          )
          return [...names, ...more].slice(0, question.limit)
        })

      const firstTokensOf = (question: AnalyticsQuestion, groups: ReadonlyArray<GroupNames>) =>
        Effect.gen(function* () {
          if (!hasFirstTokens(question)) return null
          const step = longestRead[question.interval]
          const parts = Array.from({ length: Math.ceil((question.to - question.from) / step) }, (_, at) => ({
            ...question,
            from: question.from + at * step,
            to: Math.min(question.to, question.from + (at + 1) * step),
          }))
          const found = yield* Effect.forEach(parts, (part) => reached(analytics.firstTokens(part, groups)))
          const [first, ...more] = found
          return more.reduce<FirstTokensOverTime | null>(inOne, first ?? null)
        })

      const namesOf = (groups: ReadonlyArray<GroupNames>) =>
        reached(activity.names(groups.flatMap(({ key_id }) => (key_id === undefined ? [] : [KeyId.make(key_id)]))))

      const answer = (asked: AnalyticsQuestion, now: number) =>
        Effect.gen(function* () {
          yield* flush
          const kept = yield* reached(analytics.kept())
          const question = withinKept(asked, kept.sums ?? 0)
          const usage = yield* usageOf(question)
          const groups = yield* groupsOf(question, usage)
          const failures: FailuresOverTime | null = yield* failuresOf(question, groups)
          const firstTokens: FirstTokensOverTime | null = yield* firstTokensOf(question, groups)
          const step = intervalMs[question.interval]
          return answerOf(
            question,
            { usage: usage.points, failures: failures?.points ?? null, firstTokens: firstTokens?.all ?? null },
            groups.map((names, at) => ({
              names,
              usage: usage.groups[at]?.points ?? [],
              failures: failures && (failures.groups[at] ?? []),
              firstTokens: firstTokens?.groups[at] ?? null,
            })),
            { kept, current: now - (now % step), providers: providerNames(registry), keys: yield* namesOf(groups) },
          )
        })

      return handlers.handle("analytics", ({ urlParams: query }) =>
        Effect.gen(function* () {
          const { id, kind } = yield* CurrentKey
          const own = kind === "management" ? undefined : id
          if (own !== undefined && query.key_hash !== undefined && query.key_hash !== own) return yield* ownOnly
          const now = yield* Clock.currentTimeMillis
          const question = questionOf(query, { now, installation: storage.installation, own })
          if (question instanceof BadRequest) return yield* question
          return { data: yield* answer(question, now) }
        }),
      )
    }),
)

/** Sums by hour, and those of users, are not asked for from before there are any. */
const withinKept = (question: AnalyticsQuestion, since: number): AnalyticsQuestion => {
  const { filter, by, interval } = question
  const kind = sumsFor(filter, by)
  if (kind === undefined || (interval === "day" && kind !== "user")) return question
  const step = intervalMs[interval]
  const from = Math.max(question.from, Math.ceil(since / step) * step)
  return { ...question, from: Math.min(from, question.to) }
}

const ownOnly = new NotPermitted({ rule: "Only management keys can see what other keys used." })
