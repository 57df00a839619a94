/**
 * What the program has is on a page: settings, variables, commands, flags, headers, codes, filters, routes, parameters, events, metrics.
 * The lists are taken from the code. docs/reference
 */
import { describe, expect, test } from "bun:test"
import { readFileSync } from "node:fs"
import { resolve } from "node:path"
import { Glob } from "bun"
import { memberRows } from "../../scripts/configSchema.ts"
import { operations } from "../../scripts/reference/api.ts"
import { followingOf } from "../../src/cli/flags.ts"
import type { CommandTree } from "../../src/cli/misspelt.ts"
import { tree } from "../../src/cli/run.ts"
import { variables } from "../../src/config/environment.ts"
import { alertRules } from "../../src/domain/alerts/Alert.ts"
import { filterNames } from "../../src/domain/failures/Availability.ts"
import { requestOutcomes } from "../../src/domain/failures/RequestOutcome.ts"
import { hostEvents } from "../../src/domain/log/hostEvents.ts"
import { processEvents } from "../../src/domain/log/processEvents.ts"
import { requestEvents } from "../../src/domain/log/requestEvents.ts"
import { storageEvents } from "../../src/domain/log/storageEvents.ts"
import { watchEvents } from "../../src/domain/log/watchEvents.ts"
import { hardFilters, softFilters } from "../../src/domain/routing/routeFilters.ts"
import * as headers from "../../src/http/headers.ts"
import { allFamilies } from "../../src/services/metrics/families.ts"

const root = resolve(import.meta.dir, "../..")

const filesOf = (...patterns: ReadonlyArray<string>): ReadonlyArray<string> =>
  patterns.flatMap((pattern) => [...new Glob(pattern).scanSync({ cwd: root })]).toSorted()

const read = (file: string): string => readFileSync(resolve(root, file), "utf8")

const pages = filesOf("docs/*.md", "docs/reference/*.md").map(read).join("\n")
const code = filesOf("src/**/*.ts")

/** Whether a page has the name, in small letters or capitals, and not as a part of a longer one. */
const isOnAPage = (name: string): boolean => {
  const plain = name.replace(/[.*+?^${}()|[\]\\]/g, "\\$&")
  return new RegExp(`(?<![\\w-])${plain}(?![\\w-])`, "i").test(pages)
}

/** The names that no page has. */
const missing = (names: Iterable<string>): ReadonlyArray<string> =>
  [...new Set(names)].filter((name) => !isOnAPage(name))

/** What the pattern finds in the code: its first group. */
const inCode = (pattern: RegExp): ReadonlyArray<string> =>
  code.flatMap((file) => Array.from(read(file).matchAll(pattern), ([, name = ""]) => name))

const namesOfHeaders = Object.entries(headers)
  .filter(([name]) => /Headers?$/.test(name))
  .flatMap(([, value]) => [value].flat())
  .filter((value) => typeof value === "string")

interface Place {
  readonly words: string
  readonly flags: ReadonlyArray<string>
}

const placesOf = ({ descriptor, commands }: CommandTree, words: string): ReadonlyArray<Place> => [
  { words, flags: followingOf(descriptor).flags.map(({ name }) => `--${name}`) },
  ...Array.from(commands, ([name, command]) => placesOf(command, `${words} ${name}`)).flat(),
]

const places = placesOf(tree, "headgate")

const parameters = Object.values(operations()).flatMap((methods) =>
  Object.values(methods).flatMap(({ parameters: all = [] }) => all.map(({ name }) => name)),
)

const events = [hostEvents, processEvents, requestEvents, storageEvents, watchEvents].flatMap(Object.keys)

/** By what they are called; each has to be on a page of `docs`. */
const lists: Readonly<Record<string, ReadonlyArray<string>>> = {
  settings: memberRows().map((row) => /`([^`]+)`/.exec(row)?.[1] ?? row),
  variables: Object.keys(variables),
  commands: places.map(({ words }) => words),
  flags: places.flatMap(({ flags }) => flags),
  headers: namesOfHeaders,
  "headers that the code reads or writes by their names": inCode(/["'`](x-(?:gw|router|openrouter)-[a-z-]+)["'`]/gi),
  outcomes: requestOutcomes,
  filters: [...hardFilters, ...softFilters].map(({ name }) => name),
  "filters as errors name them": [...filterNames.values()].flatMap(({ excludedBy }) => excludedBy ?? []),
  routes: Object.keys(operations()),
  parameters,
  "events of the log": events,
  metrics: allFamilies.map(({ name }) => name),
  "rules of alerts": alertRules,
}

describe("on a page of docs", () => {
  test.each(Object.entries(lists))("are all %s", (_name, names) => {
    expect(names.length).toBeGreaterThan(3)
    expect(missing(names)).toEqual([])
  })

  test("a name that the program does not have is not found", () => {
    expect(missing(["HEADGATE_PORTS", "x-gw-hos", "no_such_filter"])).toHaveLength(3)
  })
})

/** Set by the program for processes that it starts itself. */
const ownVariables = ["HEADGATE_WORKER", "HEADGATE_PLUGIN_FOLDER"]

test("no variable is read that is not a setting", () => {
  const names = inCode(/(?:process\.env|environment|env)(?:\?\.)?\[["'](HEADGATE_[A-Z_]+)["']\]/g)
  expect(names).toContain("HEADGATE_LOG_FORMAT")
  expect([...new Set(names)].filter((name) => variables[name] === undefined && !ownVariables.includes(name))).toEqual(
    [],
  )
})

test("every status of an error is in docs/reference/errors.md", () => {
  const page = read("docs/reference/errors.md")
  const statuses = read("src/http/errorBody.ts").matchAll(/\bstatus: ([45]\d\d)\b/g)
  expect(Array.from(statuses, ([, status]) => status).filter((status) => !page.includes(`\n| ${status} |`))).toEqual([])
})

test("every word for an error is in docs/reference/errors.md", () => {
  const page = read("docs/reference/errors.md")
  const types = read("src/http/errorBody.ts").matchAll(/errorType: "([a-z_]+)"/g)
  expect(Array.from(types, ([, type = ""]) => type).filter((type) => !page.includes(`\`${type}\``))).toEqual([])
})
