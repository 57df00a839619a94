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
import { HostFigures, type KeptSlot, type Percentiles, type Sample } from "../../domain/hosts/HostFigures.ts"
import { dayMs } from "../../domain/keys/limitWindows.ts"
import type { Percentile } from "../../domain/request/Thresholds.ts"
import type { HostSnapshot } from "../../plugin/strategy.ts"
import { ProviderFailures } from "./ProviderFailures.ts"

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
  /** What failed last at each provider, whether it counts or not. Absent: not known. */
  readonly providers?: ProviderFailures
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
  const providers = new ProviderFailures(now)
  return HostStats.of({
    record: (host, sample) => register.of(host).record(sample),
    succeeded: (host, answer) => {
      providers.answered(host)
      register.of(host).record(sampleOf(answer))
    },
    providers,
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

/** The figures of all hosts that were used within a day, by the name of their endpoint, under which they outlast a reload. */
class Register {
  readonly now: () => number
  private readonly figures = new Map<string, HostFigures>()
  // Looked up by the host object, which saves building a name for each request.
  private readonly byHost = new WeakMap<Host, EndpointStats>()

  constructor(now: () => number) {
    this.now = now
  }

  of(host: Host): EndpointStats {
    const known = this.byHost.get(host)
    if (known !== undefined) return known
    const stats = new EndpointStats(this, endpointKey(host))
    this.byHost.set(host, stats)
    return stats
  }

  figuresOf(endpoint: string): HostFigures | undefined {
    return this.figures.get(endpoint)
  }

  /** The same, made where there are none. `at`: now. */
  newFiguresOf(endpoint: string, at: number): HostFigures {
    const figures = this.figures.get(endpoint) ?? new HostFigures(at)
    this.figures.set(endpoint, figures)
    return figures
  }

  *changedSlots(since: number): Iterable<KeptSlot> {
    const at = this.now()
    for (const [endpoint, figures] of this.figures) {
      if (figures.changedAt < at - dayMs) this.figures.delete(endpoint)
      else for (const slot of figures.changedSlots(at, since)) yield { ...slot, endpoint, workload }
    }
  }

  restore(slot: KeptSlot): boolean {
    const at = this.now()
    return this.newFiguresOf(slot.endpoint, at).restore(at, slot)
  }
}

/** One host. Figures are computed when they are read, since a strategy reads only one or two. */
class EndpointStats implements HostSnapshot {
  private readonly register: Register
  private readonly endpoint: string

  constructor(register: Register, endpoint: string) {
    this.register = register
    this.endpoint = endpoint
  }

  /** `undefined` where there was no record for a day. */
  get figures(): HostFigures | undefined {
    return this.register.figuresOf(this.endpoint)
  }

  record(sample: Sample): void {
    const at = this.now()
    this.register.newFiguresOf(this.endpoint, at).record(at, sample)
  }

  durationAt(percentile: number): number | null {
    return this.figures?.durationAt(this.now(), percentile) ?? null
  }

  get failing(): boolean {
    const { figures } = this
    return figures?.mayBeFailing === true && figures.failing(this.now())
  }
  get uptime(): number | null {
    return this.figures?.uptime(this.now(), 30) ?? null
  }
  get standing(): HostSnapshot["standing"] {
    const { figures } = this
    return figures?.mayBeBelowNormal === true ? figures.standing(this.now()) : "normal"
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

  private now(): number {
    return this.register.now()
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
