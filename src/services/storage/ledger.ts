/** Rows of the ledger. */

import type { AnswerOutcome } from "../../domain/failures/AnswerOutcome.ts"
import type { PriceBasis } from "../../domain/hosts/Host.ts"
import type { KeyId } from "../../domain/ids.ts"
import type { Charge, Waiver } from "../../domain/money/Charge.ts"
import type { BudgetWindow } from "../../domain/money/Slice.ts"
import type { Picodollars } from "../../domain/price/money.ts"
import { noUsage, type Usage } from "../../domain/price/Usage.ts"

/** One settled request: a line of the ledger. Never changed, never removed. */
export interface LedgerRow {
  /** Unique. With `-lost` at its end for a call of a request that another one was faster than. */
  readonly requestId: string
  readonly generationId: string
  readonly key: KeyId
  readonly model: string
  readonly host: string
  readonly provider: string
  /** What the caller pays, and what the provider charges for it. They differ where a failure is free to the caller. */
  readonly cost: Picodollars
  readonly upstreamCost: Picodollars
  readonly promptTokens: number
  readonly completionTokens: number
  readonly cachedTokens: number
  readonly cacheWriteTokens: number
  readonly reasoningTokens: number
  /** What most rows have none of; `null`: this one neither. */
  readonly rareUsage: RareUsage | null
  /** Whether the tokens were estimated, because the host reported no valid usage. */
  readonly estimated: boolean
  readonly streamed: boolean
  /** "" while unknown. */
  readonly finishReason: string
  /** `finished`, or who ended it early. */
  readonly outcome: AnswerOutcome
  /** Unix milliseconds. The request counts in the windows of this moment. */
  readonly admittedAt: number
  readonly settledAt: number
  /** Milliseconds to the first token, and to the end. */
  readonly latencyMs: number
  readonly durationMs: number
  /** Attribution, cut to 200 characters; "" where the caller gave none. */
  readonly appTitle: string
  readonly appUrl: string
  /**
   * How the hosts were ordered: id of the strategy, and `Plan.seed`. Together with the request they repeat the plan. Rows from
   * before these columns have "" and 0.
   */
  readonly strategy: string
  readonly seed: number
  /** What the costs were computed from. Rows from before these columns have "" and `null`: they cannot be computed anew. */
  readonly priceBasis: PriceBasis | ""
  /** `PriceVersion.id`; `null`: the price was unknown, and the costs are 0. */
  readonly priceVersion: number | null
  /** Why `cost` is 0 whatever `upstreamCost` is; `null`: they are the same. */
  readonly waived: Waiver | null
  /** The client's protocol, such as `chat`, and what was asked for. "" in rows from before these columns. */
  readonly form: string
  readonly operation: string
  /** Which of several keys of the provider was used (`UsedKey.id`); "": it has no several. */
  readonly providerKey: string
  /** The caller's own id of the request; "": it gave none, or the row is from before this column. */
  readonly callerRequestId: string
  /** `userHash` of the caller's end user; "": nobody was named, or the row is from before this column. */
  readonly userHash: string
  /** The hosts of the plan, and what became of them (`domain/routing/routed.ts`); "": the row is from before this column. */
  readonly routed: string
}

/** A row that is not in the ledger yet. */
export interface NewRow extends LedgerRow {
  /** The slice of a budget that the money of its request is reserved in, on a database that several processes share. Not stored. */
  readonly reservedIn?: ReservedIn
}

export interface ReservedIn {
  readonly process: string
  readonly window: BudgetWindow["window"]
  /** At most so much of the cost leaves the slice. */
  readonly amount: Picodollars
}

/**
 * Members of `Usage` without a column of their own, images in the prompt, `Charge.unchargedAtMost` in picodollars, and 1 for
 * `Charge.isPricedOtherwise`; those that are 0 are absent.
 */
export type RareUsage = {
  readonly [M in
    | Exclude<
        keyof Usage,
        "promptTokens" | "completionTokens" | "cachedTokens" | "cacheWriteTokens" | "reasoningTokens"
      >
    | "images"
    | "unchargedAtMost"
    | "pricedOtherwise"]?: number
}

/** `images`: images in the prompt, which have a price of their own at some hosts. */
export const rareUsage = (
  {
    usage,
    unchargedAtMost = 0n,
    isPricedOtherwise = false,
  }: Pick<Charge, "usage" | "unchargedAtMost" | "isPricedOtherwise">,
  images: number,
): RareUsage | null => {
  let any = images > 0 || unchargedAtMost > 0n || isPricedOtherwise
  const rare: { -readonly [M in keyof RareUsage]: RareUsage[M] } = images > 0 ? { images } : {}
  if (unchargedAtMost > 0n) rare.unchargedAtMost = Number(unchargedAtMost)
  if (isPricedOtherwise) rare.pricedOtherwise = 1
  for (const member of rareCounts) {
    if (usage[member] === 0) continue
    rare[member] = usage[member]
    any = true
  }
  return any ? rare : null
}

const rareCounts = [
  "cachedExplicitTokens",
  "cacheWrite1hTokens",
  "cachedAudioTokens",
  "promptAudioTokens",
  "promptImageTokens",
  "promptVideoTokens",
  "completionImageTokens",
  "completionAudioTokens",
  "webSearches",
  "searchUnits",
] as const satisfies ReadonlyArray<keyof Usage & keyof RareUsage>

/** The usage that a row was computed from. */
export const usageOf = (row: LedgerRow): Usage => {
  const { images: _, unchargedAtMost: __, pricedOtherwise: ___, ...rare } = row.rareUsage ?? {}
  return {
    ...noUsage,
    ...rare,
    promptTokens: row.promptTokens,
    completionTokens: row.completionTokens,
    cachedTokens: row.cachedTokens,
    cacheWriteTokens: row.cacheWriteTokens,
    reasoningTokens: row.reasoningTokens,
  }
}
