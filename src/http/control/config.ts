/** `POST /config/reload`: puts the configuration file in force as it is now. Management keys only. */
import * as HttpApi from "@effect/platform/HttpApi"
import * as HttpApiBuilder from "@effect/platform/HttpApiBuilder"
import * as HttpApiEndpoint from "@effect/platform/HttpApiEndpoint"
import * as HttpApiGroup from "@effect/platform/HttpApiGroup"
import * as Effect from "effect/Effect"
import * as Schema from "effect/Schema"
import { BadRequest, NotFound, Unavailable } from "../../domain/failures/Failure.ts"
import { ConfigReload } from "../../services/hosts/ConfigReload.ts"
import { badRequest, notFound, unavailable } from "../refusals.ts"
import { AuthorizeManagement, CurrentKey } from "./Authorize.ts"

const Reloaded = Schema.Struct({
  /** The configuration file; `null`: there is none. */
  file: Schema.NullOr(Schema.String),
  /** Members that are different from now on. */
  changed: Schema.Array(Schema.String),
  /** Members that take effect at the next start. */
  needs_restart: Schema.Array(Schema.String),
  warnings: Schema.Array(Schema.String),
}).annotations({ identifier: "ConfigReload" })

export const ConfigGroup = HttpApiGroup.make("config")
  .add(
    HttpApiEndpoint.post("reload", "/config/reload")
      .addSuccess(Schema.Struct({ data: Reloaded }))
      .addError(badRequest),
  )
  .addError(notFound)
  .addError(unavailable)
  .middleware(AuthorizeManagement)
  .prefix("/api/v1")

const noFile = new NotFound({ what: "A configuration file of this gateway, which the app around it configures," })

export const configHandlers = HttpApiBuilder.group(HttpApi.make("headgate").add(ConfigGroup), "config", (handlers) =>
  Effect.map(Effect.serviceOption(ConfigReload), (found) =>
    handlers.handle("reload", () =>
      Effect.gen(function* () {
        const { reload } = yield* Effect.mapError(found, () => noFile)
        const { file, changed, needsRestart, warnings } = yield* Effect.mapError(
          reload((yield* CurrentKey).id),
          (failure) =>
            failure._tag === "ConfigInvalid"
              ? new BadRequest({ issues: failure.problems })
              : new Unavailable({ why: "storage", retryAfterSeconds: 5 }),
        )
        return { data: { file, changed, needs_restart: needsRestart, warnings } }
      }),
    ),
  ),
)
