/** A listener for `/metrics` alone, where the configuration gives it a port of its own. */
import * as HttpServer from "@effect/platform/HttpServer"
import * as HttpServerRequest from "@effect/platform/HttpServerRequest"
import * as BunHttpServer from "@effect/platform-bun/BunHttpServer"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import type { GatewayConfig } from "../config/GatewayConfig.ts"
import { isSpelled, unobservedAnswer } from "../http/answer.ts"
import type { CallerAddresses } from "../http/CallerAddresses.ts"
import type { ControlSettings } from "../http/control/ControlSettings.ts"
import { metricsAnswer, metricsPath } from "../http/metricsAnswer.ts"
import { noSuchRoute } from "../http/wrongPaths.ts"
import { logEvent } from "../process/log/logEvent.ts"
import type { KeyStore } from "../services/keys/KeyStore.ts"
import { Metrics } from "../services/metrics/Metrics.ts"

/** With several workers each of them listens, and answers for all. */
export const metricsListener = ({
  metrics: { enabled, hostname, port },
  workers,
}: GatewayConfig["server"]): Layer.Layer<never, never, CallerAddresses | ControlSettings | KeyStore | Metrics> =>
  port === null || !enabled
    ? Layer.empty
    : serving.pipe(Layer.provide(BunHttpServer.layer({ hostname, port, reusePort: workers > 1 })))

const serving = Layer.unwrapEffect(
  Effect.gen(function* () {
    const answer = yield* metricsAnswer(yield* Metrics)
    const operation = Effect.gen(function* () {
      const { method, url } = yield* HttpServerRequest.HttpServerRequest
      if ((method !== "GET" && method !== "HEAD") || !isSpelled(metricsPath, url)) return yield* noSuchRoute
      return yield* answer
    })
    return Layer.merge(HttpServer.serve(unobservedAnswer(operation)), logged)
  }),
)

const logged = Layer.effectDiscard(
  HttpServer.addressFormattedWith((address) => logEvent("metrics_served", { at: `${address}${metricsPath}` })),
)
