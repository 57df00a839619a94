/**
 * What was seen of one host over a day: outcomes in slots of ten minutes, outcomes with times and speeds in slots of a
 * minute for half an hour, and outcomes in seconds for half a minute. It takes 3 KB with one request, 10 to 35 KB with
 * requests in each of the last 30 minutes, 125 KB at the very most.
 */

import { isJsonObject } from "../json/json.ts"
import { type EncodedHistogram, Histogram, isCount } from "../structures/Histogram.ts"
import { SlidingSums } from "../structures/SlidingSums.ts"

/** What one attempt showed. */
export interface Sample {
  /** Whether the host did its part; `undefined`: that cannot be said. */
  readonly ok?: boolean | undefined
  /** Milliseconds to the first token. */
  readonly latencyMs?: number | undefined
  /** Milliseconds to the end of an answer that came as a whole. */
  readonly durationMs?: number | undefined
  /** Output tokens per second over the whole call. */
  readonly tokensPerSecond?: number | undefined
  /** Of an answer to a request with tools: whether all its tool calls were well-formed. */
  readonly areToolCallsSound?: boolean | undefined
}

/** The figures of one slot, as they are kept over a restart. */
export interface Slot {
  /** Length of the slot in minutes: 1 or 10. */
  readonly minutes: number
  /** Its start, Unix milliseconds. */
  readonly start: number
  /** JSON. Its numbers, and the counts of its histograms, can be added to those of another process. */
  readonly figures: string
}

/** One slot of one host's figures, as it is kept. */
export interface KeptSlot extends Slot {
  /** `endpointKey` of the host. */
  readonly endpoint: string
  readonly workload: string
}

export interface Percentiles {
  readonly p50: number
  readonly p75: number
  readonly p90: number
  readonly p99: number
}

const minute = 60_000
const minutesKept = 30
/** Window of `latencyAt` and `throughputAt`. */
const recentMinutes = 5
const tenMinutesKept = 144

/** For how many milliseconds the slots of each length, in minutes, are of use. */
export const keptMs: ReadonlyArray<readonly [minutes: number, window: number]> = [
  [1, minutesKept * minute],
  [10, tenMinutesKept * 10 * minute],
]

/** A host with fewer requests in a day is not judged by its uptime. */
const requestsToJudge = 100
const ok = 0
const failed = 1
const soundTools = 2
const malformedTools = 3

export class HostFigures {
  /** When something was last recorded, Unix milliseconds. */
  changedAt: number
  private readonly seconds: SlidingSums
  private readonly minutes: SlidingSums
  private readonly day: SlidingSums
  private readonly latency = new SlidingHistogram()
  private readonly duration = new SlidingHistogram()
  private readonly throughput = new SlidingHistogram()
  private failedInRow = 0

  constructor(at: number) {
    this.changedAt = at
    this.seconds = new SlidingSums(30, 1000, 2, at)
    this.minutes = new SlidingSums(minutesKept, minute, 2, at, (place) => {
      this.latency.leave(place)
      this.duration.leave(place)
      this.throughput.leave(place)
    })
    this.day = new SlidingSums(tenMinutesKept, 10 * minute, 4, at)
  }

  record(at: number, sample: Sample): void {
    const { seconds, minutes, day } = this
    this.changedAt = at
    seconds.moveTo(at)
    minutes.moveTo(at)
    day.moveTo(at)
    if (sample.ok !== undefined) {
      const outcome = sample.ok ? ok : failed
      this.failedInRow = sample.ok ? 0 : this.failedInRow + 1
      seconds.add(outcome)
      minutes.add(outcome)
      day.add(outcome)
    }
    if (sample.areToolCallsSound !== undefined) day.add(sample.areToolCallsSound ? soundTools : malformedTools)
    const place = minutes.placeOf(0)
    if (sample.latencyMs !== undefined) this.latency.add(place, sample.latencyMs)
    if (sample.durationMs !== undefined) this.duration.add(place, sample.durationMs)
    if (sample.tokensPerSecond !== undefined) this.throughput.add(place, sample.tokensPerSecond)
  }

  /** Whether there may be a failure in the last 30 seconds. Needs no time, so that the usual answer, no, costs nothing. */
  get mayBeFailing(): boolean {
    return this.seconds.total(failed) > 0
  }

  /** More than half of the requests of the last 30 seconds failed, or the last two did. */
  failing(at: number): boolean {
    this.seconds.moveTo(at)
    const failures = this.seconds.total(failed)
    return failures > this.seconds.total(ok) || (failures >= 2 && this.failedInRow >= 2)
  }

  /** Number of requests of the last 30 minutes that succeeded or failed. */
  requests(at: number): number {
    this.minutes.moveTo(at)
    return this.minutes.total(ok) + this.minutes.total(failed)
  }

