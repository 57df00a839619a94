/** Counts tokens and money of each row that is in the ledger, so that the sums are those of the ledger. */
import type { LedgerRow } from "../storage/ledger.ts"
import type { Scrape } from "./Family.ts"
import { ledgerFamilies as families } from "./families.ts"
import type { Pair, Pairs } from "./Pairs.ts"
import { type Counter, counters, type MoneyCounter, moneyCounters, type SeriesMap } from "./Store.ts"

/** Series of the rows of one model at one host, found once. */
interface RowSeries {
  readonly pair: Pair
  readonly counted: TokenSeries
  readonly estimated: TokenSeries
  readonly cost: MoneyCounter
  readonly upstreamCost: MoneyCounter
}

interface TokenSeries {
  readonly input: Counter
  readonly output: Counter
}

export class LedgerFigures {
  private readonly pairs: Pairs
  private readonly rows = new Map<Pair, RowSeries>()
  private readonly input = counters(families.inputTokens)
  private readonly output = counters(families.outputTokens)
  private readonly cacheRead = counters(families.cacheReadTokens)
  private readonly cacheWrite = counters(families.cacheWriteTokens)
  private readonly reasoning = counters(families.reasoningTokens)
  private readonly estimatedInput = counters(families.estimatedInputTokens)
  private readonly estimatedOutput = counters(families.estimatedOutputTokens)
  private readonly cost = moneyCounters(families.cost)
  private readonly upstreamCost = moneyCounters(families.upstreamCost)
  private readonly waivedCost = moneyCounters(families.waivedCost)
  private readonly unchargedCost = moneyCounters(families.unchargedCost)

  constructor(pairs: Pairs) {
    this.pairs = pairs
  }

  /** A row is in the ledger, or durable on its way there. */
  readonly booked = (row: LedgerRow): void => {
    const pair = this.pairs.of(row.model, row.host)
    const series = this.rows.get(pair) ?? this.seriesOf(pair)
    this.count(row, series)
    this.charge(row, series)
  }

  collect(scrape: Scrape): void {
    const { input, output, cacheRead, cacheWrite, reasoning, estimatedInput, estimatedOutput } = this
    const tokens = [input, output, cacheRead, cacheWrite, reasoning, estimatedInput, estimatedOutput]
    for (const map of tokens) map.collect(scrape)
    for (const map of [this.cost, this.upstreamCost, this.waivedCost, this.unchargedCost]) map.collect(scrape)
  }

  private seriesOf(pair: Pair): RowSeries {
    const of = <S extends Counter | MoneyCounter>(map: SeriesMap<S>): S => map.of(pair.model, pair.host)
    const series: RowSeries = {
      pair,
      counted: { input: of(this.input), output: of(this.output) },
      estimated: { input: of(this.estimatedInput), output: of(this.estimatedOutput) },
      cost: of(this.cost),
      upstreamCost: of(this.upstreamCost),
    }
    this.rows.set(pair, series)
    return series
  }

  private count(row: LedgerRow, { pair: { model, host }, counted, estimated }: RowSeries): void {
    const { input, output } = row.estimated ? estimated : counted
    input.value += row.promptTokens
    output.value += row.completionTokens
    if (row.estimated) return
    if (row.cachedTokens > 0) this.cacheRead.of(model, host).value += row.cachedTokens
    if (row.cacheWriteTokens > 0) this.cacheWrite.of(model, host).value += row.cacheWriteTokens
    if (row.reasoningTokens > 0) this.reasoning.of(model, host).value += row.reasoningTokens
  }

  private charge(row: LedgerRow, series: RowSeries): void {
    const { cost, upstreamCost, waived } = row
    const { model, host } = series.pair
    if (cost > 0n) series.cost.value += cost
    if (upstreamCost > 0n) series.upstreamCost.value += upstreamCost
    if (waived !== null && upstreamCost > 0n) this.waivedCost.of(model, host, waived).value += upstreamCost
    const uncharged = row.rareUsage?.unchargedAtMost ?? 0
    if (uncharged > 0) this.unchargedCost.of(model, host).value += BigInt(uncharged)
  }
}
