/**
 * `GET /requests/live`: the requests that run, in all processes that use the database. Any key sees its own; a management key sees all.
 * `DELETE /requests/live/{request_id}`: stops one.
 */
import * as HttpApi from "@effect/platform/HttpApi"
import * as HttpApiBuilder from "@effect/platform/HttpApiBuilder"
import * as HttpApiEndpoint from "@effect/platform/HttpApiEndpoint"
import * as HttpApiGroup from "@effect/platform/HttpApiGroup"
import * as HttpApiSchema from "@effect/platform/HttpApiSchema"
import * as OpenApi from "@effect/platform/OpenApi"
import * as Clock from "effect/Clock"
import * as Effect from "effect/Effect"
import * as Schema from "effect/Schema"
import { NotFound } from "../../../domain/failures/Failure.ts"
import { isoTime } from "../../../domain/keys/keyValues.ts"
import { logEvent } from "../../../process/log/logEvent.ts"
import { LiveRequests } from "../../../services/live/LiveRequests.ts"
import { type LiveRequest, liveStates } from "../../../services/live/liveRequest.ts"
import { Storage } from "../../../services/storage/Storage.ts"
import { notFound, unavailable } from "../../refusals.ts"
import { Authorize, AuthorizeManagement, CurrentKey } from "../Authorize.ts"

const LiveItem = Schema.Struct({
  request_id: Schema.String,
  /** When it was admitted. */
  created_at: Schema.String,
  age_ms: Schema.Int,
  /** `null`: its caller is not known yet. */
  key_hash: Schema.NullOr(Schema.String),
  key_name: Schema.NullOr(Schema.String),
  /** Method and path. */
  route: Schema.String,
  form: Schema.NullOr(Schema.String),
  /** Of the host that is called, else the first that was asked for; `null`: its body is not read yet. */
  model: Schema.NullOr(Schema.String),
  /** The tag of the host that was called last, or that answers; `null`: none was called. */
  host: Schema.NullOr(Schema.String),
  /** Whether its answer is asked for as a stream. */
  streamed: Schema.Boolean,
  /** `receiving`: its body is not there yet. `waiting`: its caller has nothing of an answer. `streaming`: a host's stream has begun. */
  state: Schema.Literal(...liveStates),
  /** Host name and process id of the gateway that serves it. */
  process: Schema.String,
  /** Whether that is the process that answers. */
  is_here: Schema.Boolean,
}).annotations({ identifier: "LiveRequest" })

const LiveAnswer = Schema.Struct({
  data: Schema.Array(LiveItem),
  /** `false`: a process that uses the database did not answer within a second, or has more than 1,000 requests. */
  complete: Schema.Boolean,
})

const requestId = HttpApiSchema.param("request_id", Schema.String)

export const LiveGroup = HttpApiGroup.make("live")
  .add(
    HttpApiEndpoint.get("list", "/requests/live")
      .addSuccess(LiveAnswer)
      .middleware(Authorize)
      .annotate(
        OpenApi.Description,
        "The requests that run now, in all processes that use the database. Those of the calling key, or of all keys for a management key, the oldest first. `complete` is false where a process did not answer within a second.",
      ),
  )
  .add(
    HttpApiEndpoint.del("stop")`/requests/live/${requestId}`
      .addSuccess(Schema.Struct({ deleted: Schema.Literal(true) }))
      .addError(notFound)
      .middleware(AuthorizeManagement)
      .annotate(
        OpenApi.Description,
        "Stops a running request, in whichever process it runs. Its caller gets 403, or the same within a stream, which is charged for what came. One whose answer is complete is booked as it is.",
      ),
  )
  .addError(unavailable)
  .prefix("/api/v1")

export const liveHandlers = HttpApiBuilder.group(HttpApi.make("headgate").add(LiveGroup), "live", (handlers) =>
  Effect.gen(function* () {
    const live = yield* LiveRequests
    const { audit } = yield* Storage

    /** The request has ended whatever becomes of this: a runaway request is stopped without the database too. */
    const logged = Effect.fnUntraced(function* (id: string) {
      const actor = (yield* CurrentKey).id
      yield* logEvent("request_stopped", { requestId: id, actor })
      const change = { action: "request.stop", object: id, changes: "{}" } as const
      yield* Effect.catchAll(audit.record(change, { actor, at: yield* Clock.currentTimeMillis }), ({ message }) =>
        logEvent("stop_not_audited", { requestId: id, actor, because: message }),
      )
    })

    return handlers
      .handle("list", () =>
        Effect.gen(function* () {
          const { id, kind } = yield* CurrentKey
          const { requests, isComplete } = yield* live.list
          const seen = kind === "management" ? requests : requests.filter(({ key }) => key === id)
          return { data: seen.map(itemOf), complete: isComplete }
        }),
      )
      .handle("stop", ({ path }) =>
        // The caller may leave meanwhile: what was stopped is in the audit log all the same.
        Effect.uninterruptible(
          Effect.gen(function* () {
            if (!(yield* live.stop(path.request_id))) return yield* unknown
            yield* logged(path.request_id)
            return { deleted: true } as const
          }),
        ),
      )
  }),
)

const unknown = new NotFound({ what: "A running request with this id" })

const itemOf = (one: LiveRequest): typeof LiveItem.Type => ({
  request_id: one.requestId,
  created_at: isoTime(one.createdAt),
  age_ms: one.ageMs,
  key_hash: one.key,
  key_name: one.keyName,
  route: one.route,
  form: one.form,
  model: one.model,
  host: one.host,
  streamed: one.isStreamed,
  state: one.state,
  process: one.process,
  is_here: one.isHere,
})
