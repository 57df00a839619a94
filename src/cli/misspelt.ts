/** Finds a command or a flag that does not exist, or a command that is missing, before anything is done. */
import * as CliConfig from "@effect/cli/CliConfig"
import * as CommandDescriptor from "@effect/cli/CommandDescriptor"
import * as HelpDoc from "@effect/cli/HelpDoc"
import * as HashSet from "effect/HashSet"
import { closest, distance } from "fastest-levenshtein"

type Descriptor = CommandDescriptor.Command<unknown>

/** Flags that @effect/cli adds to every command, with the values of those that need one. */
const builtIn = new Map<string, ReadonlyArray<string>>([
  ["--help", []],
  ["-h", []],
  ["--version", []],
  ["--wizard", []],
  ["--completions", ["bash", "fish", "sh", "zsh"]],
  ["--log-level", ["all", "trace", "debug", "info", "warning", "error", "fatal", "none"]],
])

/** A name that is not more than half another word is meant. */
const near = (word: string, names: ReadonlyArray<string>): string => {
  const name = closest(word, names)
  const length = word.replace(/^-+/, "").length
  return distance(word, name) <= Math.max(1, Math.floor(length / 2)) ? `, did you mean "${name}"?` : ""
}

export const helpOf = (command: Descriptor): string =>
  HelpDoc.toAnsiText(CommandDescriptor.getHelp(command, CliConfig.make({ showBuiltIns: false })))

/** The flags that the help of a command shows. Its own list of them cannot be read. */
const flagsOf = (command: Descriptor): ReadonlyArray<string> => {
  const help = Bun.stripANSI(helpOf(command))
  return [...builtIn.keys(), ...(help.match(/--[a-z][a-z-]*/g) ?? [])]
}

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

export interface Mistake {
  readonly message: string
  /** The command whose help says how to go on. */
  readonly help?: Descriptor
}

/** What is wrong with the words of a command line; `undefined`: all names in it exist. */
export const misspelt = (program: CommandTree, words: ReadonlyArray<string>): Mistake | undefined => {
  let command = program
  let path = "headgate"
  const flags = new Set<string>()
  for (let at = 0; at < words.length; at += 1) {
    const word = words[at] ?? ""
    if (word === "--") return undefined
    const isLeaf = command.commands.size === 0
    if (isLeaf && /^-(\.?\d|$)/.test(word)) continue // A negative number is a value, and so is "-": standard input or output.
    if (word.startsWith("-")) {
      const [flag = word, after] = word.split("=")
      const known = flagsOf(command.descriptor)
      if (!known.includes(flag)) return { message: `"${path}" has no flag "${flag}"${near(flag, known)}` }
      flags.add(flag)
      const values = builtIn.get(flag) ?? []
      if (values.length === 0) continue
      const value = after ?? words[++at] ?? ""
      if (!values.includes(value)) return { message: `${flag}: expected one of ${values.join(", ")}, got "${value}"` }
      continue
    }
    // The words of a command without others are values; flags may still come among them.
    if (isLeaf) continue
    const next = command.commands.get(word)
    if (next === undefined) {
      const names = [...command.commands.keys()]
      return { message: `"${path}" has no command "${word}"${near(word, names) || `; there are ${names.join(", ")}`}` }
    }
    command = next
    path = `${path} ${word}`
  }
  // The gateway has a log of its own.
  if (path === "headgate serve" && flags.has("--log-level")) return { message: `"${path}" has no flag "--log-level"` }
  const isAnswered = [...builtIn.keys()].some((flag) => flag !== "--log-level" && flags.has(flag))
  if (command.commands.size === 0 || isAnswered) return undefined
  return { message: `"${path}" needs a command: ${[...command.commands.keys()].join(", ")}`, help: command.descriptor }
}
