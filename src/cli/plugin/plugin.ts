/** `headgate plugin …`: writes plugins, tests them, and says which ones a gateway would have. */
import * as Args from "@effect/cli/Args"
import * as Command from "@effect/cli/Command"
import * as Options from "@effect/cli/Options"
import * as Effect from "effect/Effect"
import { CommandFailed, exitCodes, wrongUse } from "../CommandFailed.ts"
import { jsonOption } from "../keyFlags.ts"
import { treeOf } from "../misspelt.ts"
import { type Column, write, writeJson, writeTable } from "../output.ts"
import type { ListedPlugin } from "./pluginList.ts"

// What each needs is loaded for it alone: plugins, the kit.

const columns: ReadonlyArray<Column<ListedPlugin>> = [
  { title: "ID", value: ({ id }) => id },
  { title: "KIND", value: ({ kind }) => kind ?? "unknown" },
  { title: "STATE", value: ({ state }) => state },
  { title: "SERVES", value: ({ serves }) => servedBy(serves) },
  { title: "WHY", value: ({ why }) => why },
  { title: "CONTRACT", value: ({ contract }) => (contract === null ? "" : String(contract)) },
  { title: "FROM", value: ({ source, from }) => (source === "gateway" ? "the gateway" : from) },
]

const servedBy = ({ providers, models }: ListedPlugin["serves"]): string =>
  providers.length === 0 ? "" : `${models} ${models === 1 ? "model" : "models"} as ${providers.join(", ")}`

const list = Command.make("list", { json: jsonOption }, ({ json }) =>
  Effect.gen(function* () {
    const { listPlugins } = yield* Effect.promise(() => import("./pluginList.ts"))
    const plugins = yield* listPlugins
    if (json) return yield* writeJson(plugins)
    yield* writeTable(plugins, columns, { empty: "no plugins", isFaint: ({ state }) => state === "off" })
  }),
).pipe(
  Command.withDescription(
    "Lists the plugins that a gateway would have here: what each serves, whence it comes, and why some are off.",
  ),
)

const test = Command.make(
  "test",
  { folder: Args.path({ name: "folder" }).pipe(Args.withDescription("the plugin's folder, anywhere")) },
  ({ folder }) =>
    Effect.gen(function* () {
      const { testPlugin } = yield* Effect.promise(() => import("./pluginTest.ts"))
      const code = yield* testPlugin(folder)
      if (code === 0) return
      return yield* new CommandFailed({ code: exitCodes.failed, message: `the tests of ${folder} fail` })
    }),
).pipe(
  Command.withDescription(
    "Runs a plugin's tests, its conformance test among them; without tests the conformance kit alone.",
  ),
)

const create = Command.make(
  "new",
  {
    name: Args.text({ name: "name" }).pipe(Args.withDescription("the plugin's id, in kebab-case")),
    protocol: Options.boolean("protocol").pipe(Options.withDescription("a provider with a protocol of its own")),
    strategy: Options.boolean("strategy").pipe(Options.withDescription("a strategy, which orders hosts")),
    package: Options.boolean("package").pipe(
      Options.withDescription("a package of its own, in the folder headgate-<name>"),
    ),
  },
  ({ name, protocol, strategy, package: asPackage }) =>
    Effect.gen(function* () {
      if (protocol && strategy) return yield* wrongUse("--protocol and --strategy exclude each other")
      const { newPlugin, takenByOwn } = yield* Effect.promise(() => import("./pluginNew.ts"))
      const template = protocol ? "protocol" : strategy ? "strategy" : "host"
      const files = yield* newPlugin(name, template, asPackage)
      yield* write(files.join("\n"))
      const note = yield* takenByOwn(name, template)
      if (note !== undefined) yield* Effect.sync(() => process.stderr.write(`headgate: ${note}\n`))
    }),
).pipe(Command.withDescription("Writes a plugin with its test and recorded cases into ./plugins, or as a package."))

const group = Command.make("plugin").pipe(
  Command.withDescription("Plugins: providers and strategies."),
  Command.withSubcommands([list, test, create]),
)

export const plugin = {
  command: group,
  tree: treeOf(
    group,
    [list, test, create].map((leaf) => treeOf(leaf)),
  ),
}
