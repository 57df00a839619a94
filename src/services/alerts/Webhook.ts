/**
 * Sends alerts to one webhook: those that the database has for it, each until the receiver has taken it, for a day at most. The process that holds
 * a delivery's lease sends it. A receiver may get one twice, and knows it by its id (docs/alerts.md).
 */
import * as Effect from "effect/Effect"
import * as Queue from "effect/Queue"
import * as Random from "effect/Random"
import * as Redacted from "effect/Redacted"
import type { AlertState } from "../../domain/alerts/Alert.ts"
import type { WebhookSettings } from "../../domain/alerts/AlertSettings.ts"
import { jsonBody, type KeptAlert, slackBody } from "../../domain/alerts/bodies.ts"
import type { HostFailed } from "../../domain/failures/Failure.ts"
import { backoffMs } from "../../domain/structures/backoff.ts"
import { LoggedState } from "../../process/log/LoggedState.ts"
import { logEvent } from "../../process/log/logEvent.ts"
import type { UpstreamCall } from "../../upstream/Exchange.ts"
import type { HostCaller } from "../../upstream/Upstream.ts"
import { callFault, placeOf } from "../calls/callFault.ts"
import type { AlertDelivery, AlertReceiver, AlertRepository } from "../storage/alerts.ts"
import type { StorageUnavailable } from "../storage/StorageUnavailable.ts"
import { survivingDefects } from "../storage/survivingDefects.ts"

/** For one call: from the dial to the status of the answer. */
const answerWithinMs = 10_000
/** Deliveries that are claimed at once, and their lease: longer than all of them can take one after another. */
const claimedAtOnce = 4
const leaseMs = 60_000
/** Waits between tries, and for how long they go on. */
const retrying = { firstMs: 30_000, mostMs: 3_600_000 }
const triedForMs = 86_400_000
/** Between two looks for what is due. */
const lookEvery = "30 seconds"

const hashOf = (text: string): string => new Bun.CryptoHasher("sha256").update(text).digest("hex")

/** `v1=` and the HMAC-SHA256, in hex, of the time stamp (Unix seconds), a full stop, and the body. */
export const signatureOf = (secret: Redacted.Redacted, timestamp: string, body: string): string =>
  `v1=${new Bun.CryptoHasher("sha256", Redacted.value(secret)).update(`${timestamp}.${body}`).digest("hex")}`

export class Webhook implements AlertReceiver {
  readonly webhook: string
  private readonly settings: WebhookSettings
  private readonly upstream: HostCaller
  private readonly alerts: AlertRepository
  private readonly changed: Queue.Queue<void>
  private readonly failing = new LoggedState()

  constructor(settings: WebhookSettings, upstream: HostCaller, alerts: AlertRepository, changed: Queue.Queue<void>) {
    this.settings = settings
    this.upstream = upstream
    this.alerts = alerts
    this.changed = changed
    this.webhook = hashOf(`${settings.format} ${Redacted.value(settings.url)}`).slice(0, 32)
  }

  get rules(): AlertReceiver["rules"] {
    return this.settings.rules
  }

  /** There may be something to send. */
  wake(): void {
    this.changed.unsafeOffer()
  }

  /** Sends what is due, for ever. */
  get run(): Effect.Effect<void> {
    const survivingRounds = survivingDefects("the delivery of alerts")
    const round = survivingRounds(Effect.orElse(this.round, () => Effect.void))
    const pause = Effect.timeoutOption(Queue.take(this.changed), lookEvery)
    return Effect.forever(Effect.zipRight(round, pause))
  }

  /** Sends an alert now, without the database. Whether the receiver has taken it. */
  send(kept: KeptAlert, state: AlertState): Effect.Effect<boolean> {
    return Effect.gen(this, function* () {
      const { currentTimeMillis } = yield* Effect.clock
      const fault = yield* this.faultOf(this.callFor(kept, state, yield* currentTimeMillis))
      if (fault === undefined) yield* this.succeeded
      else yield* this.failed(kept, fault)
      return fault === undefined
    })
  }

  private readonly round: Effect.Effect<void, StorageUnavailable> = Effect.gen(this, function* () {
    const { currentTimeMillis } = yield* Effect.clock
    while (true) {
      const claimed = yield* this.alerts.claim(this.webhook, yield* currentTimeMillis, leaseMs, claimedAtOnce)
      if (claimed.length === 0) return
      yield* Effect.forEach(claimed, (delivery) => this.deliver(delivery), { discard: true })
    }
  })

  private deliver({ kept, state, createdAt, attempts }: AlertDelivery): Effect.Effect<void, StorageUnavailable> {
    return Effect.gen(this, function* () {
      const name = { alertId: kept.id, webhook: this.webhook, state }
      if (yield* this.send(kept, state)) return yield* this.alerts.close(name)
      const { currentTimeMillis } = yield* Effect.clock
      const now = yield* currentTimeMillis
      if (now - createdAt < triedForMs)
        return yield* this.alerts.postpone(name, now + backoffMs(retrying, attempts, yield* Random.next))
      yield* logEvent("alert_given_up", this.about(kept))
      yield* this.alerts.close(name)
    })
  }

  private callFor(kept: KeptAlert, state: AlertState, now: number): UpstreamCall {
    const { url, secret, format, network } = this.settings
    const body = format === "slack" ? slackBody(kept, state) : jsonBody(kept, state)
    const timestamp = `${Math.floor(now / 1000)}`
    return {
      url: Redacted.value(url),
      method: "POST",
      headers: {
        "content-type": "application/json",
        "user-agent": "headgate",
        "x-headgate-id": `${kept.id}.${state}`,
        "x-headgate-timestamp": timestamp,
        ...(secret === null ? {} : { "x-headgate-signature": signatureOf(secret, timestamp, body) }),
      },
      body,
      network,
    }
  }

  /** Why the receiver has not taken it, without secrets; `undefined`: it has. */
  private faultOf(call: UpstreamCall): Effect.Effect<string | undefined> {
    return statusOf(this.upstream, call).pipe(
      Effect.timeoutOption(answerWithinMs),
      Effect.match({
        onSuccess: (status) => {
          if (status._tag === "None") return `no answer within ${answerWithinMs / 1000} seconds`
          return status.value >= 200 && status.value < 300 ? undefined : `it answers with status ${status.value}`
        },
        onFailure: (failure) => callFault(failure, { url: call.url, proxy: undefined }),
      }),
    )
  }

  private get succeeded(): Effect.Effect<void> {
    return this.failing.end((lastedS) => logEvent("webhook_back", { place: this.place, lastedS }))
  }

  private failed(kept: KeptAlert, fault: string): Effect.Effect<void> {
    return this.failing.begin(logEvent("webhook_failing", { ...this.about(kept), fault }))
  }

  private about({ id, alert }: KeptAlert) {
    return { place: this.place, alert_id: id, rule: alert.rule }
  }

  /** Host and port: the rest of the address may be a secret. */
  private get place(): string {
    return placeOf(Redacted.value(this.settings.url))
  }
}

/** The status of the answer, whose body is not read. An interruption ends the call. */
const statusOf = (upstream: HostCaller, call: UpstreamCall): Effect.Effect<number, HostFailed> =>
  Effect.async((resume) => {
    const exchange = upstream.exchange(call, {
      head: ({ status }) => {
        resume(Effect.succeed(status))
        exchange.drain()
      },
      data: () => {},
      end: () => {},
      failed: (failure) => resume(Effect.fail(failure)),
    })
    return Effect.sync(exchange.cancel)
  })
