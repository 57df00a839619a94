/**
 * Keeps alerts in the database, which all processes of an installation share: one for each rule, subject and period. The process that sees
 * it first keeps and logs it. While the database is away, an alert is logged and sent at once by each process that sees it, and is kept when the
 * database is back.
 */
import * as Effect from "effect/Effect"
import { type Alert, periodOf, subjectKey } from "../../domain/alerts/Alert.ts"
import type { KeptAlert } from "../../domain/alerts/bodies.ts"
import { dayMs } from "../../domain/keys/limitWindows.ts"
import { logEvent } from "../../process/log/logEvent.ts"
import type { AlertName } from "../storage/alerts.ts"
import type { StorageUnavailable } from "../storage/StorageUnavailable.ts"
import type { AlertsInTime } from "./answeredInTime.ts"
import type { Webhook } from "./Webhook.ts"

/** A state is over when nobody has seen it for so long: five rounds. */
const lingerMs = 150_000
/** How long alerts are kept after they were last seen, and deliveries after they were made. */
const keptMs = 30 * dayMs
const deliveriesKeptMs = 2 * dayMs
const pruneEveryMs = 3_600_000
/** Alerts that wait for the database. */
const mostUnsaved = 20
/** Alerts of periods that are known to be in the database. */
const mostKnown = 10_000

/** An alert that the database could not take, and the webhooks that have got it. */
interface Unsaved {
  readonly name: AlertName
  readonly kept: KeptAlert
  readonly sentTo: Set<Webhook>
}

export interface AlertBookParts {
  readonly alerts: AlertsInTime
  readonly webhooks: ReadonlyArray<Webhook>
  readonly installation: string
  /** The name of this machine. */
  readonly instance: string
  /** `makeRemovals`. */
  readonly mayRemove: () => boolean
}

export class AlertBook {
  private readonly parts: AlertBookParts
  private readonly unsaved = new Map<string, Unsaved>()
  /** When an alert of a period was last seen to be in the database. */
  private readonly known = new Map<string, number>()
  /** States that are in the database and last, as far as this process has seen. */
  private lasting = new Set<string>()
  private prunedAt = Number.NEGATIVE_INFINITY

  constructor(parts: AlertBookParts) {
    this.parts = parts
  }

  /** `found`: what holds at `now`, Unix milliseconds. */
  report(found: ReadonlyArray<Alert>, now: number): Effect.Effect<void> {
    const inDatabase = Effect.gen(this, function* () {
      yield* this.saveUnsaved
      yield* Effect.forEach(found, (alert) => this.save(alert, now), { discard: true })
      this.lasting = new Set(found.filter(isState).map(stateName))
      yield* this.resolve(now)
      yield* this.prune(now)
    })
    const away = Effect.gen(this, function* () {
      for (const alert of found) yield* this.keepUnsaved(alert, now)
      yield* this.sendUnsaved
    })
    return Effect.catchAll(inDatabase, () => away)
  }

  private save(alert: Alert, now: number): Effect.Effect<void, StorageUnavailable> {
    const { alerts, webhooks } = this.parts
    const name = nameOf(alert, now)
    const cacheName = JSON.stringify(name)
    const seenAt = alert.period === null ? undefined : this.known.get(cacheName)
    if (seenAt !== undefined && now - seenAt < dayMs) return Effect.void
    return Effect.gen(this, function* () {
      const wasThere = yield* alerts.seen({ ...name, period: alert.period === null ? null : name.period }, now)
      if (!wasThere) {
        const kept = this.keptOf(alert, name, now)
        if (yield* alerts.insert(name, kept, webhooks.map(receiverOf))) yield* this.began(kept)
      }
      if (isState(alert)) {
        this.lasting.add(stateName(alert))
        return
      }
      if (this.known.size >= mostKnown) this.known.clear()
      this.known.set(cacheName, now)
    })
  }

  private began(kept: KeptAlert): Effect.Effect<void> {
    for (const webhook of this.parts.webhooks) webhook.wake()
    return logBegin(kept)
  }

