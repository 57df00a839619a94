/** Requests whose spans are to be exported. It is bounded: what comes while it is full is dropped and counted. */
import type { RequestEnd } from "../request/RequestEnds.ts"
import { spanCount } from "./requestSpans.ts"

export class SpanQueue {
  /** Spans that were dropped since the start. */
  dropped = 0
  private ends: Array<RequestEnd> = []
  private spans = 0
  private readonly mostSpans: number
  private readonly batchSpans: number
  private readonly wake: (isBatch: boolean) => void

  /** `wake` is called for each request that the queue takes. `isBatch`: whether there are spans for a whole batch. */
  constructor(mostSpans: number, batchSpans: number, wake: (isBatch: boolean) => void) {
    this.mostSpans = mostSpans
    this.batchSpans = batchSpans
    this.wake = wake
  }

  get isEmpty(): boolean {
    return this.ends.length === 0
  }

  push(end: RequestEnd): void {
    const count = spanCount(end)
    // One request is always taken, however small the queue is.
    if (this.spans > 0 && this.spans + count > this.mostSpans) {
      this.dropped += count
      return
    }
    this.spans += count
    this.ends.push(end)
    this.wake(this.spans >= this.batchSpans)
  }

  /** Removes the oldest requests, and gives them: those whose spans fit into one batch, or the first one where its own do not. */
  take(): ReadonlyArray<RequestEnd> {
    let count = 0
    let at = 0
    for (; at < this.ends.length; at++) {
      const end = this.ends[at]
      const more = end === undefined ? 0 : spanCount(end)
      if (at > 0 && count + more > this.batchSpans) break
      count += more
    }
    this.spans -= count
    return this.ends.splice(0, at)
  }

  /** Drops what is left, and counts it. */
  clear(): void {
    this.dropped += this.spans
    this.spans = 0
    this.ends = []
  }
}
