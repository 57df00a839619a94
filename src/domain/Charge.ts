/** What an answer costs the caller, by how it ended. Pure. See docs/guarantees.md#g5. */
import { tokensIn } from "./Estimate.ts"
import { type Cost, costOf, noCost, type Pricing } from "./Price.ts"
import type { Bounds } from "./Request.ts"
import { noUsage, type Usage } from "./Usage.ts"

/**
 * - `finished`: the host completed its answer.
 * - `host-failed`: the host broke off after output had been sent. Free to the caller.
 * - `cut`: the gateway ended it: budget, deadline, drain, a stalled or slow caller.
 * - `caller-gone`: the caller closed the connection.
 * - `crashed`: the gateway was killed. Charged by what was known to be delivered.
 * - `lost`: a second call of the same request that another one was faster than. Free to the caller.
 */
export type AnswerOutcome = "finished" | "host-failed" | "cut" | "caller-gone" | "lost" | "crashed"

/** What is known of an answer when it has ended. */
export interface Answer {
  readonly outcome: AnswerOutcome
  /** As the host counted; `undefined`: it reported none, or an invalid one. */
  readonly usage: Usage | undefined
  /** Sizes of the request, for estimates and for the price of images. */
  readonly bounds: Pick<Bounds, "textBytes" | "images">
  /** Bytes of text, reasoning and tool calls that came from the host. */
  readonly outputBytes: number
  /** "" for a blank one. */
  readonly finishReason: string
}

export interface Charge {
  readonly usage: Usage
  /** What the caller pays. */
  readonly cost: Cost
  /** What the host charges the operator for it, whoever pays. */
  readonly upstream: Cost
  /** The tokens were counted by the gateway, not by the host. */
  readonly estimated: boolean
}

export const chargeFor = (pricing: Pricing | null, answer: Answer, admittedAt: number): Charge => {
  const usage = answer.usage ?? {
    ...noUsage,
    promptTokens: tokensIn(answer.bounds.textBytes),
    completionTokens: tokensIn(answer.outputBytes),
  }
  const upstream = pricing === null ? noCost : costOf(pricing, usage, admittedAt, answer.bounds.images)
  const blank = usage.completionTokens === 0 && answer.finishReason === ""
  const free = answer.outcome === "host-failed" || answer.outcome === "lost" || (answer.outcome === "finished" && blank)
  return { usage, cost: free ? noCost : upstream, upstream, estimated: answer.usage === undefined }
}
