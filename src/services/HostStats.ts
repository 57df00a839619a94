/**
 * Statistics of each host: outcomes, milliseconds to the first token, tokens per second. In memory, per process, with
 * windows that slide on Effect's clock. `HostHealth` decides whether a host may be called.
 */
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import { countsAgainstHealth } from "../domain/Cooldown.ts"
import type { HostFailed } from "../domain/Failure.ts"
import { endpointKey, type Host } from "../domain/Host.ts"
import type { SpeedShare, Speeds } from "../domain/thresholds.ts"
import type { HostSnapshot } from "../plugin/Strategy.ts"

/** How one attempt went. */
export interface Outcome {
  readonly ok: boolean
  /** Milliseconds to the first token; absent when there was none. */
  readonly latencyMs?: number
  /** Output tokens per second over the whole call. */
  readonly tokensPerSecond?: number
}

export interface Percentiles {
  readonly p50: number
  readonly p75: number
  readonly p90: number
  readonly p99: number
}

/** Figures for a listing. Percent; milliseconds; tokens per second; `null` without samples. */
export interface HostReport {
  readonly uptime5m: number | null
  readonly uptime30m: number | null
  readonly uptime1d: number | null
  readonly latency30m: Percentiles | null
  readonly throughput30m: Percentiles | null
  readonly requests30m: number
}

export class HostStats extends Context.Tag("headgate/HostStats")<
  HostStats,
  {
    readonly record: (host: Host, outcome: Outcome) => void
    /** A finished answer: milliseconds from its attempt's start to the first token and to the end. */
    readonly succeeded: (
      host: Host,
      answer: { readonly latencyMs: number; readonly durationMs: number; readonly completionTokens: number },
    ) => void
    /** Records a failed attempt, if the failure counts against the host's health. */
    readonly failed: (host: Host, failure: HostFailed) => void
    /** Figures for a strategy, computed when they are read. */
    readonly snapshot: (host: Host) => HostSnapshot & Speeds
    readonly report: (host: Host) => HostReport
  }
>() {
  static readonly layer = Layer.effect(
    HostStats,
    Effect.map(Effect.clock, (clock) => {
      const records = new Map<string, HostRecord>()
      // Looked up by the host object, which saves building a key for each request.
      const byHost = new WeakMap<Host, HostRecord>()
      const recordOf = (host: Host): HostRecord => {
        const known = byHost.get(host)
        if (known !== undefined) return known
        const key = endpointKey(host)
        const found = records.get(key) ?? new HostRecord()
        records.set(key, found)
        byHost.set(host, found)
        return found
      }
      const now = () => clock.unsafeCurrentTimeMillis()
      const record = (host: Host, outcome: Outcome) => recordOf(host).add(now(), outcome)
      return {
        record,
        succeeded: (host, { latencyMs, durationMs, completionTokens }) => {
          const speed = durationMs > 0 ? { tokensPerSecond: (completionTokens * 1000) / durationMs } : {}
          record(host, { ok: true, latencyMs, ...speed })
        },
        failed: (host, failure) => {
          if (countsAgainstHealth(failure)) record(host, { ok: false })
        },
        snapshot: (host) => new Snapshot(recordOf(host), now()),
        report: (host) => {
          const at = now()
          const record = recordOf(host)
          return {
            uptime5m: record.uptime(at, 5),
            uptime30m: record.uptime(at, 30),
            uptime1d: record.uptime(at, minutesKept),
            latency30m: percentiles(record.recent(at, "latencyMs")),
            throughput30m: percentiles(record.recent(at, "tokensPerSecond")),
            requests30m: record.count(at, 30),
          }
        },
      }
    }),
  )
}

const minute = 60_000
const minutesKept = 1440
const samplesKept = 512

interface Sample extends Outcome {
  readonly at: number
}

/** The last day of one endpoint: counts per minute, and the newest samples in full. */
class HostRecord {
  /** Unix milliseconds of the newest failure. */
  private lastFailure = Number.NEGATIVE_INFINITY
  private readonly good = new Uint32Array(minutesKept)
  private readonly bad = new Uint32Array(minutesKept)
  private readonly samples: Array<Sample> = []
  private next = 0
  private newest = 0

