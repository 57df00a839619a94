/** The JUnit report of `bun test`: what it says, and a report in which unsteady tests have passed. For `test.ts` and `.ci/count.ts`. */

import { readFileSync } from "node:fs"

export interface TestCase {
  /** From the folder of the repository. */
  readonly file: string
  /** With the names of the blocks that it is in. */
  readonly name: string
  readonly outcome: "passed" | "failed" | "skipped"
  /** It failed beside other files, and passed when its file ran alone. */
  readonly isUnsteady: boolean
}

const entities: Readonly<Record<string, string>> = { lt: "<", gt: ">", quot: '"', apos: "'", amp: "&" }

const attribute = (tag: string, name: string): string =>
  (new RegExp(`\\s${name}="([^"]*)"`).exec(tag)?.[1] ?? "").replace(
    /&(?:#(x?)([\da-f]+)|(\w+));/gi,
    (entity, hex: string, code: string, known: string) =>
      code === undefined ? (entities[known] ?? entity) : String.fromCodePoint(Number.parseInt(code, hex ? 16 : 10)),
  )

/** Tags and what is between them, in turn. */
const pieces = (xml: string): Array<string> => xml.split(/(<[^>]*>)/)

const isTag = (piece: string, ...names: ReadonlyArray<string>): boolean =>
  names.some((name) => piece.startsWith(`<${name}`) && !/\w/.test(piece[name.length + 1] ?? ""))

/** A report; empty where none was written. */
export const reportIn = (path: string): string => {
  try {
    return readFileSync(path, "utf8")
  } catch {
    return ""
  }
}

const mark = "unsteady"

export const testCases = (xml: string): ReadonlyArray<TestCase> => {
  const cases: Array<TestCase> = []
  for (const piece of pieces(xml)) {
    const last = cases.at(-1)
    if (isTag(piece, "testcase")) {
      const name = [attribute(piece, "classname"), attribute(piece, "name")].filter((part) => part !== "").join(" > ")
      cases.push({ file: attribute(piece, "file"), name, outcome: "passed", isUnsteady: false })
    } else if (last === undefined) continue
    else if (isTag(piece, "failure", "error")) cases[cases.length - 1] = { ...last, outcome: "failed" }
    else if (isTag(piece, "skipped")) cases[cases.length - 1] = { ...last, outcome: "skipped" }
    else if (isTag(piece, "property") && attribute(piece, "name") === mark)
      cases[cases.length - 1] = { ...last, isUnsteady: true }
  }
  return cases
}

/** A count of the whole report, as its first tag says it. */
export const counted = (xml: string, name: "tests" | "failures" | "errors" | "skipped"): number =>
  Number(attribute(/<testsuites\b[^>]*>/.exec(xml)?.[0] ?? "", name))

/** The same report, but the failed tests of these files have passed, and are marked as unsteady. */
export const withUnsteady = (xml: string, files: ReadonlySet<string>): string => {
  const all = pieces(xml)
  /** Where the suites begin that the piece is in. */
  const suites: Array<number> = []
  let isSteadyAlone = false
  let isFailure = false
  for (const [at, piece] of all.entries()) {
    if (isTag(piece, "testsuites", "testsuite")) suites.push(at)
    else if (isTag(piece, "/testsuites", "/testsuite")) suites.pop()
    else if (isTag(piece, "testcase")) isSteadyAlone = files.has(attribute(piece, "file"))
    else if (isSteadyAlone && isTag(piece, "failure", "error")) {
      isFailure = !piece.endsWith("/>")
      const counts = isTag(piece, "error") ? "errors" : "failures"
      for (const suite of suites) all[suite] = lessOne(all[suite] ?? "", counts)
      all[at] = `<properties><property name="${mark}" value="failed beside other files, passed alone" /></properties>`
    } else if (isFailure) {
      isFailure = !isTag(piece, "/failure", "/error")
      all[at] = ""
    }
  }
  return all.join("")
}

const lessOne = (tag: string, count: string): string =>
  tag.replace(
    new RegExp(`(\\s${count}=")(\\d+)"`),
    (_, before: string, number: string) => `${before}${Number(number) - 1}"`,
  )
