/**
 * What was lately seen of each host: outcomes, milliseconds to the first token, tokens per second; and how long it is
 * to be left alone. In memory, per process; windows slide on Effect's clock. Spec 2.4, reference 13, G10.
 */
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import { type Cooldowns, cooldownFor, speaksAgainst } from "../domain/Cooldown.ts"
import type { HostFailed } from "../domain/Failure.ts"
import { endpointKey, type Host } from "../domain/Host.ts"
import type { Seen } from "../plugin/Strategy.ts"

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

/** What a listing says of a host. Percent; milliseconds; tokens per second; `null` where nothing was seen. */
export interface HostReport {
  readonly uptime5m: number | null
  readonly uptime30m: number | null
  readonly uptime1d: number | null
  readonly latency30m: Percentiles | null
  readonly throughput30m: Percentiles | null
  readonly requests30m: number
  readonly coolingDown: boolean
}

export class HostStats extends Context.Tag("headgate/HostStats")<
  HostStats,
  {
    readonly record: (host: Host, outcome: Outcome) => void
    /** A whole answer, milliseconds to its first token and to its end. */
    readonly succeeded: (
      host: Host,
      answer: { readonly latencyMs: number; readonly durationMs: number; readonly completionTokens: number },
    ) => void
    /** Holds a failure against the host: its health, and how long it is left alone. */
    readonly failed: (host: Host, failure: HostFailed) => void
    /** Leaves the host alone for so long; a longer wait that is already on stands. */
    readonly coolDown: (host: Host, milliseconds: number) => void
    /** Milliseconds until the host may be called again; 0: now. */
    readonly coolingFor: (host: Host) => number
    readonly seen: (host: Host) => Seen
    readonly report: (host: Host) => HostReport
  }
>() {
  static readonly layer = (cooldowns: Cooldowns) =>
    Layer.effect(
      HostStats,
      Effect.map(Effect.clock, (clock) => {
        const records = new Map<string, HostRecord>()
        const recordOf = (host: Host): HostRecord => {
          const key = endpointKey(host)
          const known = records.get(key)
          if (known !== undefined) return known
          const fresh = new HostRecord()
          records.set(key, fresh)
          return fresh
        }
        const now = () => clock.unsafeCurrentTimeMillis()
        const record = (host: Host, outcome: Outcome) => recordOf(host).add(now(), outcome)
        const coolDown = (host: Host, milliseconds: number) => {
          const known = recordOf(host)
          known.coolUntil = Math.max(known.coolUntil, now() + milliseconds)
        }
        return {
          record,
          coolDown,
          succeeded: (host, { latencyMs, durationMs, completionTokens }) => {
            const speed = durationMs > 0 ? { tokensPerSecond: (completionTokens * 1000) / durationMs } : {}
            record(host, { ok: true, latencyMs, ...speed })
          },
          failed: (host, failure) => {
            if (speaksAgainst(failure)) record(host, { ok: false })
            coolDown(host, cooldownFor(failure, cooldowns))
          },
          coolingFor: (host) => Math.max(0, (records.get(endpointKey(host))?.coolUntil ?? 0) - now()),
          seen: (host) => new SeenNow(records.get(endpointKey(host)), now()),
          report: (host) => {
            const at = now()
            const record = recordOf(host)
            return {
              uptime5m: record.uptime(at, 5),
              uptime30m: record.uptime(at, 30),
              uptime1d: record.uptime(at, minutesKept),
              latency30m: percentiles(record.lately(at, "latencyMs")),
              throughput30m: percentiles(record.lately(at, "tokensPerSecond")),
              requests30m: record.count(at, 30),
              coolingDown: record.coolUntil > at,
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
  coolUntil = 0
  private readonly good = new Uint32Array(minutesKept)
  private readonly bad = new Uint32Array(minutesKept)
  private readonly samples: Array<Sample> = []
  private next = 0
  private newest = 0

  add(at: number, outcome: Outcome): void {
    this.forget(at)
    const slot = Math.floor(at / minute) % minutesKept
    const counts = outcome.ok ? this.good : this.bad
    counts[slot] = (counts[slot] ?? 0) + 1
    this.samples[this.next] = { at, ...outcome }
    this.next = (this.next + 1) % samplesKept
  }

  /** Empties the minutes that passed without a request. */
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

  lately(at: number, figure: "latencyMs" | "tokensPerSecond"): ReadonlyArray<number> {
    const values: Array<number> = []
    for (const sample of this.samples) {
      const value = sample[figure]
      if (value !== undefined && sample.at > at - 30 * minute) values.push(value)
    }
    return values.sort((a, b) => a - b)
  }

  /** Reference 14.4 leaves "significant" open; ours: more than half of the last 30 seconds' requests failed, of at least two. */
  failing(at: number): boolean {
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

/** Works a figure out when a strategy asks for it: most ask for one or two. */
class SeenNow implements Seen {
  private readonly record: HostRecord | undefined
  private readonly at: number
  constructor(record: HostRecord | undefined, at: number) {
    this.record = record
    this.at = at
  }
  get failing(): boolean {
    return this.record?.failing(this.at) ?? false
  }
  get uptime(): number | null {
    return this.record?.uptime(this.at, 30) ?? null
  }
  get latencyMs(): number | null {
    return percentiles(this.record?.lately(this.at, "latencyMs") ?? [])?.p50 ?? null
  }
  get throughput(): number | null {
    return percentiles(this.record?.lately(this.at, "tokensPerSecond") ?? [])?.p50 ?? null
  }
}

/** Nearest-rank percentiles of ascending values. */
const percentiles = (ascending: ReadonlyArray<number>): Percentiles | null => {
  const rank = (percent: number) => ascending[Math.ceil((percent / 100) * ascending.length) - 1] ?? 0
  return ascending.length === 0 ? null : { p50: rank(50), p75: rank(75), p90: rank(90), p99: rank(99) }
}
