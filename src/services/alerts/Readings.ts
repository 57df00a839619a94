/** Reads what the rules are about, twice a minute, and says which of them hold. */
import { statfsSync } from "node:fs"
import * as Effect from "effect/Effect"
import type { Alert } from "../../domain/alerts/Alert.ts"
import type { AlertSettings } from "../../domain/alerts/AlertSettings.ts"
import {
  accountAlert,
  breakerAlert,
  certificateAlert,
  diskAlert,
  errorRateAlert,
  ledgerAlert,
} from "../../domain/alerts/conditions.ts"
import { dailySpendAlert, keyBudgetAlert, unchargedAlert, usualSpend } from "../../domain/alerts/spending.ts"
import { dayMs, type Spend, windowStart } from "../../domain/keys/limitWindows.ts"
import type { Picodollars } from "../../domain/price/money.ts"
import type { HostStates } from "../hosts/HostHealth.ts"
import { hindranceText } from "../storage/Outage.ts"
import type { DataAtRest } from "../storage/Storage.ts"
import type { StorageUnavailable } from "../storage/StorageUnavailable.ts"
import { survivingDefects } from "../storage/survivingDefects.ts"
import { answeredInTime } from "./answeredInTime.ts"
import type { RequestTally } from "./RequestTally.ts"

export interface ReadingSources {
  readonly settings: AlertSettings
  readonly tally: RequestTally
  readonly health: HostStates
  /** Whether the ledger takes rows. */
  readonly isWritable: () => boolean
  readonly storage: Pick<DataAtRest, "activity" | "ledger" | "outage" | "where" | "certificate">
  /** The name of this machine, for alerts about its disk. */
  readonly machine: string
  /** Its disk is looked at where the storage does not say how much is free; `undefined`: no disk is. */
  readonly folder: string | undefined
}

/** Keys that are asked for at once. */
const keysAtOnce = 200

/** Between two looks at the certificate. */
const certificateEveryMs = 3_600_000

export class Readings {
  private readonly sources: ReadingSources
  /** Since when the ledger takes no rows, as far as rounds have seen. */
  private behindSince: number | undefined
  private usual: { readonly day: number; readonly spend: Picodollars | undefined } | undefined
  private certificate: { readonly readAt: number; readonly endsAt: number | undefined } | undefined
  /** A defect of one keeps no other from being read. */
  private readonly surviving = {
    inMemory: survivingDefects("the rules of alerts about this process"),
    budgets: survivingDefects("the alerts about budgets"),
    day: survivingDefects("the alerts about the spend of a day"),
    certificates: survivingDefects("the alert about the certificate"),
  }

  constructor(sources: ReadingSources) {
    this.sources = sources
  }

  /** The alerts whose rules hold at `now`. What cannot be read while the database is away is read in a later round. */
  readonly at = (now: number): Effect.Effect<ReadonlyArray<Alert>> => {
    const { inMemory, budgets, day, certificates } = this.surviving
    const parts = [
      inMemory(Effect.sync(() => this.inMemory(now))),
      budgets(Effect.suspend(() => this.budgets(now))),
      day(Effect.suspend(() => this.day(now))),
      certificates(Effect.suspend(() => this.certificates(now))),
    ]
    return Effect.map(Effect.all(parts), (found) => found.flatMap((alerts) => alerts ?? []))
  }

  private inMemory(now: number): ReadonlyArray<Alert> {
    const { settings, tally, health } = this.sources
    return present([
      errorRateAlert(settings.errorRate, tally.failures(now), now),
      ...tally.refusalsAt(now).map((refusal) => accountAlert(settings.accountRefused, refusal, now)),
      ...health.openBreakers().map((breaker) => breakerAlert(settings.breakerOpen, breaker, now)),
      this.ledger(now),
      this.disk(now),
    ])
  }

