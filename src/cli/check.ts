/** `headgate check [FILE]`: what a start would come to, without the database and without serving. */
import * as Args from "@effect/cli/Args"
import * as Command from "@effect/cli/Command"
import * as Options from "@effect/cli/Options"
import * as Effect from "effect/Effect"
import * as Option from "effect/Option"
import { serveFlags } from "../app/serveFlags.ts"
import type { Overrides } from "../config/Overrides.ts"
import { jsonOption } from "./keyFlags.ts"
import { optionOf } from "./serve.ts"

const file = Args.path({ name: "file" }).pipe(
  Args.withDescription("the configuration file; else the one that a gateway would find here"),
  Args.optional,
)

/** The flags of a start that say where it would listen, and keep its data. */
const overriding = serveFlags.filter(({ name }) => name === "port" || name === "hostname" || name === "storage")

const options = { file, json: jsonOption, flags: Options.all(overriding.map(optionOf)) }

export const check = Command.make("check", options, ({ file, json, flags }) =>
  Effect.gen(function* () {
    const { checkStart } = yield* Effect.promise(() => import("./checkStart.ts"))
    const written = overriding.map(({ sets }, at) => [sets, flags[at]?.pipe(Option.getOrUndefined)] as const)
    const overrides: Overrides = { ...Object.fromEntries(written), file: Option.getOrUndefined(file) }
    yield* checkStart(overrides, json)
  }),
).pipe(
  Command.withDescription(
    "Checks configuration, plugins, keys of providers, port and storage as a start would, and says what would be on.",
  ),
)
