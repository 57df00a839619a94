/**
 * Looks twice a minute whether a rule of `alerts` holds, keeps and logs what is found, and sends it to the webhooks. What it needs of
 * requests is counted at their end. See docs/alerts.md.
 */
import { hostname } from "node:os"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Queue from "effect/Queue"
import * as Schedule from "effect/Schedule"
import type { AlertSettings } from "../../domain/alerts/AlertSettings.ts"
import { Upstream } from "../../upstream/Upstream.ts"
import { HostHealth } from "../hosts/HostHealth.ts"
import { Meter } from "../money/Meter.ts"
import { RequestEnds } from "../request/RequestEnds.ts"
import { makeRemovals } from "../request/removals.ts"
import { Storage } from "../storage/Storage.ts"
import { survivingDefects } from "../storage/survivingDefects.ts"
import { AlertBook } from "./AlertBook.ts"
import { alertsInTime } from "./answeredInTime.ts"
import { Readings } from "./Readings.ts"
import { RequestTally } from "./RequestTally.ts"
import { Webhook } from "./Webhook.ts"

const lookEvery = "30 seconds"

/** Whether any rule needs to know of requests. */
const countsRequests = ({ keyBudget, dailySpend, unchargedCost, accountRefused, errorRate }: AlertSettings): boolean =>
  [keyBudget, dailySpend, unchargedCost, accountRefused, errorRate].some(({ enabled }) => enabled)

/** `folder`: its disk is looked at where the storage does not say how much is free; `undefined`: no disk is. */
export const layerAlerts = (
  settings: AlertSettings,
  folder: string | undefined,
): Layer.Layer<never, never, HostHealth | Meter | RequestEnds | Storage | Upstream> =>
  Layer.scopedDiscard(
    Effect.gen(function* () {
      const storage = yield* Storage
      const upstream = yield* Upstream
      const meter = yield* Meter
      const health = yield* HostHealth
      const requests = yield* RequestEnds
      const { currentTimeMillis } = yield* Effect.clock
      const tally = new RequestTally(yield* currentTimeMillis)
      const webhooks = yield* Effect.forEach(settings.webhooks, (webhook) =>
        Effect.map(Queue.sliding<void>(1), (changed) => new Webhook(webhook, upstream, storage.alerts, changed)),
      )
      const machine = hostname()
      const readings = new Readings({
        ...{ settings, tally, health, storage, machine, folder },
        isWritable: meter.writable,
      })
      const { installation } = storage
      const mayRemove = makeRemovals(yield* Effect.clock)
      const alerts = alertsInTime(storage.alerts)
      const book = new AlertBook({ alerts, webhooks, installation, instance: machine, mayRemove })
      const round = Effect.flatMap(currentTimeMillis, (now) =>
        Effect.flatMap(readings.at(now), (found) => book.report(found, now)),
      )
      if (countsRequests(settings)) yield* requests.subscribe(tally.observe, "never")
      yield* Effect.scheduleForked(survivingDefects("the rules of alerts")(round), Schedule.spaced(lookEvery))
      yield* Effect.forEach(webhooks, (webhook) => Effect.forkScoped(webhook.run), { discard: true })
    }),
  )
