/** Models: lists, counts, one model, and the hosts of one model. */
import * as HttpApi from "@effect/platform/HttpApi"
import * as HttpApiBuilder from "@effect/platform/HttpApiBuilder"
import * as HttpApiEndpoint from "@effect/platform/HttpApiEndpoint"
import * as HttpApiGroup from "@effect/platform/HttpApiGroup"
import * as HttpApiSchema from "@effect/platform/HttpApiSchema"
import * as HttpServerResponse from "@effect/platform/HttpServerResponse"
import * as OpenApi from "@effect/platform/OpenApi"
import * as Clock from "effect/Clock"
import * as Effect from "effect/Effect"
import * as Schema from "effect/Schema"
import { ProviderRegistry } from "../../../catalogue/ProviderRegistry.ts"
import type { ResolvedConfig } from "../../../catalogue/ResolvedConfig.ts"
import { NotFound } from "../../../domain/failures/Failure.ts"
import { type Host, isPriceUnknown } from "../../../domain/hosts/Host.ts"
import type { KeyRecord } from "../../../domain/keys/key.ts"
import { forbiddenBy } from "../../../domain/keys/Permissions.ts"
import { completedDays } from "../../../domain/money/activity.ts"
import { HostStats } from "../../../services/hosts/HostStats.ts"
import { Storage } from "../../../services/storage/Storage.ts"
import { orUnavailable } from "../../../services/storage/StorageUnavailable.ts"
import { Mount } from "../../Mount.ts"
import { badRequest, notFound, unavailable } from "../../refusals.ts"
import { Authorize, CurrentKey } from "../Authorize.ts"
import { ListedHost, makeHostListing } from "./hostListing.ts"
import { CountQuery, ModelQuery, PageQuery, UserQuery } from "./ModelQuery.ts"
import {
  inAnthropicsWords,
  ListedArchitecture,
  ListedModel,
  listedArchitecture,
  modelsPath,
  RetrievedModel,
  retrievedModel,
} from "./modelRecord.ts"
import { type Entry, entryOf, makingAny, popularityDays, select } from "./modelSelection.ts"

const Page = Schema.Struct({
  data: Schema.Array(ListedModel),
  /** Relative URL of the next page; null on the last. */
  links: Schema.Struct({ next: Schema.NullOr(Schema.String) }),
  total_count: Schema.Int,
})

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
const id = HttpApiSchema.param("id", Schema.String)

const retrieved =
  "One model, by any name that a request may use, as OpenAI's and Anthropic's clients ask for it (`models.retrieve`). A variant at the end of the name changes nothing: `id` is that of the model."

