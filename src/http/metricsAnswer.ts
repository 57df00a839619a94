/** `GET /metrics`: the figures of the gateway as text. It needs a management key or the token for figures, unless it is open to all. */
import { timingSafeEqual } from "node:crypto"
import * as HttpServerRequest from "@effect/platform/HttpServerRequest"
import * as HttpServerResponse from "@effect/platform/HttpServerResponse"
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Redacted from "effect/Redacted"
import { NotPermitted, Unavailable } from "../domain/failures/Failure.ts"
import { type Authenticator, KeyStore } from "../services/keys/KeyStore.ts"
import { contentTypes, formFor } from "../services/metrics/exposition.ts"
import type { Metrics } from "../services/metrics/Metrics.ts"
import { authenticate } from "./authenticate.ts"
import { addressOf, CallerAddresses } from "./CallerAddresses.ts"
import { ControlSettings } from "./control/ControlSettings.ts"
import { notSniffed, presentedKey } from "./headers.ts"

/** Below the prefix of the routes. */
export const metricsPath = "/metrics"

/** The token that reads figures and nothing else; `null`: there is none. */
export class MetricsToken extends Context.Reference<MetricsToken>()("headgate/MetricsToken", {
  defaultValue: (): Redacted.Redacted | null => null,
}) {}

/** Makes the operation. It fails where the caller may not read the figures, and where those of other processes cannot be had. */
export const metricsAnswer = Effect.fnUntraced(function* (metrics: Metrics["Type"]) {
  const keys = yield* KeyStore
  const token = yield* MetricsToken
  const { openMetrics = false } = yield* ControlSettings
  const addresses = yield* CallerAddresses
  return Effect.gen(function* () {
    const request = yield* HttpServerRequest.HttpServerRequest
    const given = new Headers(request.headers)
    if (!openMetrics && !isToken(token, presentedKey(given))) {
      const key = yield* manager(keys, given)
      yield* addresses.refusal(key, () => addressOf(addresses, request)) ?? Effect.void
    }
    const form = formFor(given.get("accept"))
    const text = yield* metrics.text(form)
    if (text === undefined) return yield* new Unavailable({ why: "overloaded", retryAfterSeconds: 1 })
    return HttpServerResponse.text(text, { contentType: contentTypes[form], headers: notSniffed })
  })
})

/** Compared by hash, so that the time it takes tells nothing. */
const isToken = (token: Redacted.Redacted | null, presented: string | undefined): boolean =>
  token !== null && presented !== undefined && timingSafeEqual(hash(Redacted.value(token)), hash(presented))

const hash = (text: string): Uint8Array => Buffer.from(Bun.SHA256.hash(text, "hex"))

const manager = (keys: Authenticator, headers: Headers) =>
  authenticate(keys, headers).pipe(
    Effect.timeoutFail({
      duration: "30 seconds",
      onTimeout: () => new Unavailable({ why: "callers", retryAfterSeconds: 1 }),
    }),
    Effect.filterOrFail(
      ({ kind }) => kind === "management",
      () => new NotPermitted({ rule: "Figures are read with a management key, or with the token for them." }),
    ),
  )
