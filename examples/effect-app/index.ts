/**
 * A small app that serves the gateway beside its own page. The app decides who may call, the configuration lists the
 * hosts, and everything is kept in memory. `bun examples/effect-app/index.ts` serves it on port 3000.
 */
import * as HttpLayerRouter from "@effect/platform/HttpLayerRouter"
import * as HttpServerResponse from "@effect/platform/HttpServerResponse"
import * as BunHttpServer from "@effect/platform-bun/BunHttpServer"
import * as BunRuntime from "@effect/platform-bun/BunRuntime"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Redacted from "effect/Redacted"
import { Gateway, KeyId, KeyNotAccepted, KeyStore, memoryStorage, Upstream } from "headgate"
import echo from "headgate/providers/echo"

const Home = HttpLayerRouter.add("GET", "/", HttpServerResponse.text("our own page"))

/** The app's own authentication, in place of the gateway's keys. */
const OurKeys = KeyStore.layerFrom((secret) =>
  Redacted.value(secret) === "a-session-of-ours"
    ? Effect.succeed({ id: KeyId.make("staff"), name: "staff" })
    : Effect.fail(new KeyNotAccepted()),
)

const OurGateway = Gateway.services({
  plugins: [echo],
  config: { aliases: { ours: "headgate/echo" } },
  strategy: (candidates) => candidates,
})

/** Every route of the app. */
export const App = Layer.mergeAll(Home, Gateway.routes)

/**
 * The app on a port, with everything that the gateway needs from outside: a missing service would not compile. When it stops, running
 * requests end first. By default Bun closes a connection after ten silent seconds; a model may think for longer.
 */
export const serve = (port: number) =>
  Gateway.drained(
    HttpLayerRouter.serve(App).pipe(Layer.provideMerge(BunHttpServer.layer({ port, idleTimeout: 0 }))),
  ).pipe(Layer.provide(OurGateway), Layer.provide([OurKeys, Upstream.layer, memoryStorage]))

if (import.meta.main) BunRuntime.runMain(Layer.launch(serve(3000)))
