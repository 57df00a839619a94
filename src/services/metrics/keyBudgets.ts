/** What keys with a limit have left: read from the database when figures are asked for, of so many keys as the operator says. */
import * as Effect from "effect/Effect"
import { spentInWindow } from "../../domain/keys/limitWindows.ts"
import type { Meter } from "../money/Meter.ts"
import type { DataAtRest } from "../storage/Storage.ts"
import type { Figures } from "./Family.ts"
import { serviceFamilies } from "./families.ts"

/** Keys that are looked through for some with a limit, the newest first. */
const mostKeys = 1000

/** Of at most `most` keys; of none where the database does not answer. */
export const keyBudgets = (
  { keys }: Pick<DataAtRest, "keys">,
  { spentByEach }: Pick<Meter["Type"], "spentByEach">,
  most: number,
): Effect.Effect<ReadonlyArray<Figures>> => {
  if (most === 0 || spentByEach === undefined) return Effect.succeed([])
  return Effect.gen(function* () {
    const all = yield* keys.list({ offset: 0, limit: mostKeys, includeDisabled: false })
    const limited = all.flatMap((key) => (key.limit === null ? [] : [{ ...key, limit: key.limit }])).slice(0, most)
    const spends = yield* spentByEach(limited.map(({ id }) => id))
    const series = limited.flatMap(({ id, name, limit, limitReset }, at) => {
      const spend = spends[at]
      if (spend === undefined) return []
      const left = limit - spentInWindow(spend, limitReset)
      return [{ labels: [id, name], value: (left > 0n ? left : 0n).toString() }]
    })
    return [{ family: serviceFamilies.keyBudget, series }]
  }).pipe(
    Effect.timeout("2 seconds"),
    Effect.orElseSucceed(() => []),
  )
}