  /** Percent of the requests of the last minutes, 30 at most, that succeeded. */
  uptime(at: number, minutes: number): number | null {
    this.minutes.moveTo(at)
    if (minutes === minutesKept) return percent(this.minutes.total(ok), this.minutes.total(failed))
    return percent(this.minutes.lately(ok, minutes), this.minutes.lately(failed, minutes))
  }

  uptimeOfDay(at: number): number | null {
    this.day.moveTo(at)
    return percent(this.day.total(ok), this.day.total(failed))
  }

  /** The same for `standing`: totals only fall by moving. */
  get mayBeBelowNormal(): boolean {
    const failures = this.day.total(failed)
    return failures > 0 && failures + this.day.total(ok) >= requestsToJudge
  }

  /** By the uptime of the last day; `normal` with fewer than 100 requests. */
  standing(at: number): "normal" | "degraded" | "down" {
    const { day } = this
    day.moveTo(at)
    const all = day.total(ok) + day.total(failed)
    const uptime = (day.total(ok) / all) * 100
    if (all < requestsToJudge || uptime >= 95) return "normal"
    return uptime >= 80 ? "degraded" : "down"
  }

  /** Share of answers to requests with tools whose tool calls were all well-formed, over the last day. */
  toolSuccess(at: number): number | null {
    this.day.moveTo(at)
    const share = percent(this.day.total(soundTools), this.day.total(malformedTools))
    return share === null ? null : share / 100
  }

  /** Medians of 30 minutes. */
  medianLatency(at: number): number | null {
    this.minutes.moveTo(at)
    return this.latency.median
  }

  medianThroughput(at: number): number | null {
    this.minutes.moveTo(at)
    return this.throughput.median
  }

  /** Milliseconds to the first token: percentile of the last 5 minutes. */
  latencyAt(at: number, percentile: number): number | null {
    this.minutes.moveTo(at)
    return this.latency.recentAt(this.minutes, percentile)
  }

  /** Milliseconds to the end of answers that came as a whole: percentile of the last 30 minutes, since they are rarer. */
  durationAt(at: number, percentile: number): number | null {
    this.minutes.moveTo(at)
    return this.duration.total.percentile(percentile)
  }

  /** Tokens per second: ordinary percentile of the last 5 minutes, which rises with `percentile`. */
  throughputAt(at: number, percentile: number): number | null {
    this.minutes.moveTo(at)
    return this.throughput.recentAt(this.minutes, percentile)
  }

  latencies(at: number): Percentiles | null {
    this.minutes.moveTo(at)
    return percentilesOf(this.latency.total)
  }

  throughputs(at: number): Percentiles | null {
    this.minutes.moveTo(at)
    return percentilesOf(this.throughput.total)
  }

  /** The slots that changed at `since` (Unix milliseconds) or later. */
  changedSlots(at: number, since: number): ReadonlyArray<Slot> {
    if (this.changedAt < since) return []
    this.minutes.moveTo(at)
    this.day.moveTo(at)
    return [
      ...slotsSince(this.minutes, since, (place) => this.encodeMinute(place)),
      ...slotsSince(this.day, since, (place) => this.encodeTenMinutes(place)),
    ]
  }

  /** Adds a slot that was kept. `false`: it is not from within the window, or cannot be read. */
  restore(at: number, slot: Slot): boolean {
    const ring = slot.minutes === 1 ? this.minutes : slot.minutes === 10 ? this.day : undefined
    if (ring === undefined) return false
    ring.moveTo(at)
    const age = ring.present - slot.start / ring.slotMs
    const figures = parse(slot.figures)
    if (!Number.isInteger(age) || age < 0 || age >= ring.slots || figures === undefined) return false
    const place = ring.placeOf(age)
    return ring === this.minutes ? this.restoreMinute(place, figures) : this.restoreTenMinutes(place, figures)
  }

  private encodeMinute(place: number): Counted {
    return {
      ok: this.minutes.at(place, ok),
      failed: this.minutes.at(place, failed),
      latency: this.latency.encode(place),
      duration: this.duration.encode(place),
      throughput: this.throughput.encode(place),
    }
  }

  private encodeTenMinutes(place: number): Counted {
    return {
      ok: this.day.at(place, ok),
      failed: this.day.at(place, failed),
      soundTools: this.day.at(place, soundTools),
      malformedTools: this.day.at(place, malformedTools),
    }
  }

  private restoreMinute(place: number, figures: Readonly<Record<string, unknown>>): boolean {
    const { ok: good, failed: bad } = figures
    const latency = Histogram.decode(figures["latency"])
    // Absent where an earlier version wrote it.
    const duration = Histogram.decode(figures["duration"] ?? [])
    const throughput = Histogram.decode(figures["throughput"])
    if (!isCount(good) || !isCount(bad)) return false
    if (latency === undefined || duration === undefined || throughput === undefined) return false
    this.minutes.add(ok, good, place)
    this.minutes.add(failed, bad, place)
    this.latency.restore(place, latency)
    this.duration.restore(place, duration)
    this.throughput.restore(place, throughput)
    return true
  }

