/**
 * Statistics of each host: outcomes, milliseconds to the first token, tokens per second, well-formed tool calls. In memory,
 * in windows that slide on Effect's clock; `services/hosts/keptStats.ts` keeps them over a restart. `HostHealth` decides whether a
 * host may be called. What counts and what the figures mean: docs/statistics.md.
 */
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import type { HostFailed } from "../../domain/failures/Failure.ts"
import { verdictOn } from "../../domain/failures/Verdict.ts"
import { endpointKey, type Host } from "../../domain/hosts/Host.ts"
import { HostFigures, type KeptSlot, type Percentiles, type Sample, type Slot } from "../../domain/hosts/HostFigures.ts"
import { dayMs } from "../../domain/keys/limitWindows.ts"
import type { Percentile } from "../../domain/request/Thresholds.ts"
import type { HostSnapshot } from "../../plugin/strategy.ts"

/** What a host is used for, as listings and the database say it. There is one workload in this version. */
const workload = "text_generation"

/** A finished answer, in milliseconds from the start of its attempt. */
export interface FinishedAnswer {
  /** To the first token; `undefined` where it came in one piece. */
  readonly latencyMs: number | undefined
  readonly durationMs: number
  readonly completionTokens: number
  /** `Sample.areToolCallsSound`. */
  readonly areToolCallsSound?: boolean | undefined
}

/** Figures for a listing. Percent; milliseconds; tokens per second; `null` without samples. */
export interface HostReport {
  readonly uptime5m: number | null
  readonly uptime30m: number | null
  readonly uptime1d: number | null
  readonly standing: HostSnapshot["standing"]
  /** By workload. Without any sample in 30 minutes there is none. */
  readonly performance30m: ReadonlyMap<string, Performance>
}

export interface Performance {
  readonly latency: Percentiles | null
  readonly throughput: Percentiles | null
  /** Requests that count for the uptime. */
  readonly requests: number
}

/** What the path of a request reads. */
export interface HostMeasurements {
  /** Figures for a strategy, computed when they are read. The same object each time. */
  readonly snapshot: (host: Host) => HostSnapshot
  /** Milliseconds within which so many percent of the whole answers of the last 30 minutes were complete; `null`: there were none. */
  readonly wholeAnswerAt: (host: Host, percentile: number) => number | null
}

/** What the end of an attempt says of its host. */
export interface HostOutcomes {
  readonly record: (host: Host, sample: Sample) => void
  readonly succeeded: (host: Host, answer: FinishedAnswer) => void
  /** Records a failed attempt, if the failure counts against the host: `domain/failures/Verdict.ts`. */
  readonly failed: (host: Host, failure: HostFailed) => void
}

export class HostStats extends Context.Tag("headgate/HostStats")<
  HostStats,
  HostMeasurements &
    HostOutcomes & {
      readonly report: (host: Host) => HostReport
      /**
       * What changed at `since` (Unix milliseconds) or later, to be kept in place of what was kept for the same slots before.
       * Also forgets the hosts that were not used for a day.
       */
      readonly changedSlots: (since: number) => Iterable<KeptSlot>
      /** Adds a slot that was kept. `false`: it is outside of the window, or cannot be read. */
      readonly restore: (slot: KeptSlot) => boolean
    }
>() {
  static readonly layer: Layer.Layer<HostStats> = Layer.effect(
    HostStats,
    Effect.suspend(() => make),
  )
}

const make = Effect.gen(function* () {
  const clock = yield* Effect.clock
  const now = () => clock.unsafeCurrentTimeMillis()
  const register = new Register(now)
  return HostStats.of({
    record: (host, sample) => register.of(host).record(sample),
    succeeded: (host, answer) => register.of(host).record(sampleOf(answer)),
    failed: (host, failure) => {
      if (verdictOn(failure).uptime === "failure") register.of(host).record({ ok: false })
    },
    snapshot: (host) => register.of(host),
    wholeAnswerAt: (host, percentile) => register.of(host).durationAt(percentile),
    report: (host) => reportOf(register.of(host), now()),
    changedSlots: (since) => register.changedSlots(since),
    restore: (slot) => slot.workload === workload && register.restore(slot),
  })
})

