/** `GET /models`, `GET /embeddings/models` and `GET /models/{author}/{slug}/endpoints`. */
import * as HttpApi from "@effect/platform/HttpApi"
import * as HttpApiBuilder from "@effect/platform/HttpApiBuilder"
import * as HttpApiEndpoint from "@effect/platform/HttpApiEndpoint"
import * as HttpApiGroup from "@effect/platform/HttpApiGroup"
import * as HttpApiSchema from "@effect/platform/HttpApiSchema"
import * as OpenApi from "@effect/platform/OpenApi"
import * as Effect from "effect/Effect"
import * as Schema from "effect/Schema"
import type { ResolvedConfig } from "../../catalogue/ResolvedConfig.ts"
import { NotFound } from "../../domain/Failure.ts"
import type { Architecture, Host, Model } from "../../domain/Host.ts"
import { HostHealth } from "../../services/HostHealth.ts"
import { HostStats } from "../../services/HostStats.ts"
import { ProviderRegistry } from "../../services/ProviderRegistry.ts"
import { badRequest, notFound } from "../refusals.ts"
import { Authorize } from "./authorize.ts"
import { ListedHost, ListedPricing, listedHost, listedPricing } from "./hostListing.ts"
import { offset, wholeNumber } from "./query.ts"

/** Prefix of the paths that pages of other origins may call. */
export const modelsPath = "/api/v1/models"
export const embeddingModelsPath = "/api/v1/embeddings/models"

const ListedArchitecture = Schema.Struct({
  tokenizer: Schema.String,
  instruct_type: Schema.NullOr(Schema.String),
  /** Inputs and outputs: `text+image->text`. */
  modality: Schema.String,
  input_modalities: Schema.Array(Schema.String),
  output_modalities: Schema.Array(Schema.String),
}).annotations({ identifier: "Architecture" })

const ListedModel = Schema.Struct({
  id: Schema.String,
  canonical_slug: Schema.String,
  name: Schema.String,
  /** Unix seconds. */
  created: Schema.Int,
  description: Schema.String,
  context_length: Schema.Int,
  architecture: ListedArchitecture,
  pricing: ListedPricing,
  top_provider: Schema.Struct({
    context_length: Schema.NullOr(Schema.Int),
    max_completion_tokens: Schema.NullOr(Schema.Int),
    is_moderated: Schema.Boolean,
  }),
  per_request_limits: Schema.Null,
  /** Union over all hosts. */
  supported_parameters: Schema.Array(Schema.String),
  default_parameters: Schema.Null,
  supported_voices: Schema.Null,
  links: Schema.Struct({ details: Schema.String }),
}).annotations({ identifier: "Model" })

const Page = Schema.Struct({
  data: Schema.Array(ListedModel),
  /** Relative URL of the next page; null on the last. */
  links: Schema.Struct({ next: Schema.NullOr(Schema.String) }),
  total_count: Schema.Int,
})

const PageParams = Schema.Struct({
  offset: Schema.optionalWith(offset, { exact: true }),
  limit: Schema.optionalWith(wholeNumber(1, 1000), { exact: true }),
}).annotations({ parseOptions: { errors: "all" } })

const ModelHosts = Schema.Struct({
  id: Schema.String,
  name: Schema.String,
  created: Schema.Int,
  description: Schema.String,
  architecture: ListedArchitecture,
  endpoints: Schema.Array(ListedHost),
}).annotations({ identifier: "ModelHosts" })

const author = HttpApiSchema.param("author", Schema.String)
const slug = HttpApiSchema.param("slug", Schema.String)

export const ModelsGroup = HttpApiGroup.make("models")
  .add(HttpApiEndpoint.get("list", "/models").setUrlParams(PageParams).addSuccess(Page).addError(badRequest))
  .add(
    HttpApiEndpoint.get("embeddings", "/embeddings/models")
      .setUrlParams(PageParams)
      .addSuccess(Page)
      .addError(badRequest)
      .annotate(OpenApi.Description, "The models that make embeddings."),
  )
  .add(
    HttpApiEndpoint.get("hosts")`/models/${author}/${slug}/endpoints`
      .addSuccess(Schema.Struct({ data: ModelHosts }))
      .addError(notFound),
  )
  .middleware(Authorize)
  .prefix("/api/v1")

