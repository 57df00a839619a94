/** How a gateway ended: what is gathered while it stops, and the line that it ends with. */
import * as Effect from "effect/Effect"
import type { Drained } from "../services/request/InFlight.ts"

/** The requests of a process that ends. */
export interface EndingRequests {
  readonly drained: () => Drained
  /** Ends those that still run. */
  readonly cut: () => void
}

export interface StopFacts extends Drained {
  /** A signal, or what went wrong. */
  readonly why: string
  readonly tookMs: number
}

export const stopLine = ({ why, running, cut, tookMs }: StopFacts): string => {
  const plural = (count: number) => `${count} ${count === 1 ? "request" : "requests"}`
  const ended = running - cut
  const requests =
    running === 0
      ? "no request was running"
      : `${plural(ended)} ended by ${ended === 1 ? "itself" : "themselves"}, ${cut} ${cut === 1 ? "was" : "were"} cut off`
  return `headgate stopped: ${why}; ${requests}; it took ${(tookMs / 1000).toFixed(1)} s`
}

/** What is known of the end of this process, and the line that it ends with. */
export class Ending {
  private why: string | undefined
  private since = 0
  /** `undefined` until requests are served. */
  requests: EndingRequests | undefined

  /** The first reason to stop counts. */
  begin(why: string): void {
    if (this.why !== undefined) return
    this.why = why
    this.since = performance.now()
  }

  /** What became of the requests. */
  get drained(): Drained {
    return this.requests?.drained() ?? { running: 0, cut: 0 }
  }

  get hasBegun(): boolean {
    return this.why !== undefined
  }

  /** Writes the line, if the process was asked to stop. */
  readonly write: Effect.Effect<void> = Effect.sync(() => {
    const { why, since } = this
    if (why === undefined) return
    process.stdout.write(`${stopLine({ why, ...this.drained, tookMs: performance.now() - since })}\n`)
  })
}
