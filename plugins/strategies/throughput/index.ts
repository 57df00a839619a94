import * as Schema from "effect/Schema"
import { defineStrategy, rankBy } from "headgate/plugin"

/** The fastest first, by the median of output tokens per second in the last 30 minutes. Hosts without data come last. */
export default defineStrategy({
  id: "throughput",
  config: Schema.Struct({}),
  load: () => (candidates) => rankBy(candidates, ({ stats }) => -(stats.throughput ?? Number.NEGATIVE_INFINITY)),
  why: ({ stats }) => ({ throughput: stats.throughput }),
})
