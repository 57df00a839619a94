/** `GET /providers`, and `GET /endpoints/zdr`: hosts that keep no prompts. */
import * as HttpApi from "@effect/platform/HttpApi"
import * as HttpApiBuilder from "@effect/platform/HttpApiBuilder"
import * as HttpApiEndpoint from "@effect/platform/HttpApiEndpoint"
import * as HttpApiGroup from "@effect/platform/HttpApiGroup"
import * as HttpServerResponse from "@effect/platform/HttpServerResponse"
import * as OpenApi from "@effect/platform/OpenApi"
import * as Effect from "effect/Effect"
import * as Schema from "effect/Schema"
import { ProviderRegistry } from "../../../catalogue/ProviderRegistry.ts"
import { mayKeepPrompts } from "../../../domain/hosts/Host.ts"
import { Authorize } from "../Authorize.ts"
import { ListedHost, makeHostListing } from "./hostListing.ts"
import { providerNames } from "./providerNames.ts"

/** Of the rest the gateway knows nothing. */
const ListedProvider = Schema.Struct({
  name: Schema.String,
  slug: Schema.String,
  privacy_policy_url: Schema.Null,
  terms_of_service_url: Schema.Null,
  status_page_url: Schema.Null,
  headquarters: Schema.Null,
  datacenters: Schema.Null,
}).annotations({ identifier: "Provider" })

export const ProvidersGroup = HttpApiGroup.make("providers")
  .add(
    HttpApiEndpoint.get("providers", "/providers")
      .addSuccess(Schema.Struct({ data: Schema.Array(ListedProvider) }))
      .annotate(OpenApi.Description, "The providers of all hosts."),
  )
  .add(
    HttpApiEndpoint.get("zdr", "/endpoints/zdr")
      .addSuccess(Schema.Struct({ data: Schema.Array(ListedHost) }))
      .annotate(OpenApi.Description, "The hosts of all models that neither keep prompts nor train on them."),
  )
  .middleware(Authorize)
  .prefix("/api/v1")

export const providersHandlers = HttpApiBuilder.group(
  HttpApi.make("headgate").add(ProvidersGroup),
  "providers",
  (handlers) =>
    Effect.gen(function* () {
      const registry = yield* ProviderRegistry
      const listed = yield* makeHostListing
      return handlers
        .handle("providers", () =>
          Effect.sync(() => ({
            data: Array.from(providerNames(registry), ([slug, name]) => listedProvider(slug, name)),
          })),
        )
        .handle("zdr", () =>
          Effect.sync(() => {
            const data = registry
              .current()
              .models.flatMap((model) =>
                model.hosts.filter(({ privacy }) => !mayKeepPrompts(privacy)).map((host) => listed(model, host)),
              )
            // There may be thousands, for which HttpApi's encoding takes a tenth of a second.
            return HttpServerResponse.unsafeJson({ data })
          }),
        )
    }),
)

const listedProvider = (slug: string, name: string): typeof ListedProvider.Type => ({
  name,
  slug,
  privacy_policy_url: null,
  terms_of_service_url: null,
  status_page_url: null,
  headquarters: null,
  datacenters: null,
})
