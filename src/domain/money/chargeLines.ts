/** A charge of the ledger line by line: the lines add up to what the key paid, exactly. Pure. */

import { type CostLine, type CostUnit, costLineNames, costLines } from "../price/costLines.ts"
import type { Picodollars } from "../price/money.ts"
import { costOf, type Pricing } from "../price/price.ts"
import type { Billed } from "./Charge.ts"

/**
 * - `discount`: what is taken off all lines before it, rounding included. Its quantity is in percent.
 * - `waived`: what the host charges and the key does not pay.
 * - `unexplained`: what the ledger has and no price that is known explains: the row is from before the ledger kept prices.
 */
export const chargeLineNames = [...costLineNames, "discount", "waived", "unexplained"] as const

export interface ChargeLine {
  readonly what: (typeof chargeLineNames)[number]
  readonly quantity: number | null
  readonly unit: CostUnit | "percent" | null
  readonly price: Picodollars | null
  readonly amount: Picodollars
}

/** `pricing`: what it was computed with; `undefined`: it is not known. `cost`: what the key paid. */
export const chargeLines = (
  billed: Billed,
  pricing: Pricing | undefined,
  cost: Picodollars,
): ReadonlyArray<ChargeLine> => {
  const lines: Array<ChargeLine> = pricing === undefined ? [] : linesOf(billed, pricing)
  const rest = cost - sumOf(lines)
  return rest === 0n ? lines : [...lines, without("unexplained", rest)]
}

const linesOf = ({ usage, images, admittedAt, waived }: Billed, pricing: Pricing): Array<ChargeLine> => {
  const lines: ReadonlyArray<CostLine> = costLines(pricing, usage, admittedAt, images)
  const { total } = costOf(pricing, usage, admittedAt, images)
  const percent = Number(pricing.discountPpm) / 10_000
  return [
    ...lines,
    ...(pricing.discountPpm === 0n
      ? []
      : [{ ...without("discount", total - sumOf(lines)), quantity: percent, unit: "percent" as const }]),
    ...(waived === null || total === 0n ? [] : [without("waived", -total)]),
  ]
}

const without = (what: ChargeLine["what"], amount: Picodollars): ChargeLine => ({
  what,
  quantity: null,
  unit: null,
  price: null,
  amount,
})

const sumOf = (lines: ReadonlyArray<Pick<ChargeLine, "amount">>): Picodollars =>
  lines.reduce((sum, { amount }) => sum + amount, 0n)