const sampleOf = ({ latencyMs, durationMs, completionTokens, areToolCallsSound }: FinishedAnswer): Sample => {
  const isMeasurable = durationMs > 0 && completionTokens > 0
  return {
    ok: true,
    latencyMs,
    durationMs: latencyMs === undefined ? durationMs : undefined,
    tokensPerSecond: isMeasurable ? (completionTokens * 1000) / durationMs : undefined,
    areToolCallsSound,
  }
}

/** The statistics of all hosts. */
class Register {
  private readonly byEndpoint = new Map<string, EndpointStats>()
  // Looked up by the host object, which saves building a key for each request.
  private readonly byHost = new WeakMap<Host, EndpointStats>()
  private readonly now: () => number

  constructor(now: () => number) {
    this.now = now
  }

  of(host: Host): EndpointStats {
    const known = this.byHost.get(host)
    if (known !== undefined) return known
    const stats = this.ofEndpoint(endpointKey(host))
    this.byHost.set(host, stats)
    return stats
  }

  *changedSlots(since: number): Iterable<KeptSlot> {
    for (const [endpoint, stats] of this.byEndpoint) {
      for (const slot of stats.changedSlots(since)) yield { ...slot, endpoint, workload }
    }
  }

  restore(slot: KeptSlot): boolean {
    return this.ofEndpoint(slot.endpoint).restore(slot)
  }

  private ofEndpoint(endpoint: string): EndpointStats {
    const stats = this.byEndpoint.get(endpoint) ?? new EndpointStats(this.now)
    this.byEndpoint.set(endpoint, stats)
    return stats
  }
}

/** One host. Figures are computed when they are read, since a strategy reads only one or two. */
class EndpointStats implements HostSnapshot {
  /** `undefined` until the first record, and again when there was none for a day. */
  figures: HostFigures | undefined
  private readonly now: () => number

  constructor(now: () => number) {
    this.now = now
  }

  record(sample: Sample): void {
    const at = this.now()
    this.figures ??= new HostFigures(at)
    this.figures.record(at, sample)
  }

  durationAt(percentile: number): number | null {
    return this.figures?.durationAt(this.now(), percentile) ?? null
  }

  get failing(): boolean {
    return this.figures?.mayBeFailing === true && this.figures.failing(this.now())
  }
  get uptime(): number | null {
    return this.figures?.uptime(this.now(), 30) ?? null
  }
  get standing(): HostSnapshot["standing"] {
    return this.figures?.mayBeBelowNormal === true ? this.figures.standing(this.now()) : "normal"
  }
  get latencyMs(): number | null {
    return this.figures?.medianLatency(this.now()) ?? null
  }
  get throughput(): number | null {
    return this.figures?.medianThroughput(this.now()) ?? null
  }
  get toolSuccess(): number | null {
    return this.figures?.toolSuccess(this.now()) ?? null
  }
  // Fields, so that a plugin may take them off the object.
  readonly latencyAt = (percentile: Percentile): number | null =>
    this.figures?.latencyAt(this.now(), percentile) ?? null
  readonly throughputAt = (percentile: Percentile): number | null =>
    this.figures?.throughputAt(this.now(), 100 - percentile) ?? null

  changedSlots(since: number): ReadonlyArray<Slot> {
    const at = this.now()
    if (this.figures !== undefined && this.figures.changedAt < at - dayMs) this.figures = undefined
    return this.figures?.changedSlots(at, since) ?? []
  }

  restore(slot: Slot): boolean {
    const at = this.now()
    this.figures ??= new HostFigures(at)
    return this.figures.restore(at, slot)
  }
}

const reportOf = ({ figures, standing }: EndpointStats, at: number): HostReport => {
  const requests = figures?.requests(at) ?? 0
  const latency = figures?.latencies(at) ?? null
  const throughput = figures?.throughputs(at) ?? null
  const isUnused = requests === 0 && latency === null && throughput === null
  return {
    uptime5m: figures?.uptime(at, 5) ?? null,
    uptime30m: figures?.uptime(at, 30) ?? null,
    uptime1d: figures?.uptimeOfDay(at) ?? null,
    standing,
    performance30m: new Map(isUnused ? [] : [[workload, { latency, throughput, requests }]]),
  }
}
