/** Makes the row of an attempt for the ledger from its reservation. Pure. */

import { type Host, priceBasis } from "../../domain/hosts/Host.ts"
import { type Charge, chargeFor } from "../../domain/money/Charge.ts"
import type { Slice } from "../../domain/money/Slice.ts"
import { parseUsage } from "../../domain/price/Usage.ts"
import { userHash } from "../../domain/request/userHash.ts"
import { type EndedCall, withEnds } from "../../domain/routing/routed.ts"
import { faultOf } from "../calls/callFault.ts"
import type { RequestContext } from "../request/RequestContext.ts"
import { type LedgerRow, type ReservedIn, rareUsage } from "../storage/ledger.ts"
import type { Reservation, Settlement, Streamed } from "./Reservation.ts"

/** What of a row is neither its request's nor its answer's. */
export interface RowFacts {
  /** Its id, which names of users are hashed with. */
  readonly installation: string
  readonly priceVersion: number | null
  /** Unix milliseconds. */
  readonly settledAt: number
}

/** The row of a request if the process were killed now. */
export const crashedRow = (reservation: Reservation, facts: RowFacts): LedgerRow => {
  const { context, host, progress } = reservation
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
  const charge = chargeFor(host.pricing, settlement, reservation, context.admittedAt)
  return ledgerRow(reservation, settlement, charge, facts)
}

/** What of a slice the row settles. */
export const reservedIn = ({ amount }: Reservation, { process, budget }: Slice): ReservedIn => ({
  process,
  window: budget.window,
  amount,
})

const nothingYet: Streamed = { outputBytes: 0, usageSoFar: undefined }

export const ledgerRow = (
  { context, host, streamed, bounds, providerKey }: Reservation,
  settlement: Settlement,
  charge: Charge,
  { installation, priceVersion, settledAt }: RowFacts,
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
  rareUsage: rareUsage(charge, host.pricing === null ? 0 : bounds.images),
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
  userHash: context.user === "" ? "" : userHash(installation, context.user),
  routed: routedWith(context, settlement.outcome === "finished" ? host : undefined),
})

/**
 * The plan, and where a call failed or lost, how each ended. `answered`: the host whose answer is whole. One that broke off is not among them:
 * the row has its outcome.
 */
const routedWith = ({ routed, failed, lost, calling }: RequestContext, answered: Host | undefined): string => {
  if (failed.length === 0 && lost === undefined) return routed
  const ends = failed.map(({ model, host, failure, durationMs }): EndedCall => {
    const { reason, status = null } = failure
    return { model, host, outcome: reason, status, ms: durationMs, ...faultOf(failure) }
  })
  if (lost !== undefined) ends.push(endedCall(lost.host, { outcome: "lost", status: null, ms: lost.durationMs }))
  if (answered !== undefined) {
    ends.push(endedCall(answered, { outcome: "finished", status: 200, ms: calling?.elapsedMs() ?? null }))
  }
  return withEnds(routed, ends)
}

const endedCall = ({ model, tag: host }: Host, end: Omit<EndedCall, "model" | "host">): EndedCall => ({
  model,
  host,
  ...end,
})
