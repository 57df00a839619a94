/** `headgate check [FILE]`: what a start would come to, without the database and without serving. */
import * as Args from "@effect/cli/Args"
import * as Command from "@effect/cli/Command"
import * as Effect from "effect/Effect"
import * as Option from "effect/Option"
import { jsonOption } from "./keyFlags.ts"

const file = Args.path({ name: "file" }).pipe(
  Args.withDescription("the configuration file; else the one that a gateway would find here"),
  Args.optional,
)

export const check = Command.make("check", { file, json: jsonOption }, ({ file, json }) =>
  Effect.gen(function* () {
    const { checkStart } = yield* Effect.promise(() => import("./checkStart.ts"))
    yield* checkStart(Option.getOrUndefined(file), json)
  }),
).pipe(
  Command.withDescription(
    "Checks configuration, plugins, keys of providers, port and storage as a start would, and says what would be on.",
  ),
)
