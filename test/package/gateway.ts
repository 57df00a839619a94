/** The gateway of `app.ts`, in a file that needs no types of Bun. */
import * as HttpLayerRouter from "@effect/platform/HttpLayerRouter"
import * as HttpServer from "@effect/platform/HttpServer"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import { Gateway, KeyId, KeyStore, memoryStorage, Upstream } from "headgate"
import { GatewayClient } from "headgate/client"
import { HostFailed, type HostReason } from "headgate/plugin"
import type { BedrockConfig } from "headgate/providers/bedrock"
import echo from "headgate/providers/echo"
import openai from "headgate/providers/openai"
import price from "headgate/strategies/price"
import { type Check, providerChecks } from "headgate/testing"

const everyone = KeyStore.layerFrom(() => Effect.succeed({ id: KeyId.make("everyone") }))

export const { handler, dispose } = HttpLayerRouter.toWebHandler(
  Gateway.routes.pipe(
    Layer.provide(Gateway.services({ plugins: [echo, openai, price], config: { routing: { strategy: "price" } } })),
    Layer.provide([everyone, Upstream.layer, memoryStorage]),
    Layer.provide(HttpServer.layerContext),
  ),
  { disableLogger: true },
)

export const client = GatewayClient.layer
export const checks: ReadonlyArray<Check> = await providerChecks({ plugin: echo })
export const reason: HostReason = new HostFailed({ reason: "account" }).reason
/** A type that a plugin of the package exports. */
export const region: BedrockConfig["region"] = "us-east-1"
