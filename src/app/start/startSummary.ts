/** What a gateway says of itself when it starts, and `headgate check` before it does. Facts in, text out. */
import type { ProviderStates } from "../../config/providerStates.ts"
import { plain, type Style } from "../../process/terminal.ts"

/** Lowest and highest price of a token among the hosts that can be called; USD per million tokens. */
export interface PriceRange {
  readonly prompt: readonly [least: string, most: string]
  readonly completion: readonly [least: string, most: string]
}

export interface StartFacts {
  /** Of the program and of the runtime. */
  readonly versions: string
  /** Base URL of the API. */
  readonly address: string
  readonly workers: number
  /** `null`: there is none. */
  readonly file: string | null
  /** Where a file was looked for. */
  readonly folder: string
  /** Path or address, without a password. */
  readonly data: string
  readonly providers: ProviderStates
  /** Models and hosts that can be called. */
  readonly models: number
  readonly hosts: number
  /** `null`: no price is known. */
  readonly prices: PriceRange | null
  /** The one in force, and those that requests may ask for. */
  readonly strategy: string
  readonly strategies: ReadonlyArray<string>
  /** A sentence each. */
  readonly warnings: ReadonlyArray<string>
}

/** A name with one value or several. */
export type SummaryLine = readonly [name: string, values: ReadonlyArray<string>]

const plural = (count: number, one: string, more = `${one}s`): string => `${count} ${count === 1 ? one : more}`

const rangeOf = ([least, most]: readonly [string, string]): string => (least === most ? least : `${least} to ${most}`)

const pricesIn = (prices: PriceRange | null): string =>
  prices === null
    ? ""
    : `; USD per million tokens: ${rangeOf(prices.prompt)} of the prompt, ${rangeOf(prices.completion)} of the output`

export const summaryOf = (facts: StartFacts): ReadonlyArray<SummaryLine> => {
  const { file, folder, workers, providers, strategies, strategy } = facts
  const { on, off, others } = providers
  const count = `${on.length} on${others === 0 ? "" : `; nothing is set for ${others} more`}`
  const further = strategies.filter((id) => id !== strategy)
  const lines: ReadonlyArray<SummaryLine> = [
    ["version", [facts.versions]],
    ["address", [`${facts.address}${workers === 1 ? "" : `, ${workers} workers`}`]],
    ["configuration", [file ?? `no file in ${folder}`]],
    ["data", [facts.data]],
    ["providers", [on.length === 0 ? count : `${on.map(({ slug }) => slug).join(", ")} (${count})`]],
    ["no key", on.flatMap(({ slug, key, lacksKey }) => (lacksKey ? [`${slug}: ${key}`] : []))],
    ["off", off.map(({ slug, why }) => `${slug}: ${why}`)],
    ["models", [`${facts.models} at ${plural(facts.hosts, "host")}${pricesIn(facts.prices)}`]],
    ["strategy", [`${strategy}${further.length === 0 ? "" : `; requests may ask for ${further.join(", ")}`}`]],
    ["warning", facts.warnings],
  ]
  return lines.filter(([, values]) => values.length > 0)
}

/** Escape codes of the lines that somebody should look at; the others' names are faint. */
const colours: Readonly<Record<string, number>> = { "no key": 33, off: 33, warning: 33, problem: 31 }

/** For a terminal with the names in a column of their own, each once. Otherwise each line stands for itself: `off: acme: …`. */
export const writtenSummary = (lines: ReadonlyArray<SummaryLine>, { isTerminal, hasColour }: Style): string => {
  if (!isTerminal)
    return lines.flatMap(([name, values]) => values.map((value) => `${name}: ${plain(value)}\n`)).join("")
  const width = Math.max(...lines.map(([name]) => name.length)) + 2
  return lines
    .flatMap(([name, values]) =>
      values.map((value, at) => {
        const shown = (at === 0 ? name : "").padEnd(width)
        return `  ${hasColour ? `\u001b[${colours[name] ?? 2}m${shown}\u001b[0m` : shown}${plain(value)}\n`
      }),
    )
    .join("")
}
