/** The row of the ledger that an attempt comes to, out of its hold. Pure. */

import { priceBasis } from "../../domain/hosts/Host.ts"
import { type Charge, chargeFor } from "../../domain/money/Charge.ts"
import type { Slice } from "../../domain/money/Slice.ts"
import { parseUsage } from "../../domain/price/Usage.ts"
import { type HeldIn, type LedgerRow, rareUsage } from "../storage/ledger.ts"
import type { Hold, Settlement, Streamed } from "./Hold.ts"

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

/** What of a slice the row settles. */
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
