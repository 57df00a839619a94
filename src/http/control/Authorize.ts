/** Authentication and authorization on the control plane, by key or by session. See docs/guarantees.md#g25. */
import * as HttpApiMiddleware from "@effect/platform/HttpApiMiddleware"
import * as HttpApiSecurity from "@effect/platform/HttpApiSecurity"
import * as HttpServerRequest from "@effect/platform/HttpServerRequest"
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Schema from "effect/Schema"
import { NotPermitted, Unavailable } from "../../domain/failures/Failure.ts"
import type { KeyRecord } from "../../domain/keys/key.ts"
import { roleOf } from "../../domain/keys/roles.ts"
import { KeyStore } from "../../services/keys/KeyStore.ts"
import { Sessions } from "../../services/keys/Sessions.ts"
import { Answering } from "../answer.ts"
import { addressOf, CallerAddresses } from "../CallerAddresses.ts"
import { notAccepted, notPermitted, tooManyRequests, unavailable } from "../refusals.ts"
import { type Caller, findCaller } from "../sessions/callers.ts"
import { ControlSettings } from "./ControlSettings.ts"
import { roleFor, roleRefusal } from "./operationRoles.ts"
import { CurrentRead, noteKey, ReadLanes } from "./Reads.ts"

/** The key of the request being served. */
export class CurrentKey extends Context.Tag("headgate/CurrentKey")<CurrentKey, KeyRecord>() {}

/** The same, with the session that stands in for it. */
export class CurrentCaller extends Context.Tag("headgate/CurrentCaller")<CurrentCaller, Caller>() {}

/** The same, or `null`: the request has neither a key nor a session. */
export class CallerOrNobody extends Context.Tag("headgate/CallerOrNobody")<CallerOrNobody, Caller | null>() {}

/** All schemes of the API (`Authorization: Bearer`, `x-api-key`, the cookie) are read in one place, so only one is declared. */
const security = { bearer: HttpApiSecurity.bearer }
const failure = Schema.Union(notAccepted, notPermitted, tooManyRequests, unavailable)

/** Identifies the key of the request. A read then waits for its turn. */
const callers = Effect.gen(function* () {
  const lanes = yield* ReadLanes
  const addresses = yield* CallerAddresses
  const { publicUrl = null } = yield* ControlSettings
  const find = findCaller(yield* KeyStore, yield* Sessions, publicUrl)
  return Effect.flatMap(HttpServerRequest.HttpServerRequest, (request) =>
    Effect.flatMap(Effect.orDie(HttpServerRequest.toWeb(request)), find).pipe(
      Effect.timeoutFail({
        duration: "30 seconds",
        onTimeout: () => new Unavailable({ why: "callers", retryAfterSeconds: 1 }),
      }),
      Effect.tap(({ key }) => noteKey(key)),
      Effect.tap(({ key }) => addresses.refusal(key, () => addressOf(addresses, request)) ?? Effect.void),
      Effect.tap(({ key }) => Effect.flatMap(CurrentRead, (read) => read?.enter(key, lanes) ?? Effect.void)),
    ),
  )
})

/** Any valid key. */
export class Authorize extends HttpApiMiddleware.Tag<Authorize>()("headgate/Authorize", {
  failure,
  provides: CurrentKey,
  security,
}) {
  static readonly layer = Layer.effect(
    Authorize,
    Effect.map(callers, (current) => ({ bearer: () => Effect.map(current, ({ key }) => key) })),
  )
}

/** The same, for operations about the session itself. */
export class AuthorizeSession extends HttpApiMiddleware.Tag<AuthorizeSession>()("headgate/AuthorizeSession", {
  failure,
  provides: CurrentCaller,
  security,
}) {
  static readonly layer = Layer.effect(
    AuthorizeSession,
    Effect.map(callers, (current) => ({ bearer: () => current })),
  )
}

/** The same, and nobody. A key or a session that is not accepted is refused. */
export class AskWhoCalls extends HttpApiMiddleware.Tag<AskWhoCalls>()("headgate/AskWhoCalls", {
  failure,
  provides: CallerOrNobody,
  security,
}) {
  static readonly layer = Layer.effect(
    AskWhoCalls,
    Effect.map(callers, (current) => ({
      bearer: () =>
        Effect.catchTag(current, "KeyMissing", (missing) =>
          Effect.flatMap(HttpServerRequest.HttpServerRequest, ({ headers }) =>
            // A malformed header is a key that is not accepted.
            headers["authorization"] === undefined ? Effect.succeed(null) : missing,
          ),
        ),
    })),
  )
}

/** A management key whose role has the operation. */
export class AuthorizeManagement extends HttpApiMiddleware.Tag<AuthorizeManagement>()("headgate/AuthorizeManagement", {
  failure,
  provides: CurrentKey,
  security,
}) {
  static readonly layer = Layer.effect(
    AuthorizeManagement,
    Effect.map(callers, (current) => ({
      bearer: () =>
        Effect.gen(function* () {
          const { key } = yield* current
          const role = roleOf(key)
          if (role === null) return yield* managersOnly
          const refusal = roleRefusal(role, roleFor((yield* Answering)?.route))
          return refusal === undefined ? key : yield* refusal
        }),
    })),
  )
}

const managersOnly = new NotPermitted({ rule: "Only management keys can perform this operation." })
