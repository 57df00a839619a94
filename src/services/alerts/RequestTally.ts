/**
 * What the rules need of requests: how many failed lately, which keys have spent something, which providers refused our account. It runs
 * within the end of each request, so it only counts. Each process counts its own.
 */
import type { FailureCounts, Refusal } from "../../domain/alerts/conditions.ts"
import { isRefusalOver } from "../../domain/alerts/conditions.ts"
import type { RequestOutcome } from "../../domain/failures/RequestOutcome.ts"
import type { KeyId } from "../../domain/ids.ts"
import type { KeyRecord } from "../../domain/keys/key.ts"
import { SlidingSums } from "../../domain/structures/SlidingSums.ts"
import type { RequestEnd } from "../request/RequestEnds.ts"

/** Ten slots of half a minute. */
const slots = 10
const slotMs = 30_000
const requestColumn = 0
const failureColumn = 1

/** Keys that are remembered between two rounds of the rules. Further ones are remembered at their next requests. */
const mostKeys = 10_000
const mostProviders = 1000

/** A stop of the gateway is no failure of it. */
const isFailure = (outcome: RequestOutcome): boolean =>
  (outcome.startsWith("host_") || outcome.startsWith("gateway_")) && outcome !== "gateway_stopping"

export class RequestTally {
  private readonly window: SlidingSums
  private spenders = new Map<KeyId, KeyRecord>()
  private readonly refusals = new Map<string, Refusal>()
  private hasSpend = false

  /** `now`: Unix milliseconds. */
  constructor(now: number) {
    this.window = new SlidingSums(slots, slotMs, 2, now)
  }

  /** An observer of `RequestEnds`. */
  readonly observe = (end: RequestEnd): void => {
    const { form, outcome, key, row, attempts, times } = end
    if (form === null) return
    if (outcome === "ok") {
      this.window.moveTo(times.receivedAt + times.ended)
      this.window.add(requestColumn)
    } else if (isFailure(outcome)) {
      this.window.moveTo(times.receivedAt + times.ended)
      this.window.add(requestColumn)
      this.window.add(failureColumn)
    }
    if (row !== null) this.hasSpend = true
    if (key !== null && key.limit !== null && this.spenders.size < mostKeys) this.spenders.set(key.id, key)
    for (const { failure, host } of attempts) {
      if (failure?.reason === "account") this.refused(host.provider, times.receivedAt + times.ended)
    }
  }

  /** Requests of the last 5 minutes. */
  failures(now: number): FailureCounts {
    this.window.moveTo(now)
    return { requests: this.window.total(requestColumn), failed: this.window.total(failureColumn) }
  }

  /** Refusals that still count. */
  refusalsAt(now: number): ReadonlyArray<Refusal> {
    for (const [provider, refusal] of this.refusals) if (isRefusalOver(refusal, now)) this.refusals.delete(provider)
    return [...this.refusals.values()]
  }

  /** The keys with a limit that made requests since this was last asked, as their last requests had them. */
  takeSpenders(): ReadonlyArray<KeyRecord> {
    const taken = [...this.spenders.values()]
    if (taken.length > 0) this.spenders = new Map()
    return taken
  }

  /** Keys whose spend could not be read: the next round takes them again. */
  putBack(keys: ReadonlyArray<KeyRecord>): void {
    for (const key of keys) if (!this.spenders.has(key.id)) this.spenders.set(key.id, key)
  }

  /** Whether anything was booked since this was last asked. */
  takeHasSpend(): boolean {
    const had = this.hasSpend
    this.hasSpend = false
    return had
  }

  private refused(provider: string, at: number): void {
    const known = this.refusals.get(provider)
    if (known === undefined && this.refusals.size >= mostProviders) return
    this.refusals.set(provider, { provider, firstAt: known?.firstAt ?? at, latestAt: at })
  }
}
