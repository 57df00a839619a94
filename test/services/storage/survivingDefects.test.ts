/** Loops in the background go on after a defect of the storage. */
import { describe, expect, test } from "bun:test"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import type * as Scope from "effect/Scope"
import { ProviderRegistry } from "../../../src/catalogue/ProviderRegistry.ts"
import { HostStats } from "../../../src/services/hosts/HostStats.ts"
import { layerKeptStats } from "../../../src/services/hosts/keptStats.ts"
import { ProviderKeys } from "../../../src/services/hosts/ProviderKeys.ts"
import { makeSharedWindows } from "../../../src/services/keys/SharedWindows.ts"
import { makeJournal } from "../../../src/services/money/Journal.ts"
import { makeLedgerWriter } from "../../../src/services/money/LedgerWriter.ts"
import { Meter } from "../../../src/services/money/Meter.ts"
import { makeProcessLease } from "../../../src/services/money/ProcessLease.ts"
import { makeSlices } from "../../../src/services/money/Slices.ts"
import { Idempotency } from "../../../src/services/request/Idempotency.ts"
import { Outage } from "../../../src/services/storage/Outage.ts"
import { type DataAtRest, Storage } from "../../../src/services/storage/Storage.ts"
import { survivingDefects } from "../../../src/services/storage/survivingDefects.ts"
import { alice, sampleKey } from "../../sql/samples.ts"
import { closeServices, hostsConfig, servicesOf, turns } from "../../support/clocks/services.ts"
import { lastingStorage } from "../../support/storage/lastingStorage.ts"
import { unaskedLive, unusedRates } from "../../support/storage/rates.ts"

closeServices()

const bug = new Error("a bug of the storage")

describe("a round with a defect", () => {
  test("ends without a result, and only the first one in a row is logged", async () => {
    const { run, logged } = await servicesOf(Layer.empty)
    const surviving = survivingDefects("a loop")
    const rounds = [Effect.die(bug), Effect.die(bug), Effect.succeed(1), Effect.die(bug)]
    const results = await run(Effect.forEach(rounds, surviving))
    expect(results).toEqual([undefined, undefined, 1, undefined])
    expect(logged.filter((line) => line.startsWith("ERROR a defect in a loop"))).toHaveLength(2)
  })

  test("is not one that fails: a failure is passed on", async () => {
    const { run, logged } = await servicesOf(Layer.empty)
    expect(await run(Effect.flip(survivingDefects("a loop")(Effect.fail("locked"))))).toBe("locked")
    expect(logged).toEqual([])
  })
})

/** Counts a statement of the storage, which may be broken. */
type Watch = <A, E>(statement: Effect.Effect<A, E>) => Effect.Effect<A, E>

type Loop = (watch: Watch, storage: DataAtRest) => Effect.Effect<unknown, unknown, Scope.Scope | ProviderRegistry>

/** A layer of a service, over this storage. */
const over = <A>(layer: Layer.Layer<A, never, Storage | ProviderRegistry>, storage: DataAtRest) =>
  Layer.build(Layer.provide(layer, Layer.succeed(Storage, storage)))

const nothing = () => Effect.void

const leases = { take: nothing, renew: () => Effect.succeed(true), end: nothing, clear: Effect.void }

