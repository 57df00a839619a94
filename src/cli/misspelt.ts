/** Finds a command or a flag that does not exist before anything is done, and names the nearest one. */
import * as CliConfig from "@effect/cli/CliConfig"
import * as CommandDescriptor from "@effect/cli/CommandDescriptor"
import * as HelpDoc from "@effect/cli/HelpDoc"
import * as HashSet from "effect/HashSet"
import { closest, distance } from "fastest-levenshtein"

/** What @effect/cli adds to every command. */
const builtIn = ["--help", "-h", "--version", "--completions", "--log-level", "--wizard"]

/** A name that is not more than half another word is meant. */
const near = (word: string, names: ReadonlyArray<string>): string => {
  const name = closest(word, names)
  const length = word.replace(/^-+/, "").length
  return distance(word, name) <= Math.max(1, Math.floor(length / 2)) ? `, did you mean "${name}"?` : ""
}

/** The flags that the help of a command shows. Its own list of them cannot be read. */
const flagsOf = (command: CommandDescriptor.Command<unknown>): ReadonlyArray<string> => {
  const help = Bun.stripANSI(HelpDoc.toAnsiText(CommandDescriptor.getHelp(command, CliConfig.defaultConfig)))
  return [...builtIn, ...(help.match(/--[a-z][a-z-]*/g) ?? [])]
}

type Descriptor = CommandDescriptor.Command<unknown>

/** A command and those within it, by name. @effect/cli has them too, but gives away one level only. */
export interface CommandTree {
  readonly descriptor: Descriptor
  readonly commands: ReadonlyMap<string, CommandTree>
}

export const treeOf = (
  { descriptor }: { readonly descriptor: Descriptor },
  commands: ReadonlyArray<CommandTree> = [],
): CommandTree => ({
  descriptor,
  commands: new Map(
    commands.flatMap((command) =>
      Array.from(HashSet.toValues(CommandDescriptor.getNames(command.descriptor)), (name) => [name, command] as const),
    ),
  ),
})

/** What is wrong with the words of a command line, in a sentence; `undefined` when all names in it exist. */
export const misspelt = (program: CommandTree, words: ReadonlyArray<string>): string | undefined => {
  let command = program
  let path = "headgate"
  for (const word of words) {
    if (word === "--") return undefined
    if (word.startsWith("-")) {
      const [flag = word] = word.split("=")
      const flags = flagsOf(command.descriptor)
      if (!flags.includes(flag)) return `"${path}" has no flag "${flag}"${near(flag, flags)}`
      continue
    }
    // The words of a command without others are values; flags may still come among them.
    if (command.commands.size === 0) continue
    const next = command.commands.get(word)
    if (next === undefined) {
      const names = [...command.commands.keys()]
      return `"${path}" has no command "${word}"${near(word, names) || `; there are ${names.join(", ")}`}`
    }
    command = next
    path = `${path} ${word}`
  }
  return undefined
}
