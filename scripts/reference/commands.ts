/** Every command with its arguments and flags, out of what `--help` says of it. */

import { exitCodes } from "../../src/cli/CommandFailed.ts"
import { programFlags } from "../../src/cli/flags.ts"
import { type CommandTree, helpOf } from "../../src/cli/misspelt.ts"
import { tree } from "../../src/cli/run.ts"

type Part = "USAGE" | "DESCRIPTION" | "ARGUMENTS" | "OPTIONS" | "COMMANDS"

/** The lines below each heading of a help, without those that are empty. */
const partsOf = (help: string): ReadonlyMap<string, ReadonlyArray<string>> => {
  const parts = new Map<string, Array<string>>()
  let lines: Array<string> = []
  for (const line of help.split("\n").filter((each) => each.trim() !== "")) {
    if (/^[A-Z]+$/.test(line)) {
      lines = []
      parts.set(line, lines)
    } else lines.push(line)
  }
  return parts
}

/** What @effect/cli says of the type of a value, which the name of the flag has already. */
const ofTypes =
  /^(A user-defined piece of text|A true or false value|A file( or directory)?|An integer|One of the following: .*|This (setting|option|argument) (is optional|may be repeated zero or more times))\.?$/

/** In a cell: code as it is, and text without what Markdown would take for a sign. */
const code = (text: string): string => text.replaceAll("|", "\\|")
const cell = (text: string): string => code(text).replaceAll("<", "&lt;").replaceAll("*", "\\*")

/** A row for each argument or flag: a line at the margin has its name, those below it say what it is. */
const rowsOf = (lines: ReadonlyArray<string>): ReadonlyArray<string> => {
  const entries: Array<{ readonly name: string; readonly about: Array<string> }> = []
  for (const line of lines) {
    const text = line.trim()
    if (!line.startsWith(" ")) entries.push({ name: text, about: [] })
    else if (!ofTypes.test(text)) entries.at(-1)?.about.push(text)
  }
  return entries.map(({ name, about }) => `| \`${code(name)}\` | ${cell(about.join(" "))} |`)
}

const table = (head: string, rows: ReadonlyArray<string>): ReadonlyArray<string> =>
  rows.length === 0 ? [] : ["", `| ${head} | meaning |`, "| --- | --- |", ...rows]

const sections = ({ descriptor, commands }: CommandTree, name: string): ReadonlyArray<string> => {
  const parts = partsOf(Bun.stripANSI(helpOf(descriptor)))
  const lines = (part: Part) => parts.get(part) ?? []
  return [
    ["", `## ${name}`, "", ...lines("DESCRIPTION")],
    table("argument", rowsOf(lines("ARGUMENTS"))),
    table("flag", rowsOf(lines("OPTIONS"))),
    Array.from(commands, ([inner, command]) => sections(command, `${name} ${inner}`)).flat(),
  ].flat()
}

const exits: Readonly<Record<"done" | keyof typeof exitCodes, string>> = {
  done: "done; of a gateway: a signal stopped it",
  failed: "the gateway refused, a test failed, no host is left, or what was checked has faults",
  usage: "the command line is wrong: an unknown or missing command, flag or value, or no management key",
  badFile: "the database is damaged, foreign, newer or older than the program; or a catalogue does not validate",
  noFile: "the database, the catalogue or what is to be tested is missing or cannot be read",
  noGateway: "no gateway, PostgreSQL server or catalogue answers; `check`: the port cannot be listened on",
  cannotWrite: "the database is in use or cannot be written, or a file exists already or cannot be written",
  badConfig: "the configuration is wrong, or PostgreSQL refuses the login",
}

const exitRows = (): ReadonlyArray<string> => {
  const all = Object.entries({ done: 0, ...exitCodes }) as ReadonlyArray<readonly [keyof typeof exits, number]>
  const rows = all.map(([name, code]) => [code, exits[name]] as const)
  const crash =
    "an uncaught exception, such as in a plugin's timer; or code that blocked the gateway, which its log names"
  return [...rows, [70, crash] as const].toSorted(([a], [b]) => a - b).map(([code, about]) => `| ${code} | ${about} |`)
}

export const page = (): string => {
  const common = programFlags.map(({ name, about, values }) => {
    const written = values.length === 0 ? `--${name}` : `--${name} ${values.join(" | ")}`
    return `| \`${code(written)}\` | ${about} |`
  })
  const lines = [
    "# Commands and flags",
    "",
    "For operators: every command of `headgate` with its arguments and flags, and the exit codes.",
    "Made by `bun scripts/reference.ts` from `src/cli`, as `--help` shows it; do not edit.",
    "",
    "[The command line](../commands.md) has examples.",
    "A name that ends with `...` may be written several times.",
    "Every command takes `--log-level` and `--help`.",
    ...sections(tree, "headgate"),
    "",
    "## The program itself",
    ...table("flag", common),
    "",
    '## Exit codes <a id="exit-codes"></a>',
    "",
    "| exit code | meaning |",
    "| --- | --- |",
    ...exitRows(),
  ]
  return `${lines.join("\n")}\n`
}
