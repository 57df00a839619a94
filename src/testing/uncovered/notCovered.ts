/**
 * What the checks of a plugin did not look at, since no sample shows it or only the vendor's document tells: a run without failures
 * says nothing of it.
 */
import type { Check } from "../Check.ts"
import { loadedAhead, type ProviderSubject, protocolSubjects } from "../subject.ts"
import { factsToCompare } from "./facts.ts"
import type { NotCovered } from "./Row.ts"
import { unshown } from "./unshown.ts"

export const notCovered = async (given: ProviderSubject): Promise<ReadonlyArray<NotCovered>> => {
  const subject = await loadedAhead(given)
  const protocols = await Promise.all(protocolSubjects(subject).map((protocol) => unshown(protocol)))
  return [...protocols.flat(), ...(await factsToCompare(subject))]
}

/** A table of text, one line each; "": everything was looked at. */
export const tableOf = (id: string, rows: ReadonlyArray<NotCovered>): string => {
  if (rows.length === 0) return ""
  const lines = rows.map(({ of, what, how }) => `  ${of}: ${what}\n    ${how}`)
  return `\nNot covered by the checks of ${id}:\n${lines.join("\n")}\n`
}

/** Prints the table, and passes. */
export const uncoveredChecks = (subject: ProviderSubject): ReadonlyArray<Check> => [
  {
    name: "what is not covered stands in a table",
    run: async () => {
      const table = tableOf(subject.plugin.id, await notCovered(subject))
      if (table !== "") process.stderr.write(table)
    },
  },
]
