/** What can follow a command: its flags, their values, the commands within it. @effect/cli gives it away as text only. */
import * as CommandDescriptor from "@effect/cli/CommandDescriptor"
import * as Effect from "effect/Effect"
import { logLevels } from "../app/serveFlags.ts"

export type Descriptor = CommandDescriptor.Command<unknown>

export interface Flag {
  /** Without `--`. */
  readonly name: string
  readonly about: string
  readonly takes: "nothing" | "text" | "file"
  /** The values, where there are few. */
  readonly values: ReadonlyArray<string>
}

/** What can follow a command. */
export interface Following {
  readonly flags: ReadonlyArray<Flag>
  /** What the commands within it do, by their names. */
  readonly commands: ReadonlyMap<string, string>
  /** Whether a file can follow. */
  readonly takesFile: boolean
}

/** Flags of every command. */
const commonFlags: ReadonlyArray<Flag> = [
  { name: "log-level", about: "the least that is logged", takes: "text", values: logLevels },
  { name: "help", about: "say what a command does", takes: "nothing", values: [] },
]

/** Flags of the program itself. */
export const programFlags: ReadonlyArray<Flag> = [
  { name: "version", about: "the versions of program, runtime and database", takes: "nothing", values: [] },
  { name: "completions", about: "write a script for a shell", takes: "text", values: ["bash", "fish", "sh", "zsh"] },
]

/** How many flags @effect/cli puts before a command's own: completions, log-level, help, wizard, version. */
const added = 5

const unquoted = (text: string | undefined): string => (text ?? "").replaceAll("\\'", "'")

/**
 * Reads the script for fish that @effect/cli writes of a command. It has a line for each flag, `-l NAME [-r [-f | -F] [-a
 * "{A'',B''}"]] [-d 'ABOUT']`, for each argument, the same without `-l`, and for each command within, `-f -a "NAME" -d 'ABOUT'`.
 */
export const followingOf = (command: Descriptor): Following => {
  const lines = Effect.runSync(CommandDescriptor.getFishCompletions(command, "headgate"))
    .filter((line) => line.includes('"__fish_use_subcommand"'))
    .slice(added)
  const flags = lines.flatMap((line): ReadonlyArray<Flag> => {
    const [, name, takes, values, about] =
      / -l (\S+)( -r(?: -[fF])?)?(?: -a "\{(.*?)\}")?(?: -d '(.*)')?$/s.exec(line) ?? []
    if (name === undefined) return []
    return [
      {
        name,
        about: unquoted(about),
        takes: takes === undefined ? "nothing" : takes.endsWith("-F") ? "file" : "text",
        values: values === undefined ? [] : values.split(",").map((value) => value.replace(/''$/, "")),
      },
    ]
  })
  const own = new Set(flags.map(({ name }) => name))
  const commands = lines.flatMap((line) => {
    const [, name, about] = / -f -a "([^"{]+)"(?: -d '(.*)')?$/s.exec(line) ?? []
    return name === undefined ? [] : [[name, unquoted(about)] as const]
  })
  return {
    flags: [...flags, ...commonFlags.filter(({ name }) => !own.has(name))],
    commands: new Map(commands),
    takesFile: lines.some((line) => !line.includes(" -l ") && / -F\b/.test(line)),
  }
}
