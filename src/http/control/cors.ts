/** `http/cors.ts` for routes of the platform's router. */
import * as HttpServerRequest from "@effect/platform/HttpServerRequest"
import * as HttpServerResponse from "@effect/platform/HttpServerResponse"
import * as Effect from "effect/Effect"
import { type AllowOrigin, preflight } from "../cors.ts"

const webRequest = Effect.flatMap(HttpServerRequest.HttpServerRequest, (request) =>
  Effect.orDie(HttpServerRequest.toWeb(request)),
)

/** Lets pages of allowed origins read the answer, errors too. */
export const shared = <E, R>(allow: AllowOrigin, answer: Effect.Effect<HttpServerResponse.HttpServerResponse, E, R>) =>
  Effect.zipWith(webRequest, answer, (request, response) =>
    HttpServerResponse.setHeaders(response, allow(request, new Response()).headers),
  )

/** Answers a preflight request, which carries no key. */
export const preflighted = (allow: AllowOrigin) =>
  Effect.map(webRequest, (request) => HttpServerResponse.fromWeb(preflight(allow, request)))
