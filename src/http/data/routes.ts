/** The data plane's routes: path by path, as functions `Request → Effect<Response>` that can be mounted anywhere. */

import * as HttpLayerRouter from "@effect/platform/HttpLayerRouter"
import * as HttpServerRequest from "@effect/platform/HttpServerRequest"
import * as HttpServerResponse from "@effect/platform/HttpServerResponse"
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import { formPaths } from "../../domain/request/forms.ts"
import type { RequestEnds } from "../../services/request/RequestEnds.ts"
import { answering, isSpelled, preflightAnswer } from "../answer.ts"
import { allowOrigin, preflight } from "../cors.ts"
import { countTokensPath, explainPath, formPath, type Path } from "../dataPaths.ts"
import { Mount } from "../Mount.ts"
import { noSuchRoute } from "../wrongPaths.ts"
import { counting } from "./countTokens.ts"
import { explanation } from "./explain.ts"
import { forms } from "./forms.ts"
import { Inference, type InferenceHandler } from "./Inference.ts"
import { inference } from "./infer.ts"
import { messages } from "./messages/index.ts"
import { responses } from "./responses/index.ts"
import { upgrade } from "./upgrade.ts"

/** Handlers of `POST` and of `GET` by path, and of CORS preflight requests. Every path with a `GET` has a `POST`. */
export class DataPlane extends Context.Tag("headgate/DataPlane")<
  DataPlane,
  {
    readonly handlers: ReadonlyMap<Path, InferenceHandler>
    readonly getHandlers: ReadonlyMap<Path, InferenceHandler>
    readonly preflight: (request: Request) => Response
  }
>() {
  static readonly layer = ({ corsOrigins }: { readonly corsOrigins: ReadonlyArray<string> }) =>
    Layer.effect(
      DataPlane,
      Effect.map(Inference, ({ handler }) => {
        const allow = allowOrigin(corsOrigins)
        const handlers = new Map<Path, InferenceHandler>()
        for (const name of formPaths.keys()) {
          const path = formPath(name)
          handlers.set(path, handler(inference(path, forms[name]), allow))
        }
        handlers.set(explainPath, handler(explanation(explainPath), allow))
        handlers.set(countTokensPath, handler(counting(countTokensPath, messages), allow))
        // Responses is the one form that vendors serve over WebSocket too.
        const path = formPath("responses")
        const getHandlers = new Map<Path, InferenceHandler>([[path, handler(upgrade(path, responses), allow)]])
        return { handlers, getHandlers, preflight: (request) => preflight(allow, request) }
      }),
    )
}

/** Mounts the data plane in any Effect HTTP app. Bun's own routes are faster; `Gateway.serve` uses them. */
export const dataRoutes: Layer.Layer<never, never, DataPlane | HttpLayerRouter.HttpRouter | Mount | RequestEnds> =
  HttpLayerRouter.use((router) =>
    Effect.gen(function* () {
      const plane = yield* DataPlane
      const { prefix } = yield* Mount
      const answered = yield* answering
      const mounted =
        (path: Path, route: string, { effect }: InferenceHandler) =>
        (request: HttpServerRequest.HttpServerRequest) =>
          isSpelled(path, request.url)
            ? Effect.map(Effect.flatMap(webOf(request), effect), HttpServerResponse.raw)
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
            : preflightAnswer(noSuchRoute),
        )
      }
    }),
  )

/** The underlying web request. A server without one is not supported. */
const webOf = (request: HttpServerRequest.HttpServerRequest): Effect.Effect<Request> =>
  Effect.orDie(HttpServerRequest.toWeb(request))
