/**
 * Counts which recorded cases the tests of a run held the protocols to. The table is printed when the last test of a process
 * has ended (with `bun test --parallel`: after each file, of that file).
 */
import { afterAll } from "bun:test"
import { type RecordedCase, recordedIds } from "./recordings.ts"

/** `excluded`: not tested, with the reason. */
export type Outcome = "held" | "failed" | { readonly excluded: string }

const reported = new Map<string, { readonly recorded: RecordedCase; outcome: Outcome }>()

/** A case that was recorded at a vendor without a folder of its own: by the host of its request. */
const vendors: ReadonlyArray<readonly [host: RegExp, slug: string]> = [
  [/perplexity\.ai$/, "perplexity"],
  [/minimax\.io$/, "minimax"],
  [/cerebras\.ai$/, "cerebras"],
  [/huggingface\.co$/, "huggingface"],
  [/z\.ai$/, "z-ai"],
]

/** The slug of the provider that a case was recorded at. */
export const providerOf = ({ provider, request }: RecordedCase): string =>
  provider === "openai-compatible"
    ? (vendors.find(([host]) => host.test(request?.host ?? ""))?.[1] ?? provider)
    : provider

/** Tells the table of one test of a case. A case of which one test failed has failed, whatever the others say. */
export const recordedCase = (recorded: RecordedCase, outcome: Outcome): void => {
  const before = reported.get(recorded.id)
  if (before === undefined) reported.set(recorded.id, { recorded, outcome })
  else if (before.outcome !== "failed" && outcome !== "held") before.outcome = outcome
}

/** A test's body that tells the table how it ended: `test(recorded.id, reporting(recorded, () => expect(...)))`. */
export const reporting =
  (recorded: RecordedCase, check: () => unknown): (() => Promise<void>) =>
  async () => {
    try {
      await check()
      recordedCase(recorded, "held")
    } catch (cause) {
      recordedCase(recorded, "failed")
      throw cause
    }
  }

type Reported = ReadonlyArray<{ readonly recorded: RecordedCase; readonly outcome: Outcome }>

const held = (cases: Reported): number => cases.filter(({ outcome }) => outcome === "held").length

/** `12`: all of them held; `11/12`: eleven of twelve. */
const cell = (cases: Reported): string => {
  if (cases.length === 0) return ""
  return held(cases) === cases.length ? String(cases.length) : `${held(cases)}/${cases.length}`
}

const rendered = (rows: ReadonlyArray<ReadonlyArray<string>>): string => {
  const widths = (rows[0] ?? []).map((_, column) => Math.max(...rows.map((row) => row[column]?.length ?? 0)))
  const padded = (text: string, column: number) =>
    column === 0 ? text.padEnd(widths[0] ?? 0) : text.padStart(widths[column] ?? 0)
  return rows.map((row) => row.map(padded).join("  ").trimEnd()).join("\n")
}

/** The table as text. */
export const tableOf = (cases: Reported): string => {
  const providers = [...new Set(cases.map(({ recorded }) => providerOf(recorded)))].toSorted()
  const categories = [...new Set(cases.flatMap(({ recorded }) => recorded.categories))].toSorted()
  const row = (name: string, belongs: (recorded: RecordedCase) => boolean) => {
    const its = cases.filter(({ recorded }) => belongs(recorded))
    const cells = providers.map((provider) => cell(its.filter(({ recorded }) => providerOf(recorded) === provider)))
    return [name, ...cells, cell(its)]
  }
  const excluded = cases.flatMap(({ recorded, outcome }) =>
    typeof outcome === "object" ? [`excluded: ${recorded.id}: ${outcome.excluded}`] : [],
  )
  const all = recordedIds()
  const missing = all.filter((id) => !cases.some(({ recorded }) => recorded.id === id))
  const failed = cases.flatMap(({ recorded, outcome }) => (outcome === "failed" ? [`failed: ${recorded.id}`] : []))
  return [
    `Recorded traffic: ${cases.length} of ${all.length} cases, ${held(cases)} held, ${failed.length} failed, ${excluded.length} excluded.`,
    rendered([
      ["", ...providers, "all"],
      row("cases", () => true),
      row("streamed", ({ stream }) => stream),
      ...categories.map((category) => row(category, (recorded) => recorded.categories.includes(category))),
    ]),
    ...failed,
    ...excluded,
    // A run of a few files leaves out most of them, and does not say so.
    ...(missing.length <= 20 ? missing.map((id) => `no test ran: ${id}`) : []),
    "",
  ].join("\n")
}

/** Prints the table when the tests of this process have ended. For the preloaded module alone. */
export const printTableAtEnd = (): void =>
  afterAll(() => {
    if (reported.size > 0) process.stdout.write(`\n${tableOf([...reported.values()])}`)
  })
