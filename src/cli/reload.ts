/**
 * `headgate reload`: puts the configuration file of a running gateway in force as it is now, by `POST /api/v1/config/reload`.
 * docs/configuration.md#reload
 */
import * as Command from "@effect/cli/Command"
import * as Effect from "effect/Effect"
import * as Schema from "effect/Schema"
import { connect, urlOption } from "./gatewayClient.ts"
import { jsonOption } from "./keyFlags.ts"
import { writeJson, writeRecord } from "./output.ts"

const Reloaded = Schema.Struct({
  data: Schema.Struct({
    file: Schema.NullOr(Schema.String),
    changed: Schema.Array(Schema.String),
    needs_restart: Schema.Array(Schema.String),
    warnings: Schema.Array(Schema.String),
  }),
})

const listed = (all: ReadonlyArray<string>, between: string): string => (all.length === 0 ? "-" : all.join(between))

export const reload = Command.make("reload", { json: jsonOption, url: urlOption }, ({ json, url }) =>
  Effect.gen(function* () {
    const gateway = yield* connect(url)
    const { data } = yield* gateway.call({ method: "POST", path: "/config/reload" }, Reloaded)
    if (json) return yield* writeJson(data)
    return yield* writeRecord([
      ["file", data.file ?? "-"],
      ["changed", listed(data.changed, ", ")],
      ["needs_restart", listed(data.needs_restart, ", ")],
      ["warnings", listed(data.warnings, "; ")],
    ])
  }),
).pipe(
  Command.withDescription(
    "Puts the configuration file of a running gateway in force as it is now, or says what is wrong with it.",
  ),
)
