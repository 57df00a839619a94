/** `Connection: close` on every answer once the gateway is about to stop. See docs/guarantees.md#g19. */
import * as HttpServerResponse from "@effect/platform/HttpServerResponse"

interface Stopping {
  readonly stopping: () => boolean
}

/** Tells the caller, or the balancer between, not to send the next request over this connection. */
export const closedByStop = (inFlight: Stopping, response: Response): Response => {
  if (inFlight.stopping()) response.headers.set("connection", "close")
  return response
}

/** The same for answers of the platform's router. */
export const routedClosedByStop =
  (inFlight: Stopping) =>
  (response: HttpServerResponse.HttpServerResponse): HttpServerResponse.HttpServerResponse =>
    inFlight.stopping() ? HttpServerResponse.setHeader(response, "connection", "close") : response
