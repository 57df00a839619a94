/** `GET /healthz`: the process is alive. `GET /readyz`: it accepts requests. Both without a key, outside /api/v1. */
import * as HttpApi from "@effect/platform/HttpApi"
import * as HttpApiBuilder from "@effect/platform/HttpApiBuilder"
import * as HttpApiEndpoint from "@effect/platform/HttpApiEndpoint"
import * as HttpApiGroup from "@effect/platform/HttpApiGroup"
import * as Deferred from "effect/Deferred"
import * as Effect from "effect/Effect"
import * as Option from "effect/Option"
import * as Schema from "effect/Schema"
import { Unavailable } from "../../domain/failures/Failure.ts"
import { Meter } from "../../services/money/Meter.ts"
import { InFlight } from "../../services/request/InFlight.ts"
import { monotonic } from "../../services/request/RequestContext.ts"
import { type Hindrance, hindranceText, outageOf } from "../../services/storage/Outage.ts"
import { Storage } from "../../services/storage/Storage.ts"
import { orUnavailable } from "../../services/storage/StorageUnavailable.ts"
import { unavailable } from "../refusals.ts"

const Ok = Schema.Struct({ status: Schema.Literal("ok") })
const ok = { status: "ok" } as const

/** Milliseconds that `/readyz` waits for the database, by default: probes usually wait for one second. */
const patienceMs = 500
/** Milliseconds without an answer after which the gateway takes no requests. */
const silenceMs = 5000
const silent: Hindrance = { kind: "away", cause: "it has not answered for five seconds" }

/**
 * Shares one database query among all concurrent callers. A caller that has waited long enough gets `late`, which
 * takes how long the query has run, in milliseconds.
 */
const sharedLook = <E>(look: Effect.Effect<void, E>, late: (openMs: number) => Effect.Effect<void, E>) => {
  let running: { readonly sinceMs: number; readonly answer: Deferred.Deferred<void, E> } | undefined
  const begin = (sinceMs: number) =>
    Effect.gen(function* () {
      const answer = yield* Deferred.make<void, E>()
      running = { sinceMs, answer }
      const ended = Effect.sync(() => {
        running = undefined
      })
      yield* Effect.forkDaemon(Effect.intoDeferred(Effect.ensuring(look, ended), answer))
      return { sinceMs, answer }
    })
  return Effect.gen(function* () {
    const nowMs = monotonic(yield* Effect.clock)
    const { sinceMs, answer } = running ?? (yield* Effect.uninterruptible(begin(nowMs())))
    const answered = yield* Effect.timeoutOption(Deferred.await(answer), patienceMs)
    if (Option.isNone(answered)) yield* late(nowMs() - sinceMs)
  })
}

export const HealthGroup = HttpApiGroup.make("health")
  .add(HttpApiEndpoint.get("healthz", "/healthz").addSuccess(Ok))
  .add(HttpApiEndpoint.get("readyz", "/readyz").addSuccess(Ok).addError(unavailable))

export const healthHandlers = HttpApiBuilder.group(HttpApi.make("headgate").add(HealthGroup), "health", (handlers) =>
  Effect.gen(function* () {
    const inFlight = yield* InFlight
    const storage = yield* Storage
    const meter = yield* Meter
    const outage = outageOf(storage)
    const reached = orUnavailable("storage", { outage })
    const unwritable = () => {
      const because = outage.current && hindranceText(outage.current)
      return new Unavailable({ why: "metering", retryAfterSeconds: 5, ...(because && { because }) })
    }
    const refuse = (hindrance: Hindrance) => Effect.zipRight(outage.begin(hindrance), Effect.failSync(unwritable))
    // Any query that reads the database.
    const readable = reached(storage.keys.countManagement())
    /** Asked now, while the meter has the answer of its last look. */
    const takesRequests = Effect.flatMap(reached(storage.ledger.takesRequests()), (takes) =>
      takes === true ? Effect.void : refuse(takes),
    )
    const taken = sharedLook(Effect.zipRight(readable, takesRequests), (openMs) => {
      if (openMs > silenceMs) return refuse(silent)
      return outage.current === undefined ? Effect.void : Effect.failSync(unwritable)
    })
    const open = Effect.suspend(() =>
      inFlight.stopping() ? Effect.fail(new Unavailable({ why: "draining", retryAfterSeconds: 1 })) : Effect.void,
    )
    const writable = Effect.suspend(() => (meter.writable() ? Effect.void : Effect.failSync(unwritable)))
    return handlers
      .handle("healthz", () => Effect.succeed(ok))
      .handle("readyz", () => Effect.as(Effect.all([open, writable, taken]), ok))
  }),
)
