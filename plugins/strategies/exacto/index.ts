import * as Schema from "effect/Schema"
import { defineStrategy, type HostSnapshot, healthClass, rankBy } from "headgate/plugin"

const withoutData = Number.POSITIVE_INFINITY

const speed = ({ throughput }: HostSnapshot): number => (throughput === null ? withoutData : -throughput)

/**
 * The best at calling tools first: by the share of well-formed tool calls of the last day, then by throughput. Hosts without
 * such data follow in the default order without its random draw: the healthy ones first, the cheapest of them first.
 */
export default defineStrategy({
  id: "exacto",
  config: Schema.Struct({}),
  load: () => (candidates) =>
    rankBy(
      candidates,
      ({ stats }) => (stats.toolSuccess === null ? withoutData : -stats.toolSuccess),
      ({ stats }) => (stats.toolSuccess === null ? healthClass(stats) : speed(stats)),
    ),
  why: ({ stats }) => ({ tool_success: stats.toolSuccess, throughput: stats.throughput }),
})