  private resolve(now: number): Effect.Effect<void, StorageUnavailable> {
    const { alerts, webhooks } = this.parts
    return Effect.flatMap(alerts.resolve(now - lingerMs, now, webhooks.map(receiverOf)), (over) => {
      if (over.length > 0) for (const webhook of webhooks) webhook.wake()
      return Effect.forEach(over, (kept) => logEnd(kept, now), { discard: true })
    })
  }

  private prune(now: number): Effect.Effect<void, StorageUnavailable> {
    if (!this.parts.mayRemove() || Math.abs(now - this.prunedAt) < pruneEveryMs) return Effect.void
    this.prunedAt = now
    return this.parts.alerts.prune(now - keptMs, now - deliveriesKeptMs)
  }

  private keepUnsaved(alert: Alert, now: number): Effect.Effect<void> {
    const name = nameOf(alert, now)
    // A state that lasts is one alert, although it is reported in several periods.
    const id = isState(alert) ? stateName(alert) : JSON.stringify(name)
    const isKnown = this.unsaved.has(id) || this.lasting.has(id) || this.known.has(id)
    if (isKnown || this.unsaved.size >= mostUnsaved) return Effect.void
    const kept = this.keptOf(alert, name, now)
    this.unsaved.set(id, { name, kept, sentTo: new Set() })
    return logBegin(kept)
  }

  private get sendUnsaved(): Effect.Effect<void> {
    const sends = [...this.unsaved.values()].flatMap(({ kept, sentTo }) =>
      this.parts.webhooks
        .filter((webhook) => !sentTo.has(webhook) && (webhook.rules?.includes(kept.alert.rule) ?? true))
        .map((webhook) =>
          Effect.map(webhook.send(kept, "firing"), (isTaken) => {
            if (isTaken) sentTo.add(webhook)
          }),
        ),
    )
    return Effect.all(sends, { concurrency: 8, discard: true })
  }

  private get saveUnsaved(): Effect.Effect<void, StorageUnavailable> {
    const { alerts, webhooks } = this.parts
    return Effect.forEach(
      [...this.unsaved],
      ([id, { name, kept, sentTo }]) =>
        Effect.map(
          alerts.insert(name, kept, webhooks.filter((webhook) => !sentTo.has(webhook)).map(receiverOf)),
          () => {
            this.unsaved.delete(id)
            this.lasting.add(id)
            for (const webhook of webhooks) webhook.wake()
          },
        ),
      { discard: true },
    )
  }

  private keptOf(alert: Alert, name: AlertName, now: number): KeptAlert {
    const { installation, instance } = this.parts
    // The same in every process that sees it, so that a receiver knows it again.
    const id = new Bun.CryptoHasher("sha256")
      .update(JSON.stringify([installation, name]))
      .digest("hex")
      .slice(0, 32)
    return { id, alert, instance, installation, createdAt: now, resolvedAt: null }
  }
}

const nameOf = (alert: Alert, now: number): AlertName => ({
  rule: alert.rule,
  subject: subjectKey(alert.subject),
  period: periodOf(alert, now),
})

const isState = ({ period }: Alert): boolean => period === null

const stateName = ({ rule, subject }: Alert): string => `${rule} ${subjectKey(subject)}`

/** Plain data, which may be passed to another thread. */
const receiverOf = ({ webhook, rules }: Webhook) => ({ webhook, rules })

const aboutOf = ({ id, alert }: KeptAlert) => ({
  text: alert.text,
  rule: alert.rule,
  subject: alert.subject.name,
  alert_id: id,
})

const logBegin = (kept: KeptAlert): Effect.Effect<void> => {
  const { severity, value, threshold, unit } = kept.alert
  const about = { ...aboutOf(kept), state: "firing", severity, value, threshold, unit }
  return logEvent(severity === "critical" ? "alert_critical" : "alert_warning", about)
}

const logEnd = (kept: KeptAlert, now: number): Effect.Effect<void> => {
  const lastedS = Math.round((now - kept.alert.since) / 1000)
  return logEvent("alert_over", { ...aboutOf(kept), state: "resolved", lastedS })
}
