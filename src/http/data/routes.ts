/** The data plane's routes: path by path, as functions `Request → Effect<Response>` that can be mounted anywhere. */
import * as HttpLayerRouter from "@effect/platform/HttpLayerRouter"
import * as HttpServerRequest from "@effect/platform/HttpServerRequest"
import * as HttpServerResponse from "@effect/platform/HttpServerResponse"
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import { answered, noSuchRoute } from "../control/answer.ts"
import { allowOrigin, preflight } from "../cors.ts"
import { chat } from "./chat.ts"
import { type ClientForm, Inference, type InferenceHandler } from "./inference.ts"

const forms: Readonly<Record<`/${string}`, ClientForm>> = {
  "/api/v1/chat/completions": chat,
}

/** Handlers of `POST` by path, and what answers a browser's question before it. */
export class DataPlane extends Context.Tag("headgate/DataPlane")<
  DataPlane,
  {
    readonly handlers: ReadonlyMap<`/${string}`, InferenceHandler>
    readonly preflight: (request: Request) => Response
  }
>() {
  static readonly layer = ({ corsOrigins }: { readonly corsOrigins: ReadonlyArray<string> }) =>
    Layer.effect(
      DataPlane,
      Effect.map(Inference, ({ handler }) => {
        const allow = allowOrigin(corsOrigins)
        const handlers = Object.entries(forms).map(([path, form]) => {
          const handle = handler(form)
          return [
            path as `/${string}`,
            (request: Request) => Effect.map(handle(request), (response) => allow(request, response)),
          ] as const
        })
        return { handlers: new Map(handlers), preflight: (request) => preflight(allow, request) }
      }),
    )
}

/** Mounts the data plane in any Effect HTTP app. Bun's own routes are faster; `Gateway.serve` uses them. */
export const dataRoutes: Layer.Layer<never, never, DataPlane | HttpLayerRouter.HttpRouter> = HttpLayerRouter.use(
  (router) =>
    Effect.gen(function* () {
      const plane = yield* DataPlane
      for (const [path, handle] of plane.handlers) {
        yield* router.add("POST", path, (request) =>
          isSpelled(path, request)
            ? Effect.map(Effect.flatMap(webOf(request), handle), HttpServerResponse.raw)
            : answered(noSuchRoute),
        )
        yield* router.add("OPTIONS", path, (request) =>
          isSpelled(path, request)
            ? Effect.map(webOf(request), (web) => HttpServerResponse.raw(plane.preflight(web)))
            : answered(noSuchRoute),
        )
      }
    }),
)

/** As `spelledAs` of the control plane: the router takes more spellings of a path than whatever looks at paths in front of us. */
const isSpelled = (path: string, { url }: HttpServerRequest.HttpServerRequest): boolean => url.split("?", 1)[0] === path

/** The web request inside: a server that has none to give is no server of ours. */
const webOf = (request: HttpServerRequest.HttpServerRequest): Effect.Effect<Request> =>
  Effect.orDie(HttpServerRequest.toWeb(request))
