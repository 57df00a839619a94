/** The rules of alerts beside the services that they look at, whose states the test sets, under a clock that the test advances. */
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Layer from "effect/Layer"
import * as Logger from "effect/Logger"
import * as Scope from "effect/Scope"
import { decodeConfig } from "../../../src/config/loadConfig.ts"
import type { OpenBreaker } from "../../../src/domain/alerts/conditions.ts"
import { layerAlerts } from "../../../src/services/alerts/layerAlerts.ts"
import { HostHealth } from "../../../src/services/hosts/HostHealth.ts"
import { Meter } from "../../../src/services/money/Meter.ts"
import { type RequestEnd, RequestEnds, type RequestObserver } from "../../../src/services/request/RequestEnds.ts"
import type { AlertRepository } from "../../../src/services/storage/alerts.ts"
import { type DataAtRest, Storage } from "../../../src/services/storage/Storage.ts"
import { StorageUnavailable } from "../../../src/services/storage/StorageUnavailable.ts"
import { type HostCaller, Upstream } from "../../../src/upstream/Upstream.ts"
import { ManualClock } from "../clocks/manualClock.ts"
import { until } from "../clocks/until.ts"
import { collectedLog } from "./collectedLog.ts"
import { sampleEnd } from "./observed.ts"

/** What the rules see. */
export interface Seen {
  breakers: ReadonlyArray<OpenBreaker>
  isWritable: boolean
  freeBytes: number
  isDatabaseAway: boolean
  certificateEndsAt: number | undefined
  /** Questions to the database that have no answer yet. The clock stands still until they have one. */
  asked: number
  /** Whether the database never answers. */
  isDatabaseSilent: boolean
  /** Calls of webhooks that have no answer yet. The clock stands still until they have one, or a receiver says that it hangs. */
  calls: number
  /** Calls that were given up without an answer. */
  givenUp: number
  /** Calls that receivers have and never answer, those that were given up as well. */
  hung: () => number
}

export interface AlertRig {
  readonly seen: Seen
  readonly clock: ManualClock
  /** Lines of the log, as JSON. */
  readonly log: ReadonlyArray<string>
  /** A request has ended. */
  readonly end: (end: Partial<RequestEnd>) => void
  /** Advances the clock round by round, of half a minute each, and lets everything happen that is due. */
  readonly rounds: (count: number) => Promise<void>
  /** Lets everything happen that is due, where another one advances the clock. */
  readonly settle: () => Promise<void>
  readonly stop: () => Promise<void>
}

const unused = () => Effect.dieMessage("not part of this test")

const healthOf = (seen: Seen) =>
  HostHealth.of({
    admissible: () => undefined,
    emergencyProbe: () => undefined,
    refusal: () => undefined,
    acquire: () => {
      throw new Error("not part of this test")
    },
    openBreakers: () => seen.breakers,
  })

const meterOf = (seen: Seen) =>
  Meter.of({
    reserve: unused,
    release: () => {},
    settle: unused,
    budget: unused,
    writable: () => seen.isWritable,
    spent: unused,
  })

const away = Effect.fail(new StorageUnavailable({ reason: "away" }))

/** `storage` as the test has it: it can be away. */
const storageOf = (storage: DataAtRest, seen: Seen): DataAtRest => {
  const { alerts } = storage
  const asked = <A>(effect: Effect.Effect<A, StorageUnavailable>) =>
    Effect.suspend(() => {
      if (seen.isDatabaseAway) return away
      seen.asked += 1
      return Effect.ensuring(
        effect,
        Effect.sync(() => {
          seen.asked -= 1
        }),
      )
    })
  const guarded: AlertRepository = {
    insert: (...all) => asked(alerts.insert(...all)),
    seen: (...all) => asked(alerts.seen(...all)),
    page: (...all) => asked(alerts.page(...all)),
    resolve: (...all) => asked(alerts.resolve(...all)),
    claim: (...all) => asked(alerts.claim(...all)),
    close: (...all) => asked(alerts.close(...all)),
    postpone: (...all) => asked(alerts.postpone(...all)),
    prune: (...all) => asked(alerts.prune(...all)),
  }
  return {
    ...storage,
    alerts: guarded,
    certificate: Effect.sync(() => seen.certificateEndsAt),
    where: () => ({ free_bytes: seen.freeBytes }),
  }
}

