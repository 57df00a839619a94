/** Sums by hour and by day that `GET /analytics` is answered from. See docs/decisions/0083-sums-by-hour.md. */
import type * as Effect from "effect/Effect"
import type {
  AnalyticsQuestion,
  FailuresOverTime,
  FirstTokensOverTime,
  GroupNames,
  KeptSince,
  UsageOverTime,
} from "../../domain/money/analytics.ts"
import type { StorageUnavailable } from "./StorageUnavailable.ts"

export interface AnalyticsRepository {
  /** From when on there is what. Sums by hour of before are not asked for. */
  readonly kept: () => Effect.Effect<KeptSince, StorageUnavailable>
  /** Whatever rows there are: of one moment, and each row once. Only questions for which `sumsFor` names a kind of sums. */
  readonly usage: (question: AnalyticsQuestion) => Effect.Effect<UsageOverTime, StorageUnavailable>
  /** Of all together, and of each of these groups. */
  readonly failures: (
    question: AnalyticsQuestion,
    groups: ReadonlyArray<GroupNames>,
  ) => Effect.Effect<FailuresOverTime, StorageUnavailable>
  /** The groups with the most failures. */
  readonly failedGroups: (question: AnalyticsQuestion) => Effect.Effect<ReadonlyArray<GroupNames>, StorageUnavailable>
  /** The same of the times to the first token, of at most a week of hours. */
  readonly firstTokens: (
    question: AnalyticsQuestion,
    groups: ReadonlyArray<GroupNames>,
  ) => Effect.Effect<FirstTokensOverTime, StorageUnavailable>
  /**
   * Adds some rows of the ledger to the sums by hour, new ones first, then older ones from before there were such sums. `now`: Unix
   * milliseconds. Whether there is more to add.
   */
  readonly addUp: (now: number) => Effect.Effect<boolean, StorageUnavailable>
  /** Removes at most `limit` sums of hours that are past their time, of each kind. Whether there may be more. */
  readonly prune: (now: number, limit: number) => Effect.Effect<boolean, StorageUnavailable>
}
