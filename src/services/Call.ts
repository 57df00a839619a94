/** One request on its way through the house: who asks, since when, and the one handle to end it. */
import type * as Clock from "effect/Clock"
import type { CallerGone, HostFailed, TimedOut, Unavailable } from "../domain/Failure.ts"
import type { KeyRecord } from "../domain/Key.ts"

/** Why a call was ended from outside while it ran. */
export type Ending = CallerGone | Unavailable | TimedOut

export interface Attribution {
  /** Cut to 200 characters; "" where the caller gave none. */
  readonly appTitle: string
  readonly appUrl: string
}

export type CallFacts = Pick<Call, "requestId" | "generationId" | "key" | "attribution" | "admittedAt">

/** Milliseconds on a clock that never steps back. */
export const monotonic = (clock: Clock.Clock) => (): number => Number(clock.unsafeCurrentTimeNanos()) / 1e6

export class Call {
  readonly requestId: string
  readonly generationId: string
  readonly key: KeyRecord
  readonly attribution: Attribution
  /** Unix milliseconds. The call belongs to the budget windows of this moment. G7. */
  readonly admittedAt: number
  private readonly monotonicMs: () => number
  private readonly startedMs: number
  /** Why it was ended; the first reason stands. */
  ending: Ending | undefined
  /** Why we hung up on the host of the current attempt. */
  hungUp: HostFailed | undefined
  /** Told once, when the call is ended from outside. */
  onEnded: (() => void) | undefined
  private aborter: AbortController | undefined

  /** Begins now: `monotonicMs` is a clock that never steps back. */
  constructor(facts: CallFacts, monotonicMs: () => number) {
    this.requestId = facts.requestId
    this.generationId = facts.generationId
    this.key = facts.key
    this.attribution = facts.attribution
    this.admittedAt = facts.admittedAt
    this.monotonicMs = monotonicMs
    this.startedMs = monotonicMs()
  }

  /** Milliseconds since it began. */
  elapsedMs(): number {
    return this.monotonicMs() - this.startedMs
  }

  /** A signal for the next attempt, which takes the place of the one before. */
  attempt(): AbortSignal {
    this.hungUp = undefined
    this.aborter = new AbortController()
    if (this.ending !== undefined) this.aborter.abort()
    return this.aborter.signal
  }

  /** Runs `then` when the host of the current attempt is hung up on, or at once if it was. */
  whenHungUp(then: () => void): void {
    const signal = this.aborter?.signal
    if (signal?.aborted === true) then()
    else signal?.addEventListener("abort", then, { once: true })
  }

  /** Ends the call: the host is hung up on at once, and no other is tried. */
  end(why: Ending): void {
    if (this.ending !== undefined) return
    this.ending = why
    this.aborter?.abort()
    this.onEnded?.()
  }

  /** Hangs up on the host of the current attempt; another may be tried. */
  hangUp(why: HostFailed): void {
    this.hungUp ??= why
    this.aborter?.abort()
  }
}
