/** `headgate serve`, as a command line that needs help, completions or a correction has it. One without a mistake does not come here (`program.ts`). */
import * as Command from "@effect/cli/Command"
import * as Options from "@effect/cli/Options"
import { type ServeFlag, serveFlags } from "../app/serveFlags.ts"

export const optionOf = ({ name, about, values, sets }: ServeFlag) => {
  const option =
    values !== undefined ? Options.choice(name, values) : sets === "file" ? Options.file(name) : Options.text(name)
  return option.pipe(Options.withDescription(about), Options.optional)
}

/** It does nothing: `run.ts` reads the words of `serve` itself. */
export const serve = Command.make(
  "serve",
  Object.fromEntries(serveFlags.map((flag) => [flag.name, optionOf(flag)])),
).pipe(
  Command.withDescription(
    "Runs the gateway, as without a command. Flags win over variables of the environment, and those over the file.",
  ),
)

/** The words after `serve`, where they are for it: without a command it is meant. `undefined`: they are for something else. */
export const wordsOfServe = (words: ReadonlyArray<string>): ReadonlyArray<string> | undefined => {
  const [first, ...more] = words
  if (first === undefined) return []
  if (first === "serve") return more
  if (first === "--log-level" || first.startsWith("--log-level=")) {
    const length = first === "--log-level" ? 2 : 1
    const rest = wordsOfServe(words.slice(length))
    return rest === undefined ? undefined : [...words.slice(0, length), ...rest]
  }
  return first.startsWith("-") && !/^(-h|--help|--version|--completions)(=|$)/.test(first) ? words : undefined
}