/** With the seconds after which a round reaches the statement at the latest. */
const loops: Readonly<Record<string, readonly [seconds: number, Loop]>> = {
  "the writer of the ledger": [
    30,
    (watch, { ledger }) =>
      makeLedgerWriter({ ledger: { ...ledger, takesRequests: () => watch(ledger.takesRequests()) } }),
  ],
  "the watch for outages": [
    1,
    (watch, { keys, ...storage }) => {
      const outage = new Outage({})
      const watched = { ...storage, outage, keys: { ...keys, countManagement: () => watch(keys.countManagement()) } }
      return Effect.zipRight(outage.begin({ kind: "away", cause: "locked" }), over(Meter.layer, watched))
    },
  ],
  "the lease of this process": [
    15,
    (watch) => makeProcessLease({ ...leases, renew: () => watch(Effect.succeed(true)) }, nothing),
  ],
  "slices of budgets": [
    10,
    (watch) =>
      Effect.gen(function* () {
        const grant = { granted: 100n, spent: 0n, others: 0n }
        const repository = {
          ...{ take: () => Effect.succeed(grant), want: nothing },
          ...{ giveBack: () => watch(Effect.void), kept: () => watch(Effect.succeed(100n)) },
        }
        const shared = { leases, slices: repository, rates: unusedRates, live: unaskedLive, on: nothing }
        const slices = yield* makeSlices(shared, { id: () => "a" })
        const size = { amount: 10n, outputBound: undefined, outputTokens: 1 }
        const ask = { sizeOf: () => size, required: () => 10n }
        const slice = yield* slices.take(sampleKey(alice, { limit: 1000n }), 1000n, 0, ask, (_, taken) => taken)
        slice.settled(10n, 0n)
      }),
  ],
  "the removal of old shares of rate limits": [
    3600,
    (watch) => makeSharedWindows({ rates: { ...unusedRates, prune: watch(Effect.void) }, on: nothing }),
  ],
  "kept statistics of hosts": [
    60,
    (watch, { hostStats, ...storage }) => {
      const watched = { ...storage, hostStats: { ...hostStats, put: () => watch(Effect.void) } }
      return over(Layer.provideMerge(layerKeptStats, HostStats.layer), watched)
    },
  ],
  "keys of providers": [
    5,
    (watch, { ledger, ...storage }) => {
      const providerSpend: typeof ledger.providerSpend = (...asked) => watch(ledger.providerSpend(...asked))
      return over(ProviderKeys.layer, { ...storage, ledger: { ...ledger, providerSpend } })
    },
  ],
  "the journal": [
    15,
    (watch, { ledger, journal }) => {
      const orphans: typeof journal.orphans = (...asked) => watch(journal.orphans(...asked))
      const crashed = () => {
        throw bug
      }
      return makeJournal(
        { ledger, journal: { ...journal, orphans } },
        { open: () => [], crashed, onBooked: () => {}, lease: undefined },
      )
    },
  ],
  "Idempotency-Keys": [
    15,
    (watch, { idempotency, ...storage }) => {
      const prune: typeof idempotency.prune = (...asked) => watch(idempotency.prune(...asked))
      return over(Idempotency.layer, { ...storage, idempotency: { ...idempotency, prune } })
    },
  ],
}

describe("after a defect of the storage the next round runs, and it is logged once", () => {
  const rows = Object.entries(loops).map(([name, [seconds, loop]]) => [name, seconds, loop] as const)

  test.each(rows)("%s", async (name, seconds, loop) => {
    const state = { isBroken: false, calls: 0 }
    const watch: Watch = (statement) =>
      Effect.suspend(() => {
        state.calls += 1
        return state.isBroken ? Effect.die(bug) : statement
      })
    const kept = await Effect.runPromise(Effect.scoped(Layer.build(lastingStorage)))
    const storage = Effect.runSync(Effect.provide(Storage, kept))
    const config = await hostsConfig({ a: {} }, {}, { a: { api_keys: [{ key: "one", limit: 5 }, { key: "two" }] } })
    const running = Layer.scopedDiscard(loop(watch, storage))
    const { clock, logged } = await servicesOf(Layer.provide(running, ProviderRegistry.layer(config)))
    const pass = async () => {
      const { calls } = state
      clock.advance(seconds * 1000)
      for (let at = 0; at < 60 && state.calls === calls; at++) {
        await turns(2)
        clock.advance(1000)
      }
      await turns(4)
      expect(state.calls).toBeGreaterThan(calls)
    }
    state.isBroken = true
    await pass()
    await pass()
    expect(logged.filter((line) => line.startsWith(`ERROR a defect in ${name}`))).toHaveLength(1)
    state.isBroken = false
    await pass()
    expect(logged.filter((line) => line.includes("a defect in"))).toHaveLength(1)
  })
})
