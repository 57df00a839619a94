/** `GET /version`: what runs here. Management keys only, since it tells an attacker what to try. */
import * as HttpApi from "@effect/platform/HttpApi"
import * as HttpApiBuilder from "@effect/platform/HttpApiBuilder"
import * as HttpApiEndpoint from "@effect/platform/HttpApiEndpoint"
import * as HttpApiGroup from "@effect/platform/HttpApiGroup"
import * as OpenApi from "@effect/platform/OpenApi"
import * as Effect from "effect/Effect"
import * as Schema from "effect/Schema"
import { version } from "../../process/version.ts"
import { AuthorizeManagement } from "./Authorize.ts"

const Version = Schema.Struct({
  data: Schema.Struct({
    /** Of the program. */
    version: Schema.String,
    /** Of the runtime. */
    bun: Schema.String,
  }),
})

export const VersionGroup = HttpApiGroup.make("version")
  .add(
    HttpApiEndpoint.get("version", "/version")
      .addSuccess(Version)
      .annotate(OpenApi.Description, "The version of the gateway and of its runtime."),
  )
  .middleware(AuthorizeManagement)
  .prefix("/api/v1")

export const versionHandlers = HttpApiBuilder.group(HttpApi.make("headgate").add(VersionGroup), "version", (handlers) =>
  handlers.handle("version", () => Effect.succeed({ data: { version, bun: Bun.version } })),
)
