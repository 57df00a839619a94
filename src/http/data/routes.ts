/** The data plane's routes: a handler for each path, for Bun's own routes, or mounted in any Effect HTTP app. */
import * as HttpLayerRouter from "@effect/platform/HttpLayerRouter"
import * as HttpServerRequest from "@effect/platform/HttpServerRequest"
import * as HttpServerResponse from "@effect/platform/HttpServerResponse"
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Option from "effect/Option"
import { formPaths } from "../../domain/request/forms.ts"
import { messages } from "../../formats/messages/messagesClient.ts"
import { responses } from "../../formats/responses/responsesClient.ts"
import type { RequestEnds } from "../../services/request/RequestEnds.ts"
import { answering, isSpelled, unobservedAnswer } from "../answer.ts"
import type { CallerAddresses, PeerSource } from "../CallerAddresses.ts"
import { allowOrigin, preflight } from "../cors.ts"
import { countTokensPath, explainPath, formPath, type Path } from "../dataPaths.ts"
import { Mount } from "../Mount.ts"
import { noSuchRoute } from "../wrongPaths.ts"
import { countRoute } from "./CountRequest.ts"
import { type DataHandler, DataHandlers } from "./DataHandlers.ts"
import { explainRoute } from "./ExplainRequest.ts"
import { forms } from "./forms.ts"
import { modelRoute } from "./ModelRequest.ts"
import { upgradeRoute } from "./UpgradeRequest.ts"

/** Handlers of `POST` and of `GET` by path, and of CORS preflight requests. Every path with a `GET` has a `POST`. */
export class DataPlane extends Context.Tag("headgate/DataPlane")<
  DataPlane,
  {
    readonly handlers: ReadonlyMap<Path, DataHandler>
    readonly getHandlers: ReadonlyMap<Path, DataHandler>
    readonly preflight: (request: Request) => Response
  }
>() {
  static readonly layer = ({ corsOrigins }: { readonly corsOrigins: ReadonlyArray<string> }) =>
    Layer.effect(
      DataPlane,
      Effect.map(DataHandlers, ({ handler }) => {
        const allow = allowOrigin(corsOrigins)
        const handlers = new Map<Path, DataHandler>()
        for (const name of formPaths.keys()) {
          const path = formPath(name)
          handlers.set(path, handler(modelRoute(path, forms[name]), allow))
        }
        handlers.set(explainPath, handler(explainRoute(explainPath), allow))
        handlers.set(countTokensPath, handler(countRoute(countTokensPath, messages), allow))
        // Responses is the one form that vendors serve over WebSocket too.
        const path = formPath("responses")
        const getHandlers = new Map<Path, DataHandler>([[path, handler(upgradeRoute(path, responses), allow)]])
        return { handlers, getHandlers, preflight: (request) => preflight(allow, request) }
      }),
    )
}

/** Mounts the data plane in any Effect HTTP app. Bun's own routes are faster; `Gateway.serve` uses them. */
export const dataRoutes: Layer.Layer<
  never,
  never,
  CallerAddresses | DataPlane | HttpLayerRouter.HttpRouter | Mount | RequestEnds
> = HttpLayerRouter.use((router) =>
  Effect.gen(function* () {
    const plane = yield* DataPlane
    const { prefix } = yield* Mount
    const answered = yield* answering
    const mounted =
      (path: Path, route: string, { effect }: DataHandler) =>
      (request: HttpServerRequest.HttpServerRequest) =>
        isSpelled(path, request.url)
          ? Effect.map(
              Effect.flatMap(webOf(request), (web) => effect(web, peersOf(request))),
              HttpServerResponse.raw,
            )
          : answered(route, noSuchRoute)
    for (const [own, handler] of plane.getHandlers) {
      const path: Path = `${prefix}${own}`
      yield* router.add("GET", path, mounted(path, `GET ${own}`, handler))
    }
    for (const [own, handler] of plane.handlers) {
      const path: Path = `${prefix}${own}`
      yield* router.add("POST", path, mounted(path, `POST ${own}`, handler))
      yield* router.add("OPTIONS", path, (request) =>
        isSpelled(path, request.url)
          ? Effect.map(webOf(request), (web) => HttpServerResponse.raw(plane.preflight(web)))
          : unobservedAnswer(noSuchRoute),
      )
    }
  }),
)

const peersOf = (request: HttpServerRequest.HttpServerRequest): PeerSource => ({
  requestIP: () => Option.match(request.remoteAddress, { onNone: () => null, onSome: (address) => ({ address }) }),
})

/** The underlying web request. A server without one is not supported. */
const webOf = (request: HttpServerRequest.HttpServerRequest): Effect.Effect<Request> =>
  Effect.orDie(HttpServerRequest.toWeb(request))
