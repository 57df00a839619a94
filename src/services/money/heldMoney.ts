/** The money of one attempt: reserved at first, then a row of the ledger. Pure. */

import { type Host, priceBasis } from "../../domain/hosts/Host.ts"
import { type Answer, type Charge, chargeFor, type ErrorFinish, type Measures } from "../../domain/money/Charge.ts"
import type { HoldSize, OutputAllowance } from "../../domain/money/hold.ts"
import type { KeyAccount } from "../../domain/money/KeyAccount.ts"
import type { Slice } from "../../domain/money/Slice.ts"
import { parseUsage } from "../../domain/price/Usage.ts"
import type { ChatUsage } from "../../domain/request/chat.ts"
import type { MediaTokens } from "../../domain/request/MediaTokens.ts"
import type { Member } from "../../domain/structures/Roster.ts"
import type { UsedKey } from "../hosts/ProviderKeys.ts"
import type { RequestContext } from "../request/RequestContext.ts"
import { type HeldIn, type LedgerRow, rareUsage } from "../storage/ledger.ts"

/**
 * Money reserved for one attempt. Ended by `settle` or `release`, whichever comes first. Does not refer to the caller's
 * body.
 */
export interface Hold extends HoldSize, Measures, Member {
  readonly context: RequestContext
  /** The money of its key. */
  readonly account: KeyAccount
  readonly host: Host
  /** The rule of its admission. */
  readonly errorFinish: ErrorFinish
  readonly streamed: boolean
  /** `HoldAsk.mostHidden`. */
  readonly mostHidden: number
  /** For a stream of a key with a limit. `amount` grows with it. */
  readonly output: OutputAllowance | undefined
  /** That the amount is taken from; `undefined`: this process has the whole budget. */
  readonly slice: Slice | undefined
  /** Which of several keys of the provider is used; `undefined`: there are no several. */
  readonly providerKey: UsedKey | undefined
  /** How far its attempt has come, for the journal. Set by the attempt. */
  progress: "held" | "dispatched" | Streamed
}

/** What a stream has delivered so far. */
export interface Streamed {
  readonly outputBytes: number
  readonly outputMedia?: MediaTokens | undefined
  readonly usageSoFar: ChatUsage | undefined
}

/** What is known of an answer when it has ended, in addition to its hold. */
export interface Settlement extends Answer {
  /** Milliseconds from admission to the first token. */
  readonly latencyMs: number
  /** Whether the caller waits for the booking, and gets an error in place of the answer when that fails. */
  readonly isAwaited: boolean
}

/** The row of a request if the process were killed now. */
export const crashedRow = (hold: Hold, priceVersion: number | null, now: number): LedgerRow => {
  const { context, host, progress } = hold
  const { outputBytes, outputMedia, usageSoFar } = typeof progress === "string" ? nothingYet : progress
  const settlement: Settlement = {
    outcome: "crashed",
    usage: parseUsage(usageSoFar),
    outputBytes,
    outputMedia,
    finishReason: "",
    latencyMs: context.elapsedMs(),
    isAwaited: false,
  }
  const charge = chargeFor(host.pricing, settlement, hold, context.admittedAt)
  return ledgerRow(hold, settlement, charge, priceVersion, now)
}

export const heldIn = ({ amount }: Hold, { process, budget }: Slice): HeldIn => ({
  process,
  window: budget.window,
  amount,
})

const nothingYet: Streamed = { outputBytes: 0, usageSoFar: undefined }

export const ledgerRow = (
  { context, host, streamed, bounds, providerKey }: Hold,
  settlement: Settlement,
  charge: Charge,
  priceVersion: number | null,
  settledAt: number,
): LedgerRow => ({
  // The row of a lost call stands beside that of the call that won.
  requestId: settlement.outcome === "lost" ? `${context.requestId}-lost` : context.requestId,
  generationId: context.generationId,
  key: context.key.id,
  model: host.model,
  host: host.tag,
  provider: host.provider,
  cost: charge.cost.total,
  upstreamCost: charge.upstream.total,
  promptTokens: charge.usage.promptTokens,
  completionTokens: charge.usage.completionTokens,
  cachedTokens: charge.usage.cachedTokens,
  cacheWriteTokens: charge.usage.cacheWriteTokens,
  reasoningTokens: charge.usage.reasoningTokens,
  rareUsage: rareUsage(charge.usage, host.pricing === null ? 0 : bounds.images, charge.unchargedAtMost),
  estimated: charge.estimated,
  streamed,
  finishReason: settlement.finishReason,
  outcome: settlement.outcome,
  admittedAt: context.admittedAt,
  settledAt,
  latencyMs: Math.round(settlement.latencyMs),
  durationMs: Math.round(context.elapsedMs()),
  appTitle: context.attribution.appTitle,
  appUrl: context.attribution.appUrl,
  strategy: context.strategy,
  seed: context.seed,
  priceBasis: priceBasis(host),
  priceVersion,
  waived: charge.waived,
  form: context.form,
  operation: context.operation,
  providerKey: providerKey?.id ?? "",
  callerRequestId: context.callerRequestId,
})
