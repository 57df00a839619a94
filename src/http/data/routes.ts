/** The data plane's routes: a handler for each path, for Bun's own routes, or mounted in any Effect HTTP app. */
import * as HttpLayerRouter from "@effect/platform/HttpLayerRouter"
import * as HttpServerRequest from "@effect/platform/HttpServerRequest"
import * as HttpServerResponse from "@effect/platform/HttpServerResponse"
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Option from "effect/Option"
import { formRoutes, type RoutePath, routeName } from "../../domain/request/forms.ts"
import { chatErrorBody } from "../../formats/errorBody.ts"
import { generateContent } from "../../formats/generateContent/generateContentClient.ts"
import { messages } from "../../formats/messages/messagesClient.ts"
import { responses } from "../../formats/responses/responsesClient.ts"
import { leadOf, otherLead, parameterIn } from "../../formats/Target.ts"
import type { RequestEnds } from "../../services/request/RequestEnds.ts"
import { answering, isSpelled, unobservedAnswer } from "../answer.ts"
import type { CallerAddresses, PeerSource } from "../CallerAddresses.ts"
import { allowOrigin, preflight } from "../cors.ts"
import {
  countTokensOfModelPath,
  countTokensPath,
  explainPath,
  formPath,
  googleModelsPaths,
  type Path,
} from "../dataPaths.ts"
import { Mount } from "../Mount.ts"
import { noSuchRoute } from "../wrongPaths.ts"
import { countRoute } from "./CountRequest.ts"
import { type DataHandler, DataHandlers } from "./DataHandlers.ts"
import type { DataRoute } from "./DataRequest.ts"
import { explainRoute } from "./ExplainRequest.ts"
import { forms } from "./forms.ts"
import { googleModelsRoute } from "./GoogleModels.ts"
import { modelRoute } from "./ModelRequest.ts"
import { noRoute, upgradeRoute } from "./UpgradeRequest.ts"
import { withoutGoogleKey } from "./withoutGoogleKey.ts"

type Handlers = ReadonlyMap<RoutePath, DataHandler>

/** The handlers of one path of a router, which ends with `*` where routes have a parameter there. */
export interface Mounted {
  readonly POST?: DataHandler
  readonly GET?: DataHandler
}

/** Handlers of `POST` and of `GET` by path, the same as routers mount them, and the handler of CORS preflight requests. */
export class DataPlane extends Context.Tag("headgate/DataPlane")<
  DataPlane,
  {
    readonly handlers: Handlers
    readonly getHandlers: Handlers
    readonly mounts: ReadonlyMap<Path, Mounted>
    readonly preflight: (request: Request) => Response
  }
>() {
  static readonly layer = ({ corsOrigins }: { readonly corsOrigins: ReadonlyArray<string> }) =>
    Layer.effect(
      DataPlane,
      Effect.map(DataHandlers, ({ handler }) => {
        const allow = allowOrigin(corsOrigins)
        const handlers = new Map<RoutePath, DataHandler>()
        for (const [name, routes] of formRoutes) {
          for (const route of routes) handlers.set(route.path, handler(modelRoute(route, forms[name]), allow))
        }
        handlers.set(explainPath, handler(explainRoute(explainPath), allow))
        handlers.set(countTokensPath, handler(countRoute(countTokensPath, messages, inputTokens), allow))
        handlers.set(
          countTokensOfModelPath,
          handler(countRoute(countTokensOfModelPath, generateContent, totalTokens), allow),
        )
        // Responses is the one form that vendors serve over WebSocket too.
        const path = formPath("responses")
        const getHandlers = new Map<RoutePath, DataHandler>([
          [path, handler(upgradeRoute(path, responses), allow)],
          ...googleModelsPaths.map((each) => [each, handler(googleModelsRoute(each), allow)] as const),
        ])
        const mounts = mountsOf(handlers, getHandlers, (method) =>
          handler(noRoute(method, generateContent.error), allow),
        )
        return { handlers, getHandlers, mounts, preflight: (request) => preflight(allow, request) }
      }),
    )
}

const totalTokens = (tokens: number) => ({ totalTokens: tokens })
const inputTokens = (tokens: number) => ({ input_tokens: tokens })

/** `elsewhere`: for paths that are none of the routes with a parameter. */
const mountsOf = (
  posts: Handlers,
  gets: Handlers,
  elsewhere: (method: string, error: DataRoute["error"]) => DataHandler,
): ReadonlyMap<Path, Mounted> => {
  const mounts = new Map<Path, Mounted>()
  for (const path of [...posts.keys(), ...gets.keys()]) {
    const lead = leadOf(path)
    if (lead === path) {
      const [POST, GET] = [posts.get(path), gets.get(path)]
      mounts.set(path, { ...(POST === undefined ? {} : { POST }), ...(GET === undefined ? {} : { GET }) })
      continue
    }
    const below = (handlers: Handlers) => [...handlers].filter(([each]) => each !== lead && leadOf(each) === lead)
    const mounted = (error: DataRoute["error"]) => ({
      POST: choosing(below(posts), elsewhere("POST", error)),
      ...(below(gets).length === 0 ? {} : { GET: choosing(below(gets), elsewhere("GET", error)) }),
    })
    mounts.set(`/${lead.slice(1)}*`, mounted(generateContent.error))
    // Other paths there are of the control plane, so `GET` is left to it.
    mounts.set(`/${otherLead(lead).slice(1)}*`, { POST: mounted(chatErrorBody).POST })
  }
  return mounts
}

/** The handler of whichever route has the path of a request. */
const choosing = (routes: ReadonlyArray<readonly [RoutePath, DataHandler]>, elsewhere: DataHandler): DataHandler => {
  // The text behind a parameter may be the end of another one.
  const longestFirst = routes.toSorted(([one], [other]) => other.length - one.length)
  const handlerOf = ({ url }: Request): DataHandler =>
    longestFirst.find(([path]) => parameterIn(path, url) !== undefined)?.[1] ?? elsewhere
  return {
    effect: (request, peers) => handlerOf(request).effect(request, peers),
    native: (request, isCallerGone, peers) => handlerOf(request).native(request, isCallerGone, peers),
  }
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
        isMounted(path, request.url)
          ? Effect.map(
              Effect.flatMap(webOf(request), (web) => withoutGoogleKey(web, effect(web, peersOf(request)))),
              HttpServerResponse.raw,
            )
          : answered(route, noSuchRoute)
    for (const [own, { POST, GET }] of plane.mounts) {
      const path: Path = `${prefix}${own}`
      if (GET !== undefined) yield* router.add("GET", path, mounted(path, routeName("GET", own), GET))
      if (POST !== undefined) yield* router.add("POST", path, mounted(path, routeName("POST", own), POST))
      yield* router.add("OPTIONS", path, (request) =>
        isMounted(path, request.url)
          ? Effect.map(webOf(request), (web) => HttpServerResponse.raw(plane.preflight(web)))
          : unobservedAnswer(noSuchRoute),
      )
    }
  }),
)

/** The spelling of a path with a parameter is looked at where its handler is chosen. */
const isMounted = (path: Path, url: string): boolean => path.endsWith("*") || isSpelled(path, url)

const peersOf = (request: HttpServerRequest.HttpServerRequest): PeerSource => ({
  requestIP: () => Option.match(request.remoteAddress, { onNone: () => null, onSome: (address) => ({ address }) }),
})

/** The underlying web request. A server without one is not supported. */
const webOf = (request: HttpServerRequest.HttpServerRequest): Effect.Effect<Request> =>
  Effect.orDie(HttpServerRequest.toWeb(request))
