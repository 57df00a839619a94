/** The times of a request as spans of one line: what the waterfall of a request draws. */

export interface Times {
  readonly admitted: number | null
  readonly first_attempt: number | null
  readonly first_token: number | null
  readonly first_byte: number | null
  readonly last_byte: number | null
  readonly booked: number | null
}

export interface WaterfallSpan {
  readonly title: string
  /** Milliseconds after the first byte of the request. */
  readonly from: number
  readonly to: number
  readonly kind: "gateway" | "host" | "failed"
}

interface Call {
  readonly host: string
  readonly outcome: string
  readonly duration_ms?: number | null
  readonly fault?: string | null
}

const isAnswer = (outcome: string): boolean => outcome === "finished" || outcome === "ok" || outcome === "cut"

/**
 * Reading and planning, each call of a host, and what came after the last one. Calls are known by how long they took: they are laid one
 * after another from the first on. The last one ran until the end at most, so that one beside a call that lost begins before that ended.
 */
export const waterfall = (
  times: Times,
  calls: ReadonlyArray<Call>,
  total: number,
  host: string | null,
): ReadonlyArray<WaterfallSpan> => {
  const spans: Array<WaterfallSpan> = []
  const begun = times.first_attempt ?? times.admitted
  if (times.admitted !== null) spans.push({ title: "read and admitted", from: 0, to: times.admitted, kind: "gateway" })
  if (times.admitted !== null && times.first_attempt !== null && times.first_attempt > times.admitted) {
    spans.push({ title: "planned, money reserved", from: times.admitted, to: times.first_attempt, kind: "gateway" })
  }
  let at = begun ?? 0
  for (const [place, call] of calls.entries()) {
    const took = call.duration_ms ?? 0
    const isLast = place === calls.length - 1
    const from = isLast ? Math.min(at, Math.max(begun ?? 0, total - took)) : at
    const to = Math.min(total, from + took)
    const title = call.fault == null ? call.host : `${call.host}: ${call.fault}`
    spans.push({ title, from, to, kind: isAnswer(call.outcome) ? "host" : "failed" })
    at = Math.max(at, to)
  }
  if (calls.length === 0 && host !== null) {
    const first = times.first_token
    if (first === null) spans.push({ title: host, from: at, to: total, kind: "host" })
    else {
      spans.push({ title: `${host}: until the first token`, from: at, to: first, kind: "host" })
      if (total > first) spans.push({ title: `${host}: the rest`, from: first, to: total, kind: "host" })
    }
    at = total
  }
  if (times.booked !== null && times.booked > at) {
    spans.push({ title: "cost written to the ledger", from: at, to: times.booked, kind: "gateway" })
  }
  return spans
}

/** The parts of `total` from 0 to 100, for a bar that is seen even where it is short. */
export const placed = (
  { from, to }: WaterfallSpan,
  total: number,
): { readonly left: number; readonly width: number } => {
  if (total <= 0) return { left: 0, width: 100 }
  const left = Math.min(99.5, Math.max(0, (from / total) * 100))
  return { left, width: Math.max(0.5, Math.min(100 - left, ((to - from) / total) * 100)) }
}
