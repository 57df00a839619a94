/**
 * A typed client of a running gateway: `headgate/client`. Its operations are those of the gateway's own HttpApi, group by group:
 * `keys.create`, `activity.activity`, `models.list`. For calls to models use a client of the form that you speak (docs/clients.md).
 */

import type * as HttpApi from "@effect/platform/HttpApi"
import * as HttpApiClient from "@effect/platform/HttpApiClient"
import type * as HttpApiEndpoint from "@effect/platform/HttpApiEndpoint"
import type * as HttpApiGroup from "@effect/platform/HttpApiGroup"
import * as HttpClient from "@effect/platform/HttpClient"
import type * as HttpClientError from "@effect/platform/HttpClientError"
import * as HttpClientRequest from "@effect/platform/HttpClientRequest"
import * as HttpClientResponse from "@effect/platform/HttpClientResponse"
import * as Context from "effect/Context"
import * as Data from "effect/Data"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import type * as ParseResult from "effect/ParseResult"
import type * as Redacted from "effect/Redacted"
import * as Schema from "effect/Schema"
import { Api } from "./http/control/Api.ts"
import { Installation } from "./http/control/Installation.ts"
import { Explanation } from "./http/data/Explanation.ts"

export type { Explanation } from "./http/data/Explanation.ts"

/** The gateway answered with an error. */
export class GatewayRefused extends Data.TaggedError("GatewayRefused")<{
  /** The HTTP status. */
  readonly status: number
  readonly message: string
  /** What the error body says besides, such as `issues` of a wrong request. */
  readonly metadata: Readonly<Record<string, unknown>>
}> {}

/** Besides refusals: the gateway could not be reached, or answered what this version does not know. */
export type CallFailure = GatewayRefused | HttpClientError.HttpClientError | ParseResult.ParseError

export interface ClientOptions {
  /** The gateway's address, with the prefix of its routes if it has one: `http://127.0.0.1:8787`, `https://acme.example/llm`. */
  readonly url: string
  /** A management key for keys, activity and credits. */
  readonly key: Redacted.Redacted
}

type Method<Endpoint> =
  Endpoint extends HttpApiEndpoint.HttpApiEndpoint<
    infer _Name,
    infer _Method,
    infer Path,
    infer UrlParams,
    infer Payload,
    infer Headers,
    infer Success,
    infer _Error,
    infer _R,
    infer _RE
  >
    ? (
        request: HttpApiEndpoint.HttpApiEndpoint.ClientRequest<Path, UrlParams, Payload, Headers, false>,
      ) => Effect.Effect<Success, CallFailure>
    : never

type Methods<Group extends HttpApiGroup.HttpApiGroup.Any> = {
  readonly [Endpoint in HttpApiGroup.HttpApiGroup.Endpoints<Group> as Endpoint["name"]]: Method<Endpoint>
}

type Groups = typeof Api extends HttpApi.HttpApi<infer _Id, infer G, infer _E, infer _R> ? G : never

/** The operations of the API's description, by group and name. */
type Operations = { readonly [Group in Groups as Group["identifier"]]: Methods<Group> }

export interface ExplainOptions {
  /** The form of the body by its name, such as `embeddings`; docs/routing.md has all. Default: `chat`. */
  readonly form?: string
  /** Repeats the random draws of an earlier plan. */
  readonly seed?: number
  /** The key to explain for, by its hash; for a management key, else it explains for a key without limits and rules. */
  readonly keyHash?: string
}

export interface Client extends Operations {
  /** How this body would be routed now. */
  readonly explain: (
    body: { readonly model: string } & Readonly<Record<string, unknown>>,
    options?: ExplainOptions,
  ) => Effect.Effect<Explanation, CallFailure>
}

export class GatewayClient extends Context.Tag("headgate/GatewayClient")<GatewayClient, Client>() {
  /** `HttpClient`: the app's own, such as `FetchHttpClient.layer`. */
  static readonly layer = (options: ClientOptions): Layer.Layer<GatewayClient, never, HttpClient.HttpClient> =>
    Layer.effect(GatewayClient, makeClient(options))
}

/** The same without a layer, for an app that speaks to several gateways. */
export const makeClient = ({ url, key }: ClientOptions): Effect.Effect<Client, never, HttpClient.HttpClient> =>
  Effect.gen(function* () {
    const platform = yield* HttpClient.HttpClient
    const httpClient = platform.pipe(
      HttpClient.mapRequest((request) =>
        request.pipe(
          HttpClientRequest.prependUrl(url.replace(/\/+$/, "")),
          HttpClientRequest.bearerToken(key),
          HttpClientRequest.acceptJson,
        ),
      ),
      HttpClient.transformResponse(Effect.flatMap(accepted)),
    )
    const operations = yield* HttpApiClient.makeWith(Api, { httpClient }).pipe(
      // Whether a workspace is the installation's own is checked by the gateway, not here.
      Effect.provideService(Installation, ""),
    )
    const explain: Client["explain"] = (body, { form, seed, keyHash } = {}) =>
      HttpClientRequest.post("/api/v1/route/explain").pipe(
        HttpClientRequest.setUrlParams({ form, seed, key_hash: keyHash }),
        HttpClientRequest.bodyUnsafeJson(body),
        httpClient.execute,
        Effect.flatMap(HttpClientResponse.schemaBodyJson(Schema.Struct({ data: Explanation }))),
        Effect.map(({ data }) => data),
        Effect.scoped,
      )
    // The failures that the API declares do not come: `accepted` has read each of them.
    return { ...(operations as Operations), explain }
  })

const ErrorBody = Schema.Struct({
  error: Schema.Struct({
    message: Schema.String,
    metadata: Schema.optionalWith(Schema.Record({ key: Schema.String, value: Schema.Unknown }), {
      default: () => ({}),
    }),
  }),
})

const accepted = (response: HttpClientResponse.HttpClientResponse) =>
  response.status < 400
    ? Effect.succeed(response)
    : HttpClientResponse.schemaBodyJson(ErrorBody)(response).pipe(
        Effect.flatMap(({ error }) => new GatewayRefused({ status: response.status, ...error })),
      )