const turns = async (): Promise<void> => {
  for (let turn = 0; turn < 12; turn++) await new Promise((resolve) => setImmediate(resolve))
}

/** Lets everything happen that is under way, on sockets too. */
const settled = async (seen: Seen): Promise<void> => {
  const isSettled = () => (seen.asked === 0 || seen.isDatabaseSilent) && seen.calls === seen.hung() - seen.givenUp
  await turns()
  while (!isSettled()) {
    await until(isSettled, "the answer of a webhook")
    await turns()
  }
}

/** Counts the calls that wait for an answer. */
const counted = (upstream: HostCaller, seen: Seen): HostCaller => ({
  exchange: (call, sink) => {
    seen.calls += 1
    let isOver = false
    const over = () => {
      if (!isOver) seen.calls -= 1
      isOver = true
    }
    const exchange = upstream.exchange(call, {
      ...sink,
      head: (head) => {
        over()
        sink.head(head)
      },
      failed: (failure) => {
        over()
        sink.failed(failure)
      },
    })
    return {
      ...exchange,
      cancel: () => {
        if (!isOver) seen.givenUp += 1
        over()
        exchange.cancel()
      },
    }
  },
})

interface AlertRigOptions {
  readonly clock?: ManualClock
  /** What calls webhooks. */
  readonly upstream?: Layer.Layer<Upstream>
}

/** `storage`: a database that may outlive the rig. `alerts`: as in the configuration. */
export const startAlerts = async (
  alerts: object,
  storage: DataAtRest,
  { clock = new ManualClock(), upstream = Upstream.layer }: AlertRigOptions = {},
): Promise<AlertRig> => {
  const seen: Seen = {
    breakers: [],
    isWritable: true,
    freeBytes: 1e12,
    isDatabaseAway: false,
    certificateEndsAt: undefined,
    asked: 0,
    isDatabaseSilent: false,
    calls: 0,
    givenUp: 0,
    hung: () => 0,
  }
  const observers: Array<RequestObserver> = []
  const log = collectedLog()
  const config = await Effect.runPromise(decodeConfig({ alerts }))
  const scope = Effect.runSync(Scope.make())
  const around = Layer.mergeAll(
    Layer.succeed(HostHealth, healthOf(seen)),
    Layer.succeed(Meter, meterOf(seen)),
    Layer.succeed(Storage, storageOf(storage, seen)),
    Layer.succeed(
      RequestEnds,
      RequestEnds.of({
        begin: () => {
          throw new Error("not part of this test")
        },
        end: unused,
        subscribe: (observer) => Effect.sync(() => void observers.push(observer)),
      }),
    ),
    Layer.map(upstream, (context) => Context.make(Upstream, counted(Context.get(context, Upstream), seen))),
    Logger.remove(Logger.defaultLogger),
    log.layer,
  )
  const layer = Layer.provide(layerAlerts(config.alerts, undefined), around)
  await Effect.runPromise(Effect.withClock(Layer.buildWithScope(layer, scope), clock))
  await settled(seen)
  return {
    seen,
    clock,
    log: log.texts,
    end: (end) => {
      const times = { ...sampleEnd().times, receivedAt: clock.unsafeCurrentTimeMillis() }
      for (const observe of observers) observe(sampleEnd({ times, ...end }))
    },
    rounds: async (count) => {
      for (let round = 0; round < count; round++) {
        for (let second = 0; second < 30; second += 10) {
          clock.advance(10_000)
          await settled(seen)
        }
      }
    },
    settle: () => settled(seen),
    stop: () => Effect.runPromise(Scope.close(scope, Exit.void)),
  }
}
