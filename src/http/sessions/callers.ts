/**
 * Who calls, where a session may stand in for a key: the control plane, and `POST /route/explain`. The only place that reads the cookie.
 * A key in a header comes first, and then no cookie is looked at.
 */
import * as Effect from "effect/Effect"
import type { KeyMissing, KeyNotAccepted, NotPermitted, Unavailable } from "../../domain/failures/Failure.ts"
import type { KeyRecord } from "../../domain/keys/key.ts"
import type { Authenticator } from "../../services/keys/KeyStore.ts"
import type { OpenSession, Sessions } from "../../services/keys/Sessions.ts"
import { authenticate } from "../authenticate.ts"
import { presentedKey } from "../headers.ts"
import { sessionIn } from "./cookie.ts"
import { foreignPage, isFromOwnPage, placeOf } from "./place.ts"

export interface Caller {
  readonly key: KeyRecord
  /** `undefined`: the request has the key itself. */
  readonly session: OpenSession | undefined
}

/** The parts of a request that say who calls. */
export type Asking = Pick<Request, "method" | "url" | "headers">

export type FindCaller = (
  request: Asking,
) => Effect.Effect<Caller, KeyMissing | KeyNotAccepted | NotPermitted | Unavailable>

/** `publicUrl`: `server.public_url`. */
export const findCaller =
  (keys: Authenticator, sessions: Sessions["Type"], publicUrl: string | null): FindCaller =>
  (request) => {
    const { headers } = request
    const place = placeOf(publicUrl, request.url)
    const id = presentedKey(headers) === undefined ? sessionIn(headers, place) : undefined
    if (id === undefined) return Effect.map(authenticate(keys, headers), (key) => ({ key, session: undefined }))
    if (!isFromOwnPage(request, place)) return foreignPage
    return Effect.map(sessions.find(id), (session) => ({ key: session.key, session }))
  }
