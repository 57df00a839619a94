/** Finds a command or a flag that does not exist, or a command that is missing, before anything is done. */
import * as CliConfig from "@effect/cli/CliConfig"
import * as CommandDescriptor from "@effect/cli/CommandDescriptor"
import * as HelpDoc from "@effect/cli/HelpDoc"
import * as HashSet from "effect/HashSet"
import { closest, distance } from "fastest-levenshtein"
import { type Descriptor, followingOf, programFlags } from "./flags.ts"

/** A name that is not more than half another word is meant. */
const near = (word: string, names: ReadonlyArray<string>): string => {
  const name = closest(word, names)
  const length = word.replace(/^-+/, "").length
  return distance(word, name) <= Math.max(1, Math.floor(length / 2)) ? `, did you mean "${name}"?` : ""
}

export const helpOf = (command: Descriptor): string =>
  HelpDoc.toAnsiText(CommandDescriptor.getHelp(command, CliConfig.make({ showBuiltIns: false })))

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

/** Flags that are answered in place of a command. */
const answered = new Set(["help", "version", "completions"])

/** What is wrong with the words of a command line; `undefined`: all names in it exist. */
export const misspelt = (program: CommandTree, words: ReadonlyArray<string>): Mistake | undefined => {
  let command = program
  let path = "headgate"
  let isAnswered = false
  for (let at = 0; at < words.length; at += 1) {
    const word = words[at] ?? ""
    if (word === "--") return undefined
    const isLeaf = command.commands.size === 0
    if (isLeaf && /^-(\.?\d|$)/.test(word)) continue // A negative number is a value, and so is "-": standard input or output.
    if (word.startsWith("-")) {
      const [written = word, after] = word.split("=")
      const known = [...followingOf(command.descriptor).flags, ...programFlags]
      const flag = known.find(({ name }) => written === `--${name}` || (written === "-h" && name === "help"))
      const names = [...known.map(({ name }) => `--${name}`), "-h"]
      if (flag === undefined) return { message: `"${path}" has no flag "${written}"${near(written, names)}` }
      if (answered.has(flag.name)) isAnswered = true
      if (flag.takes === "nothing") continue
      const value = after ?? words[++at]
      const got = value === undefined || value === "" ? "nothing" : `"${value}"`
      if (flag.values.length > 0 && !flag.values.includes(value ?? ""))
        return { message: `--${flag.name}: expected one of ${flag.values.join(", ")}, got ${got}` }
      if (after === undefined && (value === undefined || value.startsWith("--")))
        return { message: `--${flag.name}: expected a value, got ${got}` }
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
  if (command.commands.size === 0 || isAnswered) return undefined
  return { message: `"${path}" needs a command: ${[...command.commands.keys()].join(", ")}`, help: command.descriptor }
}
