/** What an answer costs the caller, by how it ended. Pure. See docs/guarantees.md#g5. */

import type { AnswerOutcome } from "../failures/AnswerOutcome.ts"
import type { Served } from "../hosts/served.ts"
import type { Picodollars } from "../price/money.ts"
import { type Cost, costOf, noCost, type Pricing } from "../price/price.ts"
import { noUsage, type Usage } from "../price/Usage.ts"
import { tokensIn } from "../request/estimate.ts"
import { allMedia, type MediaTokens, noMedia } from "../request/MediaTokens.ts"
import type { Bounds } from "../request/request.ts"

/** What is known of an answer when it has ended. */
export interface Answer extends Served {
  readonly outcome: AnswerOutcome
  /** As the host counted; `undefined`: it reported none, or an invalid one. */
  readonly usage: Usage | undefined
  /** UTF-8 bytes of output that came from the host, without images and sound (`estimate.ts`: `bytesSaid`). */
  readonly outputBytes: number
  /** Images and sound that came. Absent: none. */
  readonly outputMedia?: MediaTokens | undefined
  /** An estimate of the text tokens of the prompt. Absent: the rule of thumb in `estimate.ts`. */
  readonly promptTextTokens?: number | undefined
  /** An estimate of the tokens that the model made and that were not sent (`hiddenTokens.ts`). Absent: none. */
  readonly hiddenTokens?: number | undefined
  /** The host goes on with the answer where the gateway does not see it, so it costs the most that the request can cost. */
  readonly isUnfinished?: boolean | undefined
  /** "" for a blank one. */
  readonly finishReason: string
  /** Of `host-failed`: a defect of the gateway broke it off, which is never charged. */
  readonly isOwnFault?: boolean
}

/**
 * Why a caller does not pay for an answer.
 * - `host-failed`: the host broke off.
 * - `error-finish`: only in rows of earlier versions: the finish reason is `error`. Today it is charged, since the model chose it.
 * - `empty`: no output, and no finish reason.
 * - `lost`: see `AnswerOutcome`.
 * - `unreported`: the caller got an error in place of the answer, because it could not be booked in time.
 */
export const waivers = ["host-failed", "error-finish", "empty", "lost", "unreported"] as const
export type Waiver = (typeof waivers)[number]

/** `free`: an answer that its host ended with an error costs the caller nothing. `metered`: it costs what came of it. */
export type ErrorFinish = "free" | "metered"

export interface Charge {
  readonly usage: Usage
  /** What the caller pays. */
  readonly cost: Cost
  /** What the host charges the operator for it, whoever pays. */
  readonly upstream: Cost
  /** Why the caller pays nothing; `null`: the caller pays `upstream`. */
  readonly waived: Waiver | null
  /** The tokens were counted by the gateway, not by the host. */
  readonly estimated: boolean
  /** By how much the host's bill can be above an estimate that the caller pays. Absent: by nothing. */
  readonly unchargedAtMost?: Picodollars
  /**
   * The host served another tier, speed or region than that whose prices these are, and the price of that is unknown.
   * Default false.
   */
  readonly isPricedOtherwise?: boolean
}

/** What is known of a request, for estimates of its cost. */
export interface Measures {
  readonly bounds: Pick<Bounds, "textBytes" | "media" | "images" | "unseen" | "cachesAnHour">
  /** The most that it can use (`reservation.ts`: `mostUsage`): no estimate of what was not seen is above it. */
  readonly most: Usage
}

export const chargeFor = (
  pricing: Pricing | null,
  answer: Answer,
  measures: Measures,
  admittedAt: number,
  errorFinish: ErrorFinish = "free",
): Charge => {
  const { images } = measures.bounds
  const counted = answer.isUnfinished === true ? undefined : answer.usage
  const usage = counted ?? estimated(answer, measures)
  const waived = waiverOf(answer, usage, errorFinish)
  const costs = reprice({ usage, images, admittedAt, waived }, pricing)
  const known: Charge = { usage, ...costs, waived, estimated: counted === undefined }
  if (counted !== undefined || waived !== null || pricing === null) return known
  const difference = costOf(pricing, measures.most, admittedAt, images).total - costs.cost.total
  return difference > 0n ? { ...known, unchargedAtMost: difference } : known
}

const estimated = (answer: Answer, { bounds, most }: Measures): Usage => {
  if (answer.isUnfinished === true) return most
  const { media: asked = noMedia } = bounds
  const media = answer.outputMedia ?? noMedia
  const shown = tokensIn(answer.outputBytes) + allMedia(media)
  const hidden = Math.min(answer.hiddenTokens ?? 0, Math.max(0, most.completionTokens - shown))
  const text = answer.promptTextTokens ?? tokensIn(bounds.textBytes)
  const prompt = Math.min(text + allMedia(asked), most.promptTokens)
  return {
    ...noUsage,
    promptTokens: prompt,
    promptImageTokens: Math.min(asked.image, prompt),
    promptAudioTokens: Math.min(asked.audio, prompt),
    completionTokens: shown + hidden,
    reasoningTokens: hidden,
    completionImageTokens: media.image,
    completionAudioTokens: media.audio,
  }
}

/** The tokens that a prompt of this size is estimated to have. */
export const promptTokens = ({ textBytes, media = noMedia }: Pick<Bounds, "textBytes" | "media">): number =>
  tokensIn(textBytes) + allMedia(media)

const waiverOf = ({ outcome, finishReason, isOwnFault }: Answer, usage: Usage, errorFinish: ErrorFinish) => {
  const isFree = errorFinish === "free" || isOwnFault === true
  if (outcome === "lost") return "lost"
  if (outcome === "host-failed") return isFree ? "host-failed" : usage.completionTokens === 0 ? "empty" : null
  if (outcome !== "finished") return null
  return usage.completionTokens === 0 && finishReason === "" ? "empty" : null
}

/** What a charge was computed from, as the ledger keeps it. */
export interface Billed {
  readonly usage: Usage
  /** In the prompt. */
  readonly images: number
  /** Unix milliseconds. */
  readonly admittedAt: number
  readonly waived: Waiver | null
}

/** The costs that these prices give, `null`: none is known. With the prices in force then they are those of the ledger. */
export const reprice = (
  { usage, images, admittedAt, waived }: Billed,
  pricing: Pricing | null,
): Pick<Charge, "cost" | "upstream"> => {
  const upstream = pricing === null ? noCost : costOf(pricing, usage, admittedAt, images)
  return { cost: waived === null ? upstream : noCost, upstream }
}
