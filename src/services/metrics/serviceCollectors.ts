/** Collectors that read services of the gateway when somebody asks for figures. They count nothing themselves. */
import type { OriginFigures } from "../../upstream/Exchange.ts"
import type { HealthFigures } from "../hosts/endpointHealth.ts"
import type { MeterFigures } from "../money/Meter.ts"
import type { InFlightFigures } from "../request/InFlight.ts"
import type { SpanCounts } from "../traces/Exporter.ts"
import type { Collector, Family, Scrape } from "./Family.ts"
import { serviceFamilies as families } from "./families.ts"
import { other, type Pairs } from "./Pairs.ts"

export const ofInFlight = (figures: () => InFlightFigures): Collector => ({
  collect: (scrape) => {
    const { running, placed, places, bodyBytes } = figures()
    scrape.set(families.inFlight, [], running)
    scrape.set(families.places, [], placed)
    scrape.set(families.mostPlaces, [], places)
    scrape.set(families.bodyBytes, [], bodyBytes)
  },
})

export const ofMeter = (figures: () => MeterFigures, writable: () => boolean): Collector => ({
  collect: (scrape) => {
    const { reserved, backlog, oldestMs } = figures()
    scrape.set(families.reserved, [], reserved)
    scrape.set(families.backlog, [], backlog)
    scrape.set(families.lag, [], oldestMs / 1000)
    scrape.set(families.writable, [], writable() ? 1 : 0)
  },
})

export const ofSpool = (spooled: () => number): Collector => ({
  collect: (scrape) => scrape.set(families.spooled, [], spooled()),
})

export const ofTraces = (counts: () => SpanCounts): Collector => ({
  collect: (scrape) => {
    const { exported, dropped } = counts()
    scrape.set(families.spansExported, [], exported)
    scrape.set(families.spansDropped, [], dropped)
  },
})

export const ofLog = (lost: () => number): Collector => ({
  collect: (scrape) => scrape.set(families.linesLost, [], lost()),
})

/** Of endpoints that have series of their own: a sum of states would say nothing. */
export const ofHosts = (pairs: Pairs, figures: () => HealthFigures): Collector => ({
  collect: (scrape) => {
    const { endpoints, calls } = figures()
    for (const { model, host, isUp, isBreakerOpen } of endpoints) {
      if (!pairs.has(model, host)) continue
      scrape.set(families.hostUp, [model, host], isUp ? 1 : 0)
      scrape.set(families.breakerOpen, [model, host], isBreakerOpen ? 1 : 0)
    }
    for (const [provider, running] of calls) scrape.set(families.permits, [provider], running)
  },
})

/** Hosts and ports that have series of their own. */
const mostOrigins = 200

const ofOrigin = {
  open: families.connections,
  idle: families.idle,
  dials: families.dials,
  dialFailures: families.dialFailures,
  handshakes: families.handshakes,
  reuses: families.reuses,
  resends: families.resends,
} as const satisfies Readonly<Record<Exclude<keyof OriginFigures, "origin">, Family>>

const columns = ["open", "idle", "dials", "dialFailures", "handshakes", "reuses", "resends"] as const

/** The first origins have series of their own; all others are counted together. */
export const ofUpstream = (figures: () => ReadonlyArray<OriginFigures>): Collector => ({
  collect: (scrape) => {
    const sums = new Map<string, Array<number>>()
    for (const one of figures()) {
      const name = sums.has(one.origin) || sums.size < mostOrigins ? one.origin : other
      const sum = sums.get(name) ?? columns.map(() => 0)
      sums.set(
        name,
        columns.map((column, at) => (sum[at] ?? 0) + one[column]),
      )
    }
    for (const [origin, sum] of sums) setAll(scrape, origin, sum)
  },
})

const setAll = (scrape: Scrape, origin: string, sums: ReadonlyArray<number>): void => {
  for (const [at, column] of columns.entries()) scrape.set(ofOrigin[column], [origin], sums[at] ?? 0)
}
