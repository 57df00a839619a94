/** Who pays what, by how an answer ended. Pure; G5 of the reliability page, reference 15.5. */
import { bytesAsked, imagesAsked, tokensIn } from "./Estimate.ts"
import type { JsonObject } from "./Json.ts"
import { type Cost, costOf, noCost, type Pricing } from "./Price.ts"
import { noUsage, type Usage } from "./Usage.ts"

/**
 * - `finished`: the host came to its end.
 * - `host-failed`: it broke off after output had been sent. Free to the caller.
 * - `cut`: we broke it off: budget, deadline, drain, a stalled or slow client.
 * - `caller-gone`: the caller closed the connection.
 */
export type AnswerOutcome = "finished" | "host-failed" | "cut" | "caller-gone"

/** What is known of an answer when it has ended. */
export interface Answer {
  readonly outcome: AnswerOutcome
  /** As the host counted; `undefined`: it did not, or not validly. */
  readonly usage: Usage | undefined
  /** The body of the request: read where its tokens have to be estimated. */
  readonly asked: JsonObject
  /** Bytes of text, reasoning and tool calls that came from the host. */
  readonly outputBytes: number
  /** "" for a blank one. */
  readonly finishReason: string
}

export interface Charge {
  readonly usage: Usage
  /** What the caller pays. */
  readonly cost: Cost
  /** What the host will ask for it, whoever pays. */
  readonly upstream: Cost
  /** The tokens were counted by us. */
  readonly estimated: boolean
}

export const chargeFor = (pricing: Pricing | null, answer: Answer, admittedAt: number): Charge => {
  const usage = answer.usage ?? {
    ...noUsage,
    promptTokens: tokensIn(bytesAsked(answer.asked)),
    completionTokens: tokensIn(answer.outputBytes),
  }
  const upstream = pricing === null ? noCost : costOf(pricing, usage, admittedAt, imagesAsked(answer.asked))
  const blank = usage.completionTokens === 0 && answer.finishReason === ""
  const free = answer.outcome === "host-failed" || (answer.outcome === "finished" && blank)
  return { usage, cost: free ? noCost : upstream, upstream, estimated: answer.usage === undefined }
}