  add(at: number, outcome: Outcome): void {
    this.forget(at)
    const slot = Math.floor(at / minute) % minutesKept
    if (!outcome.ok) this.lastFailure = at
    const counts = outcome.ok ? this.good : this.bad
    counts[slot] = (counts[slot] ?? 0) + 1
    this.samples[this.next] = { at, ...outcome }
    this.next = (this.next + 1) % samplesKept
  }

  /** Clears the minutes that passed without a request. */
  private forget(at: number): void {
    const now = Math.floor(at / minute)
    const from = Math.max(this.newest + 1, now - minutesKept + 1)
    for (let passed = from; passed <= now; passed++) {
      this.good[passed % minutesKept] = 0
      this.bad[passed % minutesKept] = 0
    }
    this.newest = Math.max(this.newest, now)
  }

  private sum(counts: Uint32Array, at: number, minutes: number): number {
    this.forget(at)
    const now = Math.floor(at / minute)
    let total = 0
    for (let past = 0; past < minutes; past++) total += counts[(now - past + minutesKept) % minutesKept] ?? 0
    return total
  }

  count(at: number, minutes: number): number {
    return this.sum(this.good, at, minutes) + this.sum(this.bad, at, minutes)
  }

  uptime(at: number, minutes: number): number | null {
    const good = this.sum(this.good, at, minutes)
    const all = good + this.sum(this.bad, at, minutes)
    return all === 0 ? null : (good / all) * 100
  }

  /** Samples of the last minutes, in ascending order. */
  recent(at: number, figure: "latencyMs" | "tokensPerSecond", minutes = 30): ReadonlyArray<number> {
    const values: Array<number> = []
    for (const sample of this.samples) {
      const value = sample[figure]
      if (value !== undefined && sample.at > at - minutes * minute) values.push(value)
    }
    return values.sort((a, b) => a - b)
  }

  /** More than half of the requests of the last 30 seconds failed, of at least two. */
  failing(at: number): boolean {
    if (this.lastFailure <= at - 30_000) return false
    let failed = 0
    let all = 0
    for (let back = 1; back <= this.samples.length; back++) {
      const sample = this.samples[(this.next - back + samplesKept) % samplesKept]
      if (sample === undefined || sample.at <= at - 30_000) break
      all += 1
      if (!sample.ok) failed += 1
    }
    return all >= 2 && failed * 2 > all
  }
}

/** Computes a figure when a strategy reads it, since most read only one or two. */
class Snapshot implements HostSnapshot, Speeds {
  private readonly record: HostRecord
  private readonly at: number
  constructor(record: HostRecord, at: number) {
    this.record = record
    this.at = at
  }
  get failing(): boolean {
    return this.record.failing(this.at)
  }
  get uptime(): number | null {
    return this.record.uptime(this.at, 30)
  }
  get latencyMs(): number | null {
    return percentiles(this.record.recent(this.at, "latencyMs"))?.p50 ?? null
  }
  get throughput(): number | null {
    return percentiles(this.record.recent(this.at, "tokensPerSecond"))?.p50 ?? null
  }
  latencyAt(percent: SpeedShare): number | null {
    return rankOf(this.record.recent(this.at, "latencyMs", 5), percent) ?? null
  }
  throughputAt(percent: SpeedShare): number | null {
    return rankOf(this.record.recent(this.at, "tokensPerSecond", 5), 100 - percent) ?? null
  }
}

/** The value of nearest rank in ascending ones. */
const rankOf = (ascending: ReadonlyArray<number>, percent: number): number | undefined =>
  ascending[Math.max(Math.ceil((percent / 100) * ascending.length), 1) - 1]

const percentiles = (ascending: ReadonlyArray<number>): Percentiles | null => {
  const rank = (percent: number) => rankOf(ascending, percent) ?? 0
  return ascending.length === 0 ? null : { p50: rank(50), p75: rank(75), p90: rank(90), p99: rank(99) }
}
