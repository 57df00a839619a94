/**
 * How long one attempt may take where the operator set no bound: a host that hangs is left for the next one, a host that is
 * only slow is not. The figures behind it: docs/decisions/0043-time-outs-of-attempts.md. Pure; milliseconds throughout.
 */

/** The least time of an attempt. What is known of the host is read only after it, since most attempts have ended by then. */
export const leastMs = 120_000

/** The time to a stream's first event where the model may think without sending anything, and of the last host. */
const patientMs = 300_000

/** The most of the request's time that one host may have, as a share, while another one could be called. */
const longestShare = 0.8

/** Output tokens per second that are assumed of a host that was not measured. Nearly every host is faster. */
const unmeasuredSpeed = 10

/** What is known of an attempt before its answer. */
export interface Awaited {
  /** Milliseconds that the whole request may take. */
  readonly deadlineMs: number
  /** Whether another host could be called in its place. */
  readonly hasNext: boolean
}

/** What was measured of a host. */
export interface Pace {
  /** Output tokens per second that 99 % of its latest answers reached; `null`: not known. */
  readonly slowSpeed: number | null
  /** Milliseconds within which 99 % of its latest whole answers were complete; `null`: not known. */
  readonly slowDurationMs: number | null
}

/**
 * For a whole answer, whose head comes when it is complete. The least of:
 *
 * - the time that `outputTokens` (the most that may be asked for) take at the host's slow speed;
 * - half of the request's time, so that the next host has the other half; or twice `slowDurationMs`, where that is longer, up to
 *   `longestShare` of the request's time.
 *
 * Never below two minutes. `Infinity` for the last host, since no other one could answer instead.
 */
export const wholeAnswerMs = ({ deadlineMs, hasNext }: Awaited, outputTokens: number, pace: Pace): number => {
  if (!hasNext) return Number.POSITIVE_INFINITY
  const longestMs = (outputTokens / (pace.slowSpeed ?? unmeasuredSpeed)) * 1000
  const usualMs = Math.min(deadlineMs * longestShare, Math.max(deadlineMs / 2, 2 * (pace.slowDurationMs ?? 0)))
  return Math.max(leastMs, Math.min(usualMs, longestMs))
}

/**
 * For the first event of a stream. `slowLatencyMs`: the time within which 99 % of the host's latest streams began; `null`: not
 * known. `mayThink`: whether the model may think without sending anything.
 */
export const firstEventMs = (
  { deadlineMs, hasNext }: Awaited,
  mayThink: boolean,
  slowLatencyMs: number | null,
): number => {
  const ms = Math.max(hasNext && !mayThink ? leastMs : patientMs, 2 * (slowLatencyMs ?? 0))
  return hasNext ? Math.min(Math.max(patientMs, deadlineMs * longestShare), ms) : ms
}
