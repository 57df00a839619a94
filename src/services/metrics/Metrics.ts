/**
 * Figures of the gateway for those who watch it: counted since the start, in memory, and written as text when somebody asks. Requests are
 * counted at their end, money with the rows of the ledger, and everything else is read from the services when it is asked for. Nothing is
 * counted per chunk. See docs/metrics.md and docs/decisions/0072-metrics.md.
 */
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Option from "effect/Option"
import type * as Scope from "effect/Scope"
import { ProviderRegistry } from "../../catalogue/ProviderRegistry.ts"
import { logEvent } from "../../process/log/logEvent.ts"
import { Upstream } from "../../upstream/Upstream.ts"
import { HostHealth } from "../hosts/HostHealth.ts"
import { Meter } from "../money/Meter.ts"
import { makeEffectRunner } from "../request/EffectRunner.ts"
import { InFlight } from "../request/InFlight.ts"
import { otherWorkFirst } from "../request/otherWorkFirst.ts"
import { RequestEnds } from "../request/RequestEnds.ts"
import { Storage } from "../storage/Storage.ts"
import { expositionOf, expositionParts, type TextForm } from "./exposition.ts"
import type { Collector, Snapshot } from "./Family.ts"
import { serviceFamilies } from "./families.ts"
import { keyBudgets } from "./keyBudgets.ts"
import { LedgerFigures } from "./LedgerFigures.ts"
import { Pairs } from "./Pairs.ts"
import { makeProcessFigures } from "./processFigures.ts"
import { RequestFigures } from "./RequestFigures.ts"
import { Histogram } from "./Store.ts"
import { ofHosts, ofInFlight, ofMeter, ofSpool, ofUpstream } from "./serviceCollectors.ts"
import { snapshotOf } from "./snapshot.ts"

/** The other processes of a gateway. */
export interface Fleet {
  /** The figures of all, given those of this one. `undefined`: they cannot be had now. */
  readonly all: (own: Snapshot) => Promise<Snapshot | undefined>
  /** Gives the other processes the figures of this one until the scope is closed, and at that moment its last ones. */
  readonly join: (own: () => Snapshot) => Effect.Effect<void, never, Scope.Scope>
}

/** Set where several processes are one gateway. By default this one is alone. */
export class MetricsFleet extends Context.Reference<MetricsFleet>()("headgate/MetricsFleet", {
  defaultValue: (): Fleet => ({ all: (own) => Promise.resolve(own), join: () => Effect.void }),
}) {}

export interface MetricsOptions {
  /** Whether anything is counted. */
  readonly enabled: boolean
  /** How many keys' budgets are among the figures, at most; 0: none. */
  readonly budgetKeys: number
}

export class Metrics extends Context.Tag("headgate/Metrics")<
  Metrics,
  {
    /** Whether anything is counted. If not, there are no figures. */
    readonly isOn: boolean
    /** The figures of all processes as text; `undefined`: another process did not send its own in time. */
    readonly text: (form: TextForm) => Effect.Effect<string | undefined>
    /** The figures of this process. */
    readonly snapshot: Effect.Effect<Snapshot>
    /** From now on the figures include those of `collector`. */
    readonly register: (collector: Collector) => void
  }
>() {
  static readonly layer = (options: MetricsOptions) =>
    options.enabled ? Layer.scoped(Metrics, make(options)) : Layer.succeed(Metrics, off)
}

const off = Metrics.of({
  isOn: false,
  text: (form) => Effect.sync(() => expositionOf([], form)),
  snapshot: Effect.succeed([]),
  register: () => {},
})

const make = Effect.fnUntraced(function* ({ budgetKeys }: MetricsOptions) {
  const registry = yield* ProviderRegistry
  const storage = yield* Storage
  const meter = yield* Meter
  const health = yield* HostHealth
  const fleet = yield* MetricsFleet
  const upstream = yield* Effect.serviceOption(Upstream)
  const runner = makeEffectRunner(yield* Effect.runtime<never>())
  const pairs = new Pairs()
  const requests = new RequestFigures(pairs, (name) => registry.current().names.get(name)?.model.id)
  const rows = new LedgerFigures(pairs)
  const commits = makeCommits()
  const collectors: Array<Collector> = [requests, rows, commits, ofInFlight((yield* InFlight).figures)]
  if (meter.figures !== undefined) collectors.push(ofMeter(meter.figures, meter.writable))
  collectors.push(ofSpool(storage.spooled ?? (() => 0)))
  if (health.figures !== undefined) collectors.push(ofHosts(pairs, health.figures))
  if (Option.isSome(upstream) && upstream.value.figures !== undefined) {
    collectors.push(ofUpstream(upstream.value.figures))
  }
  collectors.push(yield* makeProcessFigures)

  const onThrown = (thrown: unknown): void => {
    runner.run(logEvent("figures_failed", {}, thrown), () => {})
  }
  const own = () => snapshotOf(collectors, onThrown)
  const snapshot = Effect.map(keyBudgets(storage, meter, budgetKeys), (budgets) => [...own(), ...budgets])
  yield* fleet.join(own)
  yield* (yield* RequestEnds).subscribe(requests.observe, "never")
  if (meter.observe !== undefined) yield* meter.observe({ booked: rows.booked, committed: commits.committed })
  return Metrics.of({
    isOn: true,
    snapshot,
    text: (form) =>
      Effect.flatMap(
        Effect.flatMap(snapshot, (ownFigures) => Effect.promise(() => fleet.all(ownFigures))),
        (all) => (all === undefined ? Effect.succeed(undefined) : written(expositionParts(all, form))),
      ),
    register: (collector) => {
      collectors.push(collector)
    },
  })
})

/** Characters that are written without a pause. All series of a thousand hosts are some 4,000,000, and take 50 ms. */
const charactersAtOnce = 100_000

const written = (parts: Iterable<string>): Effect.Effect<string> =>
  Effect.gen(function* () {
    let text = ""
    let pausedAt = 0
    for (const part of parts) {
      text += part
      if (text.length - pausedAt < charactersAtOnce) continue
      pausedAt = text.length
      yield* otherWorkFirst
    }
    return text
  })

const makeCommits = () => {
  const seconds = new Histogram(serviceFamilies.commits.buckets)
  const sizes = new Histogram(serviceFamilies.committedRows.buckets)
  return {
    committed: (count: number, ms: number): void => {
      seconds.observe(ms / 1000)
      sizes.observe(count)
    },
    collect: (scrape: Parameters<Collector["collect"]>[0]): void => {
      scrape.set(serviceFamilies.commits, [], seconds.value)
      scrape.set(serviceFamilies.committedRows, [], sizes.value)
    },
  }
}
