/** Reads the rows of a span of time, part by part. */
import * as Effect from "effect/Effect"
import { BadRequest } from "../../../domain/failures/Failure.ts"
import { type SpanQuery, type SpanSum, SpanSums } from "../../../domain/money/activity.ts"
import { type SpanPart, spanPartRows } from "../../../services/storage/Storage.ts"

/** Parts of one span that are read. */
const mostParts = 200

/** Sums of one answer, all of which are in memory. */
const mostSums = 50_000

/** Fails where there are too many rows or sums. `part`: reads those below an id. */
export const readSpan = <E>(
  span: SpanQuery,
  part: (span: SpanQuery, below: string) => Effect.Effect<SpanPart, E>,
): Effect.Effect<ReadonlyArray<SpanSum>, E | BadRequest> =>
  Effect.gen(function* () {
    const sums = new SpanSums()
    let next: string | null = ""
    for (let parts = 0; next !== null; parts += 1) {
      if (parts === mostParts || sums.size > mostSums) return yield* tooMuch
      const found: SpanPart = yield* part(span, next)
      for (const sum of found.sums) sums.add(sum)
      next = found.next
    }
    return sums.all
  })

const tooMuch = new BadRequest({
  issues: [
    {
      path: "from",
      message: `is too early: at most ${(mostParts * spanPartRows).toLocaleString("en")} rows of the ledger, and ${mostSums.toLocaleString("en")} sums, are read for one answer`,
    },
  ],
})
