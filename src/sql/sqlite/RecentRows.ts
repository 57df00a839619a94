/**
 * Adds up the rows of the ledger by hour while they are appended, so that the sums by hour need not read them again: in SQL, three
 * groupings of every row took a tenth of the processor time of a request. Nothing depends on it. Rows that it does not know, such as
 * those of before a start, are added up in SQL. See docs/decisions/0083-sums-by-hour.md.
 */
import { hourOf } from "../../domain/money/activity.ts"
import { FirstTokenCounts } from "../../domain/money/firstTokens.ts"
import type { LedgerRow } from "../../services/storage/ledger.ts"
import type { HostCounts, HourSum, SummedRows } from "../repositories/hourlySums.ts"
import { ledger } from "../repositories/ledgerRepository.ts"
import type { Stored } from "../tables/table.ts"

/** Rows of one part. To write one takes as long as its groups do, of which there are as many at most. */
const rowsOfPart = 2048

/** Parts that wait to be written. Beyond them the oldest is forgotten. */
const mostParts = 16

const placeOf = (member: keyof LedgerRow): number => ledger.members.indexOf(member)
const at = {
  key: placeOf("key"),
  appUrl: placeOf("appUrl"),
  appTitle: placeOf("appTitle"),
  model: placeOf("model"),
  host: placeOf("host"),
  provider: placeOf("provider"),
  user: placeOf("userHash"),
  admitted: placeOf("admittedAt"),
  outcome: placeOf("outcome"),
  streamed: placeOf("streamed"),
  latency: placeOf("latencyMs"),
  promptTokens: placeOf("promptTokens"),
  completionTokens: placeOf("completionTokens"),
  cachedTokens: placeOf("cachedTokens"),
  reasoningTokens: placeOf("reasoningTokens"),
  cost: placeOf("cost"),
  upstreamCost: placeOf("upstreamCost"),
}

/** What a column of the database holds. */
const mostStored = 2n ** 63n - 1n

/** Never within a stored text, where U+001A is followed by a digit. */
const separator = "\x1a-"

/** Rows that follow one another in the ledger. */
class Part implements SummedRows {
  readonly above: number
  upTo: number
  readonly sums = new Map<string, HourSum>()
  readonly hosts = new Map<string, HostCounts>()

  constructor(above: number) {
    this.above = above
    this.upTo = above
  }

  /** The next row. `false`: a sum is larger than the database can store. */
  add(row: ReadonlyArray<Stored>): boolean {
    this.upTo += 1
    const start = hourOf(Number(row[at.admitted]))
    const host = `${start}${separator}${row[at.model]}${separator}${row[at.host]}${separator}${row[at.provider]}`
    const place = `${host}${separator}${row[at.key]}${separator}${row[at.user]}${separator}${row[at.appUrl]}${separator}${row[at.appTitle]}`
    let sum = this.sums.get(place)
    if (sum === undefined) {
      sum = emptySum(start, row)
      this.sums.set(place, sum)
    }
    sum.cost += BigInt(String(row[at.cost]))
    sum.upstream_cost += BigInt(String(row[at.upstreamCost]))
    if (sum.cost > mostStored || sum.upstream_cost > mostStored) return false
    // The request of a lost call has another row, which counts.
    if (row[at.outcome] === "lost") return true
    sum.requests += 1
    sum.prompt_tokens += Number(row[at.promptTokens])
    sum.completion_tokens += Number(row[at.completionTokens])
    sum.cached_tokens += Number(row[at.cachedTokens])
    sum.reasoning_tokens += Number(row[at.reasoningTokens])
    if (row[at.streamed] === true && row[at.outcome] === "finished") this.addFirstToken(host, sum, row)
    return true
  }

  private addFirstToken(place: string, { start, model, host, provider }: HourSum, row: ReadonlyArray<Stored>): void {
    let hour = this.hosts.get(place)
    if (hour === undefined) {
      hour = { of: { kind: "hour", start, model, host, provider }, counts: new FirstTokenCounts() }
      this.hosts.set(place, hour)
    }
    hour.counts.count(Number(row[at.latency]))
  }
}

const emptySum = (start: number, row: ReadonlyArray<Stored>): HourSum => ({
  start,
  ...{ key_id: String(row[at.key]), user_hash: String(row[at.user]) },
  ...{ app_url: String(row[at.appUrl]), app_title: String(row[at.appTitle]) },
  ...{ model: String(row[at.model]), host: String(row[at.host]), provider: String(row[at.provider]) },
  ...{ requests: 0, prompt_tokens: 0, completion_tokens: 0, cached_tokens: 0, reasoning_tokens: 0 },
  ...{ cost: 0n, upstream_cost: 0n },
})

/** The rows that this process appended last, added up. */
export class RecentRows {
  private parts: ReadonlyArray<Part> = []
  private growing = new Part(0)

  /** A row that is committed, with its number. */
  add(seq: number, row: ReadonlyArray<Stored>): void {
    // Where another program added a row in between, nothing is known of it.
    const isNext = this.growing.upTo + 1 === seq
    if (!isNext) this.beginAbove(seq - 1)
    if (!this.growing.add(row)) this.beginAbove(seq)
    if (this.growing.upTo - this.growing.above < rowsOfPart) return
    this.parts = [...this.parts, this.growing].slice(-mostParts)
    this.growing = new Part(seq)
  }

  /** Rows that begin above this number, if they are enough to be written. Those of before are forgotten. */
  startingAt(above: number): SummedRows | undefined {
    this.parts = this.parts.filter((part) => part.above >= above)
    return this.parts[0]?.above === above ? this.parts[0] : undefined
  }

  /** The number above which rows are known. */
  get above(): number {
    return (this.parts[0] ?? this.growing).above
  }

  private beginAbove(seq: number): void {
    this.parts = []
    this.growing = new Part(seq)
  }
}