  private ledger(now: number): Alert | undefined {
    const { settings, isWritable, storage } = this.sources
    this.behindSince = isWritable() ? undefined : (this.behindSince ?? now)
    const hindrance = storage.outage?.current
    const cause = hindrance === undefined ? "rows wait for the database" : hindranceText(hindrance)
    return ledgerAlert(settings.ledgerBehind, this.behindSince, cause, now)
  }

  private disk(now: number): Alert | undefined {
    const { settings, storage, folder, machine } = this.sources
    if (!settings.diskSpace.enabled) return undefined
    const told = storage.where?.()["free_bytes"]
    const free = typeof told === "number" ? told : freeBytesIn(folder)
    return diskAlert(settings.diskSpace, machine, free, now)
  }

  private budgets(now: number): Effect.Effect<ReadonlyArray<Alert>> {
    const { settings, tally, storage } = this.sources
    const keys = tally.takeSpenders()
    if (!settings.keyBudget.enabled || keys.length === 0) return nothing
    const alerts = Effect.gen(function* () {
      const spends: Array<Spend> = []
      for (let at = 0; at < keys.length; at += keysAtOnce) {
        const ids = keys.slice(at, at + keysAtOnce).map(({ id }) => id)
        spends.push(...(yield* answeredInTime(storage.ledger.spendOf(ids, now))))
      }
      return present(
        keys.map((key, at) => {
          const spend = spends[at]
          return spend && keyBudgetAlert(settings.keyBudget, key, spend, now)
        }),
      )
    })
    return Effect.catchAll(alerts, () => {
      tally.putBack(keys)
      return nothing
    })
  }

  private day(now: number): Effect.Effect<ReadonlyArray<Alert>> {
    const { settings, tally, storage } = this.sources
    const { dailySpend, unchargedCost } = settings
    if (!(dailySpend.enabled || unchargedCost.enabled) || !tally.takeHasSpend()) return nothing
    const alerts = Effect.gen(this, function* () {
      const today = yield* answeredInTime(storage.activity.sums({ days: [windowStart("daily", now)], by: "host" }))
      const usual = dailySpend.enabled ? yield* this.usualAt(now) : undefined
      return present([dailySpendAlert(dailySpend, today, usual, now), unchargedAlert(unchargedCost, today, now)])
    })
    return Effect.orElse(alerts, () => nothing)
  }

  /** Read once a day: the days before it do not change. */
  private usualAt(now: number): Effect.Effect<Picodollars | undefined, StorageUnavailable> {
    const { settings, storage } = this.sources
    const today = windowStart("daily", now)
    if (this.usual?.day === today) return Effect.succeed(this.usual.spend)
    const days = Array.from({ length: settings.dailySpend.days }, (_, before) => today - (before + 1) * dayMs)
    return Effect.map(answeredInTime(storage.activity.sums({ days, by: "host" })), (sums) => {
      const spend = usualSpend(sums)
      this.usual = { day: today, spend }
      return spend
    })
  }

  private certificates(now: number): Effect.Effect<ReadonlyArray<Alert>> {
    const { settings, storage } = this.sources
    if (!settings.certificateEnds.enabled || storage.certificate === undefined) return nothing
    const known = this.certificate
    const isKnown = known !== undefined && now - known.readAt < certificateEveryMs
    const endsAt = isKnown ? Effect.succeed(known.endsAt) : storage.certificate
    return Effect.map(endsAt, (at) => {
      if (!isKnown) this.certificate = { readAt: now, endsAt: at }
      return present([certificateAlert(settings.certificateEnds, at, now)])
    })
  }
}

const nothing: Effect.Effect<ReadonlyArray<Alert>> = Effect.succeed([])

const present = (alerts: ReadonlyArray<Alert | undefined>): ReadonlyArray<Alert> =>
  alerts.filter((alert) => alert !== undefined)

const freeBytesIn = (folder: string | undefined): number | undefined => {
  if (folder === undefined) return undefined
  try {
    const { bavail, bsize } = statfsSync(folder)
    return bavail * bsize
  } catch {
    // It is made when it is first needed.
    return undefined
  }
}
