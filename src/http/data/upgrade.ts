/**
 * `GET` of a path that takes `POST`. A client that asks for a WebSocket gets 426 once its key is known: Codex then goes on over HTTP at
 * once, where at 404 it tries seven times in seven seconds (0.169.0, 2026-11). Any other `GET` gets 404.
 */
import * as Exit from "effect/Exit"
import { type Failure, UpgradeRequired } from "../../domain/failures/Failure.ts"
import type { Steps } from "../../services/request/Steps.ts"
import { noSuchRoute } from "../wrongPaths.ts"
import { enter } from "./admit.ts"
import type { ClientProtocol } from "./ClientProtocol.ts"
import type { DataRequest, DataRoute } from "./DataRequest.ts"
import type { DataServices } from "./DataServices.ts"

export const upgrade = (path: string, { name, error }: Pick<ClientProtocol, "name" | "error">): DataRoute => ({
  ...{ name: `GET ${path}`, form: name, error },
  respond: refuseUpgrade,
})

/** It calls nobody, so it does not count against the key's rate limit, which the request over HTTP is for. */
const callers = { kinds: "ordinary", isCounted: false } as const

const refuseUpgrade = function* (services: DataServices, request: DataRequest): Steps<Response, Failure> {
  if (!asksForWebSocket(request.http.headers)) return yield* Exit.fail(noSuchRoute)
  yield* enter(services, request, callers)
  return yield* Exit.fail(new UpgradeRequired())
}

/** Whether one of the protocols that the client would change to is WebSocket, in whichever case (RFC 6455, 4.2.1). */
const asksForWebSocket = (headers: Headers): boolean =>
  (headers.get("upgrade") ?? "").split(",").some((protocol) => protocol.trim().toLowerCase() === "websocket")
