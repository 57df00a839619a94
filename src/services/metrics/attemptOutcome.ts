/** How a call of a host ended, in one word of a closed set. What stands before the first underscore says who caused it. Pure. */

import type { AnswerOutcome } from "../../domain/failures/AnswerOutcome.ts"
import type { HostReason } from "../../domain/failures/HostReason.ts"
import type { ObservedAttempt } from "../request/Observation.ts"

const ofReason = {
  unreachable: "host_unreachable",
  timeout: "host_timeout",
  account: "host_account",
  forbidden: "host_forbidden",
  "not-found": "host_not_found",
  request: "caller_request",
  "rate-limited": "host_rate_limited",
  overloaded: "host_overloaded",
  malformed: "host_malformed",
  plugin: "gateway_plugin",
  limit: "policy_limit",
  shortage: "gateway_shortage",
  defect: "gateway_defect",
  unsendable: "gateway_unsendable",
  "cut-short": "policy_cut_short",
  ended: "caller_ended",
} as const satisfies Record<HostReason, string>

const ofAnswer = {
  finished: "ok",
  "host-failed": "host_broke_off",
  cut: "policy_cut",
  "caller-gone": "caller_gone",
  lost: "lost",
  crashed: "gateway_crashed",
} as const satisfies Record<AnswerOutcome, string>

/**
 * The client or the deadline ended the request before the host sent anything. A host that had all of its time has
 * failed.
 */
const abandoned = "abandoned"

export const attemptOutcome = ({ outcome, failure }: ObservedAttempt): string => {
  if (outcome === "abandoned" && failure === undefined) return abandoned
  return outcome === "failed" || outcome === "abandoned"
    ? ofReason[failure?.reason ?? "unreachable"]
    : ofAnswer[outcome]
}
