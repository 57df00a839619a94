import * as Schema from "effect/Schema"
import { defineStrategy, rankBy } from "headgate/plugin"

/** The quickest to answer first, by the median of the time to the first token in the last 30 minutes. Hosts without data come last. */
export default defineStrategy({
  id: "latency",
  config: Schema.Struct({}),
  load: () => (candidates) => rankBy(candidates, ({ stats }) => stats.latencyMs ?? Number.POSITIVE_INFINITY),
  why: ({ stats }) => ({ latency_ms: stats.latencyMs }),
})