export const ModelsGroup = HttpApiGroup.make("models")
  .add(
    HttpApiEndpoint.get("list", "/models")
      .setUrlParams(ModelQuery)
      .addSuccess(Page)
      .addError(badRequest)
      .addError(unavailable)
      .annotate(
        OpenApi.Description,
        "The models that the lists of the calling key allow, in the order of the configuration unless sort says otherwise. Everything on one page when neither offset nor limit is given.",
      ),
  )
  .add(
    HttpApiEndpoint.get("count", "/models/count")
      .setUrlParams(CountQuery)
      .addSuccess(Schema.Struct({ data: Schema.Struct({ count: Schema.Int }) }))
      .addError(badRequest),
  )
  .add(
    HttpApiEndpoint.get("embeddings", "/embeddings/models")
      .setUrlParams(PageQuery)
      .addSuccess(Page)
      .addError(badRequest)
      .annotate(OpenApi.Description, "The models that make embeddings."),
  )
  .add(
    HttpApiEndpoint.get("user", "/models/user")
      .setUrlParams(UserQuery)
      .addSuccess(Page)
      .addError(badRequest)
      .annotate(
        OpenApi.Description,
        "The models that the calling key may use, each as if it had only the hosts that the key may use.",
      ),
  )
  .add(
    HttpApiEndpoint.get("model")`/model/${author}/${slug}`
      .addSuccess(Schema.Struct({ data: ListedModel }))
      .addError(notFound)
      .annotate(
        OpenApi.Description,
        "One model, by any name that a request may use: an alias, or an id with variants.",
      ),
  )
  .add(
    HttpApiEndpoint.get("retrieve")`/models/${id}`
      .addSuccess(RetrievedModel)
      .addError(notFound)
      .annotate(OpenApi.Description, `${retrieved} The slash of an id is written as %2F.`),
  )
  .add(
    HttpApiEndpoint.get("retrieveOfAuthor")`/models/${author}/${slug}`
      .addSuccess(RetrievedModel)
      .addError(notFound)
      .annotate(OpenApi.Description, retrieved),
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
    const listed = yield* makeHostListing
    const storage = yield* Storage
    const { activity } = storage
    const { prefix } = yield* Mount
    const entries = perConfiguration(({ models, endpoints }) =>
      models.map((model) => entryOf(model, model.hosts, (host) => endpoints.has(host), prefix)),
    )
    /** Each model with those of its hosts; without the models that have none of them. */
    const narrowed = (resolved: ResolvedConfig, has: (host: Host) => boolean): ReadonlyArray<Entry> =>
      entries(resolved).flatMap((entry) => {
        const hosts = entry.hosts.filter(has)
        if (hosts.length === 0) return []
        const isWhole = hosts.length === entry.hosts.length
        return [isWhole ? entry : entryOf(entry.model, hosts, (host) => resolved.endpoints.has(host), prefix)]
      })
    /** What the lists of the key allow. A change of the key makes another record. */
    const allowedTo = perPair((key: KeyRecord, resolved: ResolvedConfig) =>
      narrowed(resolved, (host) => forbiddenBy(key, host) === undefined),
    )
    /** The same without what the key cannot pay for, since nobody knows its price. */
    const usableBy = perPair((key: KeyRecord, resolved: ResolvedConfig) =>
      narrowed(
        resolved,
        (host) => forbiddenBy(key, host) === undefined && (key.limit === null || !isPriceUnknown(host)),
      ),
    )
    const listedFor = (key: KeyRecord): ReadonlyArray<Entry> => {
      const resolved = registry.current()
      const isFree = key.allowedModels === null && key.allowedProviders === null
      return isFree ? entries(resolved) : allowedTo(key, resolved)
    }

    /** Tokens by model over the last completed days. */
    const tokensOf = (days: number, now: number) =>
      Effect.map(
        orUnavailable("storage", storage)(activity.sums({ days: completedDays(now).slice(0, days), by: "host" })),
        (sums) => {
          const tokens = new Map<string, number>()
          for (const { model, promptTokens, completionTokens } of sums) {
            tokens.set(model, (tokens.get(model) ?? 0) + promptTokens + completionTokens)
          }
          return tokens
        },
      )

    const recordOf = (name: string) =>
      Effect.gen(function* () {
        const { model } = yield* Effect.mapError(registry.resolve(name), () => unknown)
        const entry = entries(registry.current()).find((each) => each.model === model)
        return entry === undefined ? yield* unknown : entry.record
      })

    return handlers
      .handle("list", ({ urlParams, request }) =>
        Effect.gen(function* () {
          const now = yield* Clock.currentTimeMillis
          const days = popularityDays(urlParams.sort)
          const tokens = days === undefined ? new Map<string, number>() : yield* tokensOf(days, now)
          const listed = listedFor(yield* CurrentKey)
          const selected = select(listed, urlParams, { now, stats: stats.snapshot, tokens })
          const isAnthropics = request.headers["anthropic-version"] !== undefined
          return pageOf(selected, urlParams, request.url, isAnthropics ? anthropicText : plainText)
        }),
      )
      .handle("count", ({ urlParams }) =>
        Effect.map(CurrentKey, (key) => ({
          data: { count: makingAny(listedFor(key), urlParams.output_modalities).length },
        })),
      )
      .handle("embeddings", ({ urlParams, request }) =>
        Effect.map(CurrentKey, (key) => pageOf(makingAny(listedFor(key), ["embeddings"]), urlParams, request.url)),
      )
      .handle("user", ({ urlParams, request }) =>
        Effect.map(CurrentKey, (key) => {
          const usable = makingAny(usableBy(key, registry.current()), urlParams.output_modalities)
          return pageOf(usable, urlParams, request.url)
        }),
      )
      .handle("model", ({ path }) => Effect.map(recordOf(`${path.author}/${path.slug}`), (data) => ({ data })))
      .handle("retrieve", ({ path }) => Effect.map(recordOf(path.id), retrievedModel))
      .handle("retrieveOfAuthor", ({ path }) => Effect.map(recordOf(`${path.author}/${path.slug}`), retrievedModel))
      .handle("hosts", ({ path }) =>
        Effect.gen(function* () {
          const { model, variants } = yield* Effect.mapError(
            registry.resolve(`${path.author}/${path.slug}`),
            () => unknown,
          )
          if (variants.length > 0) return yield* unknown
          const endpoints = model.hosts.map((host) => listed(model, host))
          const { id, name, created, description } = model
          return {
            data: { id, name, created, description, architecture: listedArchitecture(model.architecture), endpoints },
          }
        }),
      )
  }),
)

const unknown = new NotFound({ what: "This model" })

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

/** The same for each configuration and one more thing. */
const perPair = <K extends object, A>(make: (key: K, resolved: ResolvedConfig) => A) => {
  const made = new WeakMap<K, { readonly resolved: ResolvedConfig; readonly value: A }>()
  return (key: K, resolved: ResolvedConfig): A => {
    const before = made.get(key)
    if (before?.resolved === resolved) return before.value
    const value = make(key, resolved)
    made.set(key, { resolved, value })
    return value
  }
}

interface Paging {
  readonly offset?: number | undefined
  readonly limit?: number | undefined
}

const plainText = ({ text }: Entry): string => text

/** A model as Anthropic's clients read it, whose version of the API is in a header. */
const anthropicText = ({ text, record }: Entry): string =>
  `${text.slice(0, -1)},${JSON.stringify(inAnthropicsWords(record)).slice(1)}`

/** Everything when neither bound is given. `url`: of the request, for the next page. */
const pageOf = (entries: ReadonlyArray<Entry>, asked: Paging, url: string, textOf = plainText) => {
  const all = asked.offset === undefined && asked.limit === undefined
  const { offset: from = 0, limit = all ? entries.length : 500 } = asked
  const end = from + limit
  const records = entries.slice(from, end).map(textOf)
  const next = end < entries.length ? JSON.stringify(nextPage(url, end, limit)) : "null"
  const text = `{"data":[${records.join(",")}],"links":{"next":${next}},"total_count":${entries.length}}`
  return HttpServerResponse.text(text, { contentType: "application/json" })
}

const nextPage = (url: string, offset: number, limit: number): string => {
  const [path = modelsPath, query = ""] = url.split("?", 2)
  const others = new URLSearchParams(query)
  others.delete("offset")
  others.delete("limit")
  return [`${path}?offset=${offset}&limit=${limit}`, ...(others.size === 0 ? [] : [others.toString()])].join("&")
}
