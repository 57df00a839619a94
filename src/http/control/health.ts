/** `GET /healthz`: the process is alive. `GET /readyz`: it accepts requests. Both without a key, outside /api/v1. */
import * as HttpApi from "@effect/platform/HttpApi"
import * as HttpApiBuilder from "@effect/platform/HttpApiBuilder"
import * as HttpApiEndpoint from "@effect/platform/HttpApiEndpoint"
import * as HttpApiGroup from "@effect/platform/HttpApiGroup"
import * as Effect from "effect/Effect"
import * as Schema from "effect/Schema"
import { Unavailable } from "../../domain/failures/Failure.ts"
import { Meter } from "../../services/money/Meter.ts"
import { InFlight } from "../../services/request/InFlight.ts"
import { hindranceText, outageOf } from "../../services/storage/Outage.ts"
import { Storage } from "../../services/storage/Storage.ts"
import { orUnavailable } from "../../services/storage/StorageUnavailable.ts"
import { unavailable } from "../refusals.ts"

const Ok = Schema.Struct({ status: Schema.Literal("ok") })
const ok = { status: "ok" } as const

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
    // Any query that reads the database.
    const readable = reached(storage.keys.countManagement())
    /** Asked now, while the meter has the answer of its last look. */
    const takesRequests = Effect.flatMap(reached(storage.ledger.takesRequests()), (takes) =>
      takes === true ? Effect.void : Effect.zipRight(outage.begin(takes), Effect.failSync(unwritable)),
    )
    const open = Effect.suspend(() =>
      inFlight.stopping() ? Effect.fail(new Unavailable({ why: "draining", retryAfterSeconds: 1 })) : Effect.void,
    )
    const writable = Effect.suspend(() => (meter.writable() ? Effect.void : Effect.failSync(unwritable)))
    return handlers
      .handle("healthz", () => Effect.succeed(ok))
      .handle("readyz", () => Effect.as(Effect.all([open, writable, readable, takesRequests]), ok))
  }),
)
