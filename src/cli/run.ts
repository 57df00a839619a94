/** Runs a command of the program and sets the exit code of the process. */
import * as CliConfig from "@effect/cli/CliConfig"
import * as Command from "@effect/cli/Command"
import * as ValidationError from "@effect/cli/ValidationError"
import * as BunContext from "@effect/platform-bun/BunContext"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Logger from "effect/Logger"
import { readServeWords } from "../app/serveFlags.ts"
import { levelOf } from "../config/Overrides.ts"
import { styleOf } from "../process/terminal.ts"
import { version } from "../process/version.ts"
import { backup } from "./books/backup.ts"
import { audit, reconcile, uncharged } from "./books/books.ts"
import { catalogue } from "./books/catalogue.ts"
import { restore } from "./books/restore.ts"
import { CommandFailed, exitCodes, wrongUse } from "./CommandFailed.ts"
import { check } from "./check.ts"
import { doctor } from "./doctor/doctor.ts"
import { keys } from "./keys/keys.ts"
import { helpOf, misspelt, treeOf } from "./misspelt.ts"
import { models } from "./models.ts"
import { plugin } from "./plugin/plugin.ts"
import { reload } from "./reload.ts"
import { requests } from "./requests/requests.ts"
import { route } from "./route.ts"
import { serve, wordsOfServe } from "./serve.ts"
import { spend } from "./spend.ts"

const program = Command.make("headgate").pipe(
  Command.withDescription("A self-hosted gateway for language models."),
  Command.withSubcommands([
    serve,
    check,
    keys.command,
    spend,
    requests,
    reload,
    doctor,
    models,
    route,
    backup,
    restore,
    reconcile,
    uncharged,
    audit.command,
    catalogue.command,
    plugin.command,
  ]),
)

/** Every command of the program. */
export const tree = treeOf(program, [
  treeOf(serve),
  treeOf(check),
  keys.tree,
  treeOf(spend),
  treeOf(requests),
  treeOf(reload),
  treeOf(doctor),
  treeOf(models),
  treeOf(route),
  treeOf(backup),
  treeOf(restore),
  treeOf(reconcile),
  treeOf(uncharged),
  audit.tree,
  catalogue.tree,
  plugin.tree,
])

/** Without the line that @effect/cli writes below each flag and argument of its own text, and which says nothing. */
const withoutTypes = (text: string): string =>
  text.replace(
    /^[^\S\n]*(?:\p{Cc}\[[\d;]*m)*A user-defined piece of text\.(?:\p{Cc}\[[\d;]*m)*[^\S\n]*\n(?:[^\S\n]*\n)?/gmu,
    "",
  )

/** What @effect/cli writes (help, mistakes), without colours where they do not belong. */
const shown = (text: string, stream: NodeJS.WriteStream): Effect.Effect<void> =>
  Effect.sync(() => {
    const said = withoutTypes(text)
    stream.write(`${(styleOf(stream).hasColour ? said : Bun.stripANSI(said)).trim()}\n`)
  })

/** Help with the command in full where it says how to call it: @effect/cli writes `$ new`, without the commands around it. */
const withWholeName = (text: string, words: ReadonlyArray<string>): string =>
  text.replace(/(\$ (?:\p{Cc}\[[\d;]*m)*)([a-z]+)/u, (usage, before: string, last: string) => {
    const at = words.indexOf(last)
    return at === -1 ? usage : `${before}${["headgate", ...words.slice(0, at + 1)].join(" ")}`
  })

/** The value of a flag that every command has, and the words without it. */
const taken = (flag: string, words: ReadonlyArray<string>) => {
  const at = words.findIndex((word) => word === flag || word.startsWith(`${flag}=`))
  if (at === -1) return { value: undefined, rest: words }
  const joined = words[at]?.includes("=") === true
  const value = joined ? words[at]?.slice(flag.length + 1) : words[at + 1]
  return { value, rest: words.toSpliced(at, joined ? 1 : 2) }
}

const runCommand = (words: ReadonlyArray<string>) =>
  Effect.gen(function* () {
    const command = Command.run(program, { name: "Headgate", version })(["bun", "headgate", ...words])
    yield* Effect.consoleWith((console) =>
      Effect.withConsole(command, {
        ...console,
        log: (text: unknown) => shown(withWholeName(String(text), words), process.stdout),
        error: (text: unknown) => shown(`headgate: ${text}`, process.stderr),
      }),
    )
  })

const execute = (given: ReadonlyArray<string>) =>
  Effect.gen(function* () {
    const forServe = wordsOfServe(given)
    const words = forServe === undefined ? given : ["serve", ...forServe]
    const mistake = misspelt(tree, words)
    if (mistake !== undefined) {
      if (mistake.help !== undefined) yield* shown(helpOf(mistake.help), process.stderr)
      return yield* wrongUse(mistake.message)
    }
    if (words.includes("--version")) {
      const { schemaVersion } = yield* Effect.promise(() => import("../sql/tables/migrations.ts"))
      const versions = `headgate ${version} (Bun ${Bun.version}, database schema ${schemaVersion})`
      return yield* shown(versions, process.stdout)
    }
    const { value: shell } = taken("--completions", words)
    if (shell !== undefined) {
      const { completionsFor } = yield* Effect.promise(() => import("./completions.ts"))
      return yield* shown(completionsFor(shell, tree), process.stdout)
    }
    if (forServe !== undefined && !words.some((word) => word === "--help" || word === "-h")) {
      const overrides = readServeWords(forServe)
      if (typeof overrides === "string") return yield* wrongUse(overrides)
      return (yield* Effect.promise(() => import("../app/serve.ts"))).serve(overrides)
    }
    const { value, rest } = taken("--log-level", words)
    const level = levelOf(value ?? process.env["HEADGATE_LOG_LEVEL"] ?? "")
    yield* level === undefined ? runCommand(rest) : Logger.withMinimumLogLevel(runCommand(rest), level)
  })

const exitCodeOf = (failure: unknown): Effect.Effect<number> =>
  Effect.sync(() => {
    // Its text was written already.
    if (ValidationError.isValidationError(failure)) return exitCodes.usage
    if (!(failure instanceof CommandFailed)) return 70
    process.stderr.write(`headgate: ${failure.message}\n`)
    return failure.code
  })

/** `words`: the arguments of the program. Resolves when the command has ended. */
export const run = (words: ReadonlyArray<string>): Promise<void> => {
  // Its reader, such as `head`, has read enough.
  process.stdout.on("error", () => process.exit())
  return execute(words).pipe(
    Effect.as(0),
    Effect.catchAll(exitCodeOf),
    Effect.provide(Layer.merge(BunContext.layer, CliConfig.layer({ showBuiltIns: false }))),
    Effect.flatMap((code) =>
      Effect.sync(() => {
        process.exitCode = code
      }),
    ),
    Effect.runPromise,
  )
}
