/** What of the time of a request the gateway itself took. Pure. */
import { answeringOf } from "./Observation.ts"
import type { RequestEnd } from "./RequestEnds.ts"

/**
 * Milliseconds until the first call of a host, and from the host's answer (of a stream its first event) to the first byte of ours. Times
 * between calls are waits that hosts caused. `null`: no host answered.
 */
export const overheadMs = ({ attempts, times }: RequestEnd, answering = answeringOf(attempts)): number | null => {
  const answered = answering?.firstEvent ?? answering?.received ?? null
  if (answered === null || times.firstAttempt === null || times.firstByte === null) return null
  // A comment may have been sent before the host said anything.
  return times.firstAttempt + Math.max(0, times.firstByte - answered)
}
