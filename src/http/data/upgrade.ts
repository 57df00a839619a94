/**
 * `GET` of a path that takes `POST`. A client that asks for a WebSocket gets 426 once its key is known: Codex then goes on over HTTP at
 * once, where at 404 it tries seven times in seven seconds (0.169.0, 2026-11). Any other `GET` gets 404.
 */
import * as Exit from "effect/Exit"
import { type Failure, Unavailable, UpgradeRequired } from "../../domain/failures/Failure.ts"
import { type Steps, unwrap } from "../../services/request/Steps.ts"
import { authenticateWithin, managementKey } from "../authenticate.ts"
import { noSuchRoute } from "../wrongPaths.ts"
import type { AdmissionServices } from "./admission.ts"
import type { Respond } from "./Respond.ts"

/** It calls nobody, so it does not count against the key's rate limit, which the request over HTTP is for. */
export const makeUpgradeRoute = ({
  runner,
  keys,
  inFlight,
}: Pick<AdmissionServices, "runner" | "keys" | "inFlight">): Respond<unknown> =>
  function* (_form, state, request, watchCaller): Steps<Response, Failure> {
    if (!asksForWebSocket(request.headers)) return yield* Exit.fail(noSuchRoute)
    const lifetime = inFlight.admit()
    if (lifetime instanceof Unavailable) return yield* Exit.fail(lifetime)
    state.lifetime = lifetime
    watchCaller(lifetime)
    const key = yield* unwrap(authenticateWithin(runner, lifetime, keys, request.headers))
    if (key.kind !== "ordinary") return yield* Exit.fail(managementKey)
    return yield* Exit.fail(new UpgradeRequired())
  }

/** Whether one of the protocols that the client would change to is WebSocket, in whichever case (RFC 6455, 4.2.1). */
const asksForWebSocket = (headers: Headers): boolean =>
  (headers.get("upgrade") ?? "").split(",").some((protocol) => protocol.trim().toLowerCase() === "websocket")
