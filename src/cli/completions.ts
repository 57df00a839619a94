/**
 * Scripts by which shells complete commands, flags and values. @effect/cli writes such scripts too; in bash they complete no
 * flag of a command, and offer all values of a flag as one word. See docs/decisions/0063-what-stays-although-it-costs-a-reader.md.
 */
import { type Flag, type Following, followingOf, programFlags } from "./flags.ts"
import type { CommandTree } from "./misspelt.ts"

/** A command by its words without `headgate`: `keys create`; empty: the program. */
interface Place extends Following {
  readonly words: string
}

const placesOf = ({ descriptor, commands }: CommandTree, words = ""): ReadonlyArray<Place> => {
  const following = followingOf(descriptor)
  // Without a command, `serve` is meant.
  const serving = words === "" ? (commands.get("serve")?.descriptor ?? descriptor) : descriptor
  const flags = words === "" ? [...followingOf(serving).flags, ...programFlags] : following.flags
  const within = [...commands].flatMap(([name, command]) => placesOf(command, `${words} ${name}`.trim()))
  return [{ ...following, flags, words }, ...within]
}

/** The script for a shell, to be sourced: for `fish`, `zsh` or else bash. */
export const completionsFor = (shell: string, program: CommandTree): string => {
  const places = placesOf(program)
  if (shell === "fish") return fish(places)
  return shell === "zsh" ? zsh(places) : bash(places)
}

const optionOf = ({ name }: Flag): string => `--${name}`

/** Each command within another, as `keys/create`: what a word does that stands after the words of a command. */
const steps = (places: ReadonlyArray<Place>): string =>
  places.flatMap(({ words, commands }) => Array.from(commands.keys(), (name) => `"${words}/${name}"`)).join(" | ")

/** Lines of a `case` on the command and the word before the cursor. */
const valueCases = (
  places: ReadonlyArray<Place>,
  write: { readonly values: (values: ReadonlyArray<string>) => string; readonly files: string },
): ReadonlyArray<string> =>
  places.flatMap(({ words, flags }) =>
    flags
      .filter(({ takes }) => takes !== "nothing")
      .map((flag) => {
        const action = flag.values.length > 0 ? write.values(flag.values) : flag.takes === "file" ? write.files : ""
        return `    "${words} ${optionOf(flag)}") ${action === "" ? "" : `${action}; `}return ;;`
      }),
  )

const bash = (places: ReadonlyArray<Place>): string => `_headgate_files() {
  compopt -o filenames 2>/dev/null
  COMPREPLY=($(compgen -f -- "$1"))
}
_headgate() {
  local current="\${COMP_WORDS[COMP_CWORD]}" before="\${COMP_WORDS[COMP_CWORD-1]}" command="" words="" at
  COMPREPLY=()
  for ((at = 1; at < COMP_CWORD; at++)); do
    case "$command/\${COMP_WORDS[at]}" in
      ${steps(places)}) command="\${command:+$command }\${COMP_WORDS[at]}" ;;
    esac
  done
  case "$command $before" in
${valueCases(places, {
  values: (values) => `COMPREPLY=($(compgen -W "${values.join(" ")}" -- "$current"))`,
  files: '_headgate_files "$current"',
}).join("\n")}
  esac
  case "$command" in
${places
  .map(({ words, commands, flags, takesFile }) => {
    const all = [...commands.keys(), ...flags.map(optionOf)].join(" ")
    return `    "${words}") words="${all}"${takesFile ? '; _headgate_files "$current"' : ""} ;;`
  })
  .join("\n")}
  esac
  COMPREPLY+=($(compgen -W "$words" -- "$current"))
}
complete -F _headgate headgate`

const quoted = (text: string): string => `'${text.replaceAll("'", "'\\''")}'`

/** A word and what it means, as `_describe` wants them. */
const described = (word: string, about: string): string => quoted(`${word.replaceAll(":", "\\:")}:${about}`)

const zsh = (places: ReadonlyArray<Place>): string => `#compdef headgate
_headgate() {
  local command="" word
  local -a names options
  for word in "\${(@)words[2,CURRENT-1]}"; do
    case "$command/$word" in
      ${steps(places)}) command="\${command:+$command }$word" ;;
    esac
  done
  case "$command \${words[CURRENT-1]}" in
${valueCases(places, { values: (values) => `compadd -- ${values.join(" ")}`, files: "_files" }).join("\n")}
  esac
  case "$command" in
${places
  .map(({ words, commands, flags, takesFile }) => {
    const names = Array.from(commands, ([name, about]) => described(name, about))
    const options = flags.map((flag) => described(optionOf(flag), flag.about))
    return `    "${words}") names=(${names.join(" ")}); options=(${options.join(" ")})${takesFile ? "; _files" : ""} ;;`
  })
  .join("\n")}
  esac
  _describe -t commands command names
  _describe -o -t options option options
}
if [ "$funcstack[1]" = "_headgate" ]; then _headgate "$@"; else compdef _headgate headgate; fi`

const quotedForFish = (text: string): string => `'${text.replaceAll("\\", "\\\\").replaceAll("'", "\\'")}'`

const fish = (places: ReadonlyArray<Place>): string => {
  const lines = places.flatMap(({ words, commands, flags, takesFile }) => {
    const here = `complete -c headgate -n '__headgate_at "${words}"'`
    return [
      ...(takesFile ? [`${here} -F`] : []),
      ...Array.from(commands, ([name, about]) => `${here} -a ${name} -d ${quotedForFish(about)}`),
      ...flags.map((flag) => {
        const takes = { nothing: "", text: " -x", file: " -r -F" }[flag.takes]
        const values = flag.values.length === 0 ? "" : ` -a '${flag.values.join(" ")}'`
        return `${here} -l ${flag.name}${takes}${values} -d ${quotedForFish(flag.about)}`
      }),
    ]
  })
  return `function __headgate_at
  set -l at ""
  for word in (commandline -opc)[2..-1]
    switch "$at/$word"
      case ${steps(places).replaceAll(" | ", " ")}
        set at (string trim "$at $word")
    end
  end
  test "$at" = "$argv[1]"
end
complete -c headgate -f
${lines.join("\n")}`
}