  private restoreTenMinutes(place: number, figures: Readonly<Record<string, unknown>>): boolean {
    const { ok: good, failed: bad, soundTools: sound, malformedTools: malformed } = figures
    if (!isCount(good) || !isCount(bad) || !isCount(sound) || !isCount(malformed)) return false
    this.day.add(ok, good, place)
    this.day.add(failed, bad, place)
    this.day.add(soundTools, sound, place)
    this.day.add(malformedTools, malformed, place)
    return true
  }
}

/** A histogram for each slot of a window, and their sum. */
class SlidingHistogram {
  readonly total = new Histogram()
  /** The sum of the last slots; `undefined`: to be computed. */
  private recentTotal: Histogram | undefined
  /** Percentiles of `recentTotal` that were asked for since it changed: plans ask for the same ones of every host. */
  private readonly knownRecent = new Map<number, number | null>()
  private readonly slots: Array<Histogram | undefined> = []
  /** `undefined`: to be computed. */
  private knownMedian: number | null | undefined = null

  add(place: number, value: number): void {
    const slot = this.slots[place] ?? new Histogram()
    this.slots[place] = slot
    slot.add(value)
    this.total.add(value)
    this.recentTotal?.add(value)
    this.forget()
  }

  /** Called for each slot whose time is over. */
  leave(place: number): void {
    this.recentTotal = undefined
    this.knownRecent.clear()
    const slot = this.slots[place]
    if (slot === undefined) return
    this.total.subtractAll(slot)
    this.slots[place] = undefined
    this.knownMedian = undefined
  }

  private forget(): void {
    this.knownMedian = undefined
    if (this.knownRecent.size > 0) this.knownRecent.clear()
  }

  get median(): number | null {
    if (this.knownMedian === undefined) this.knownMedian = this.total.percentile(50)
    return this.knownMedian
  }

  /** A percentile of the last slots. */
  recentAt(window: SlidingSums, percentile: number): number | null {
    const known = this.knownRecent.get(percentile)
    if (known !== undefined) return known
    const found = this.recent(window).percentile(percentile)
    this.knownRecent.set(percentile, found)
    return found
  }

  private recent(window: SlidingSums): Histogram {
    if (this.recentTotal !== undefined) return this.recentTotal
    const sum = new Histogram()
    for (let age = 0; age < recentMinutes; age++) {
      const slot = this.slots[window.placeOf(age)]
      if (slot !== undefined) sum.addAll(slot)
    }
    this.recentTotal = sum
    return sum
  }

  encode(place: number): EncodedHistogram {
    return this.slots[place]?.encode() ?? []
  }

  restore(place: number, histogram: Histogram): void {
    if (histogram.size === 0) return
    const slot = this.slots[place] ?? new Histogram()
    this.slots[place] = slot
    slot.addAll(histogram)
    this.total.addAll(histogram)
    this.recentTotal = undefined
    this.forget()
  }
}

const percent = (good: number, bad: number): number | null => (good + bad === 0 ? null : (good / (good + bad)) * 100)

const percentilesOf = (histogram: Histogram): Percentiles | null => {
  const [p50, p75, p90, p99] = [50, 75, 90, 99].map((at) => histogram.percentile(at))
  if (p50 == null || p75 == null || p90 == null || p99 == null) return null
  return { p50, p75, p90, p99 }
}

/** Members of `Slot.figures`. */
type Counted = Readonly<Record<string, number | EncodedHistogram>>

const isEmpty = (figures: Counted): boolean =>
  Object.values(figures).every((figure) => figure === 0 || (typeof figure !== "number" && figure.length === 0))

/** The slots of a window that may have changed since then. Those without any count are left out. */
const slotsSince = (window: SlidingSums, since: number, encode: (place: number) => Counted): ReadonlyArray<Slot> => {
  const { present, slotMs, slots } = window
  const oldest = Math.min(slots - 1, Math.max(0, present - Math.floor(since / slotMs)))
  const changed: Array<Slot> = []
  for (let age = oldest; age >= 0; age--) {
    const figures = encode(window.placeOf(age))
    if (isEmpty(figures)) continue
    changed.push({ minutes: slotMs / minute, start: (present - age) * slotMs, figures: JSON.stringify(figures) })
  }
  return changed
}

const parse = (text: string): Readonly<Record<string, unknown>> | undefined => {
  try {
    const value: unknown = JSON.parse(text)
    return isJsonObject(value) ? value : undefined
  } catch {
    return undefined
  }
}
