/**
 * Keeps host statistics over a restart: reads them at start, and writes what changed once a minute and at the end. A crash
 * loses a minute at most. If the database cannot be read or written, only statistics are missing, and it is tried again.
 */
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Schedule from "effect/Schedule"
import { ProviderRegistry } from "../../catalogue/ProviderRegistry.ts"
import { endpointKey } from "../../domain/hosts/Host.ts"
import { type KeptSlot, keptMs } from "../../domain/hosts/HostFigures.ts"
import { logEvent } from "../../process/log/logEvent.ts"
import { Streak } from "../storage/Outage.ts"
import { Storage } from "../storage/Storage.ts"
import { survivingDefects } from "../storage/survivingDefects.ts"
import { HostStats } from "./HostStats.ts"

/** Rows in one write. Few, since the ledger's thread writes them too, and must not be kept from settling requests. */
const writtenAtOnce = 100
const readAtOnce = 1000

export const layerKeptStats = Layer.scopedDiscard(
  Effect.gen(function* () {
    const stats = yield* HostStats
    const { hostStats } = yield* Storage
    const registry = yield* ProviderRegistry
    const { currentTimeMillis } = yield* Effect.clock

    const removeExpired = Effect.flatMap(currentTimeMillis, (at) =>
      Effect.forEach(keptMs, ([minutes, window]) => hostStats.removeUpTo(minutes, at - window), { discard: true }),
    )

    const read = Effect.gen(function* () {
      yield* removeExpired
      const known = new Set(registry.current().models.flatMap(({ hosts }) => hosts.map(endpointKey)))
      let ignored = 0
      for (let after = 0; ; ) {
        const page = yield* hostStats.list(after, readAtOnce)
        for (const slot of page) {
          if (!known.has(slot.endpoint) || !stats.restore(slot)) ignored += 1
          after = slot.seq
        }
        if (page.length < readAtOnce) break
      }
      if (ignored > 0) yield* logEvent("host_stats_ignored", { ignored })
    })

    let writtenAt = yield* currentTimeMillis
    const write = Effect.gen(function* () {
      const at = yield* currentTimeMillis
      // After a clock that was set back, everything is written again.
      const since = at < writtenAt ? 0 : writtenAt
      let batch: Array<KeptSlot> = []
      for (const slot of stats.changedSlots(since)) {
        batch.push(slot)
        if (batch.length < writtenAtOnce) continue
        yield* hostStats.put(batch)
        batch = []
      }
      yield* hostStats.put(batch)
      writtenAt = at
      yield* removeExpired
    })

    const orLog = (event: "host_stats_not_read" | "host_stats_not_written", work: typeof read) => {
      const failures = new Streak()
      return Effect.matchEffect(work, {
        onSuccess: () => Effect.sync(() => failures.ended()),
        onFailure: ({ message }) => failures.failed(logEvent(event, { because: message })),
      })
    }

    yield* orLog("host_stats_not_read", read)
    const written = orLog("host_stats_not_written", write)
    // Added before the fiber starts, so that it runs after the fiber has ended.
    yield* Effect.addFinalizer(() => written)
    yield* Effect.scheduleForked(survivingDefects("kept statistics of hosts")(written), Schedule.spaced("1 minute"))
  }),
)