export const modelsHandlers = HttpApiBuilder.group(HttpApi.make("headgate").add(ModelsGroup), "models", (handlers) =>
  Effect.gen(function* () {
    const registry = yield* ProviderRegistry
    const stats = yield* HostStats
    const health = yield* HostHealth
    const giving = (kind: string) =>
      perConfiguration(({ models, endpoints }) =>
        models
          .filter(({ architecture }) => architecture.outputModalities.includes(kind))
          .map((model) => listedModel(model, (host) => endpoints.has(host))),
      )
    const listed = giving("text")
    const embedding = giving("embeddings")

    return handlers
      .handle("list", ({ urlParams }) => Effect.sync(() => pageOf(modelsPath, listed(registry.current()), urlParams)))
      .handle("embeddings", ({ urlParams }) =>
        Effect.sync(() => pageOf(embeddingModelsPath, embedding(registry.current()), urlParams)),
      )
      .handle("hosts", ({ path }) =>
        Effect.gen(function* () {
          const unknown = new NotFound({ what: "This model" })
          const { model, variants } = yield* Effect.mapError(
            registry.resolve(`${path.author}/${path.slug}`),
            () => unknown,
          )
          if (variants.length > 0) return yield* unknown
          const endpoints = model.hosts.map((host) =>
            listedHost(model, host, stats.report(host), registry.unavailable(host), health.admissible(host)),
          )
          const { id, name, created, description } = model
          return {
            data: { id, name, created, description, architecture: listedArchitecture(model.architecture), endpoints },
          }
        }),
      )
  }),
)

/** Computes a value once for each configuration. */
const perConfiguration = <A>(make: (resolved: ResolvedConfig) => A): ((resolved: ResolvedConfig) => A) => {
  const made = new WeakMap<ResolvedConfig, A>()
  return (resolved) => {
    const before = made.get(resolved)
    if (before !== undefined) return before
    const fresh = make(resolved)
    made.set(resolved, fresh)
    return fresh
  }
}

/** Everything when neither bound is given. */
const pageOf = (
  path: string,
  models: ReadonlyArray<typeof ListedModel.Type>,
  asked: { readonly offset?: number | undefined; readonly limit?: number | undefined },
): typeof Page.Type => {
  const all = asked.offset === undefined && asked.limit === undefined
  const { offset: from = 0, limit = all ? models.length : 500 } = asked
  const end = from + limit
  const next = end < models.length ? `${path}?offset=${end}&limit=${limit}` : null
  return { data: models.slice(from, end), links: { next }, total_count: models.length }
}

const listedModel = (model: Model, isCallable: (host: Host) => boolean): typeof ListedModel.Type => {
  const callable = model.hosts.filter(isCallable)
  const top = cheapest(callable.length > 0 ? callable : model.hosts)
  return {
    id: model.id,
    canonical_slug: model.id,
    name: model.name,
    created: model.created,
    description: model.description,
    context_length: model.contextLength,
    architecture: listedArchitecture(model.architecture),
    pricing: listedPricing(top?.pricing ?? null),
    top_provider: {
      context_length: top?.contextLength ?? null,
      max_completion_tokens: top?.maxCompletionTokens ?? null,
      is_moderated: false,
    },
    per_request_limits: null,
    supported_parameters: [...new Set(model.hosts.flatMap((host) => host.supportedParameters))],
    default_parameters: null,
    supported_voices: null,
    links: { details: `${modelsPath}/${pathOf(model.id)}/endpoints` },
  }
}

/**
 * The host whose price is listed for the model: the cheapest by the sum of prompt and output price. Unknown prices come
 * last.
 */
const cheapest = (hosts: ReadonlyArray<Host>): Host | undefined =>
  hosts.reduce<Host | undefined>((best, host) => {
    if (best === undefined || best.pricing === null) return host.pricing === null ? (best ?? host) : host
    const cheaper = host.pricing !== null && pairPrice(host.pricing) < pairPrice(best.pricing)
    return cheaper ? host : best
  }, undefined)

const pairPrice = ({ prompt, completion }: NonNullable<Host["pricing"]>): bigint => prompt + completion

const listedArchitecture = (facts: Architecture): typeof ListedArchitecture.Type => ({
  tokenizer: facts.tokenizer,
  instruct_type: facts.instructType,
  modality: `${facts.inputModalities.join("+")}->${facts.outputModalities.join("+")}`,
  input_modalities: facts.inputModalities,
  output_modalities: facts.outputModalities,
})

/** An id as two segments of a path: the author, and everything after it. */
const pathOf = (id: string): string => {
  const [of = "", ...rest] = id.split("/")
  return `${encodeURI(of)}/${encodeURI(rest.join("/")).replaceAll("/", "%2F")}`
}
