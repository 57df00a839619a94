/** Authentication and authorization on the control plane. See docs/guarantees.md#g25. */
import * as HttpApiMiddleware from "@effect/platform/HttpApiMiddleware"
import * as HttpApiSecurity from "@effect/platform/HttpApiSecurity"
import * as HttpServerRequest from "@effect/platform/HttpServerRequest"
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Schema from "effect/Schema"
import { NotPermitted, Unavailable } from "../../domain/failures/Failure.ts"
import type { KeyRecord } from "../../domain/keys/key.ts"
import { KeyStore } from "../../services/keys/KeyStore.ts"
import { Answering } from "../answer.ts"
import { authenticate } from "../authenticate.ts"
import { addressOf, CallerAddresses } from "../CallerAddresses.ts"
import { notAccepted, notPermitted, unavailable } from "../refusals.ts"

/** The key of the request being served. */
export class CurrentKey extends Context.Tag("headgate/CurrentKey")<CurrentKey, KeyRecord>() {}

/** Both schemes of the API (`Authorization: Bearer`, `x-api-key`) are read in one place, so only one is declared. */
const security = { bearer: HttpApiSecurity.bearer }

/** Finds out whose the request is. */
const callers = Effect.map(Effect.all([KeyStore, CallerAddresses]), ([keys, addresses]) =>
  Effect.flatMap(HttpServerRequest.HttpServerRequest, (request) =>
    Effect.timeoutFail(authenticate(keys, new Headers(request.headers)), {
      duration: "30 seconds",
      onTimeout: () => new Unavailable({ why: "callers", retryAfterSeconds: 1 }),
    }).pipe(
      Effect.tap(noteKey),
      Effect.tap((key) => addresses.refusal(key, () => addressOf(addresses, request)) ?? Effect.void),
    ),
  ),
)

/** Any valid key. */
export class Authorize extends HttpApiMiddleware.Tag<Authorize>()("headgate/Authorize", {
  failure: Schema.Union(notAccepted, notPermitted, unavailable),
  provides: CurrentKey,
  security,
}) {
  static readonly layer = Layer.effect(
    Authorize,
    Effect.map(callers, (current) => ({ bearer: () => current })),
  )
}

/** A management key. */
export class AuthorizeManagement extends HttpApiMiddleware.Tag<AuthorizeManagement>()("headgate/AuthorizeManagement", {
  failure: Schema.Union(notAccepted, notPermitted, unavailable),
  provides: CurrentKey,
  security,
}) {
  static readonly layer = Layer.effect(
    AuthorizeManagement,
    Effect.map(callers, (current) => ({
      bearer: () =>
        Effect.filterOrFail(
          current,
          ({ kind }) => kind === "management",
          () => managersOnly,
        ),
    })),
  )
}

const managersOnly = new NotPermitted({ rule: "Only management keys can perform this operation." })

/** Whoever observes the request is told whose it is. */
const noteKey = (key: KeyRecord) =>
  Effect.map(Answering, (served) => {
    if (served !== undefined) served.key = key
  })
