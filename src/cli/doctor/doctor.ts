/** `headgate doctor`: what is wrong with providers, database, disk and gateway, in plain words. docs/commands.md#doctor */
import * as Args from "@effect/cli/Args"
import * as Command from "@effect/cli/Command"
import * as Effect from "effect/Effect"
import { CommandFailed, exitCodes } from "../CommandFailed.ts"
import { jsonOption } from "../keyFlags.ts"
import { type Column, writeJson, writeTable } from "../output.ts"
import type { Finding } from "./Finding.ts"

const columns: ReadonlyArray<Column<Finding>> = [
  { title: "CHECK", value: (finding) => finding.of },
  { title: "STATE", value: ({ state }) => state },
  { title: "WHAT", value: ({ what }) => what },
]

export const doctor = Command.make(
  "doctor",
  {
    providers: Args.text({ name: "provider" }).pipe(
      Args.withDescription("check these providers only; without one: all, and database, disk, gateway and clock"),
      Args.repeated,
    ),
    json: jsonOption,
  },
  ({ providers, json }) =>
    Effect.gen(function* () {
      const { examine } = yield* Effect.promise(() => import("./examine.ts"))
      const findings = yield* examine(providers)
      yield* json
        ? writeJson(findings.map(({ of, state, what }) => ({ check: of, state, what })))
        : writeTable(findings, columns, { empty: "nothing to check", isFaint: ({ state }) => state === "ok" })
      const wrong = findings.filter(({ state }) => state === "wrong")
      if (wrong.length === 0) return
      const message = `wrong: ${wrong.map((finding) => finding.of).join(", ")}`
      return yield* new CommandFailed({ code: exitCodes.failed, message })
    }),
).pipe(Command.withDescription("Calls each provider that is on, at no cost, and says what is wrong here."))
