/**
 * `GET` of a path that takes `POST`. A client that asks for a WebSocket gets 426 once its key is known: Codex then goes on over HTTP at
 * once, where at 404 it tries seven times in seven seconds (0.169.0, 2026-11). Any other `GET` gets 404.
 */
import { UpgradeRequired } from "../../domain/failures/Failure.ts"
import { type RoutePath, routeName } from "../../domain/request/forms.ts"
import type { ClientFormat } from "../../formats/ClientFormat.ts"
import { noSuchRoute } from "../wrongPaths.ts"
import { DataRequest, type DataRoute } from "./DataRequest.ts"

export const upgradeRoute = (path: RoutePath, { name, error }: Pick<ClientFormat, "name" | "error">): DataRoute => {
  const route: DataRoute = {
    ...{ name: routeName("GET", path), path, form: name, error },
    receive: (services, incoming) => new UpgradeRequest(services, route, incoming),
  }
  return route
}

/** Where a path is none of the routes with a parameter. */
export const noRoute = (method: string, error: DataRoute["error"]): DataRoute => {
  const route: DataRoute = {
    ...{ name: `${method} *`, path: "/api/", form: null, error },
    receive: (services, incoming) => new NoRoute(services, route, incoming),
  }
  return route
}

class NoRoute extends DataRequest<never> {
  protected override begin(): void {
    this.fail(noSuchRoute)
  }

  protected override withinLimits(): void {}

  protected override admitted(): void {}
}

class UpgradeRequest extends DataRequest<never> {
  /** It calls nobody, so it does not count against the key's rate limit, which the request over HTTP is for. */
  protected override get isCounted(): boolean {
    return false
  }

  protected override begin(): void {
    if (asksForWebSocket(this.incoming.http.headers)) super.begin()
    else this.fail(noSuchRoute)
  }

  protected override withinLimits(): void {
    this.fail(new UpgradeRequired())
  }

  protected override admitted(): void {}
}

/** Whether one of the protocols that the client would change to is WebSocket, in whichever case (RFC 6455, 4.2.1). */
const asksForWebSocket = (headers: Headers): boolean =>
  (headers.get("upgrade") ?? "").split(",").some((protocol) => protocol.trim().toLowerCase() === "websocket")
