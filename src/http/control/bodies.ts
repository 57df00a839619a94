/** Reads the bodies of requests, in bounded time and size. `HttpApi` does not: it has no bounds, and invalid JSON is a defect to it. */
import * as HttpServerRequest from "@effect/platform/HttpServerRequest"
import * as Effect from "effect/Effect"
import { ProviderRegistry } from "../../catalogue/ProviderRegistry.ts"
import { Lifetime } from "../../services/request/RequestContext.ts"
import { Timers } from "../../services/request/Timers.ts"
import { readBody } from "../readBody.ts"
import { readRequest } from "../readRequest.ts"

/** `mostBytes`: where it is to be less than what bodies may have everywhere. */
export const bodyReader = Effect.fnUntraced(function* (mostBytes = Number.POSITIVE_INFINITY) {
  const timers = yield* Timers
  const registry = yield* ProviderRegistry
  const bytesOf = Effect.fnUntraced(function* (request: HttpServerRequest.HttpServerRequest) {
    const web = yield* Effect.orDie(HttpServerRequest.toWeb(request))
    const limitBytes = Math.min(registry.current().limits.bodyBytes, mostBytes)
    const reading = readRequest(web, { limitBytes, timers, places: undefined }, new Lifetime())
    // Never: without `places` no limit of a key applies.
    return yield* Effect.catchTag(reading, "RateLimited", Effect.die)
  })
  const objectIn = (bytes: Uint8Array) => readBody(bytes, new Lifetime())
  return {
    /** The object in the body. */
    object: (request: HttpServerRequest.HttpServerRequest) => Effect.flatMap(bytesOf(request), objectIn),
    /** The same; an empty body is an empty object. */
    objectOrNothing: (request: HttpServerRequest.HttpServerRequest) =>
      Effect.flatMap(bytesOf(request), (bytes) => (bytes.length === 0 ? Effect.succeed({}) : objectIn(bytes))),
  }
})
