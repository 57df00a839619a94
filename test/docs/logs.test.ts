/** docs/reference/logEvents.md lists every event of the log, and `src` logs nothing that has no name. */
import { expect, test } from "bun:test"
import { readFileSync } from "node:fs"
import { Glob } from "bun"
import { logEvents, reservedFields } from "../../src/domain/log/events.ts"
import { hostEvents } from "../../src/domain/log/hostEvents.ts"
import type { LogEvent } from "../../src/domain/log/LogEvent.ts"
import { processEvents } from "../../src/domain/log/processEvents.ts"
import { requestEvents } from "../../src/domain/log/requestEvents.ts"
import { storageEvents } from "../../src/domain/log/storageEvents.ts"
import { watchEvents } from "../../src/domain/log/watchEvents.ts"

const page = readFileSync(new URL("../../docs/reference/logEvents.md", import.meta.url), "utf8")
const events: Readonly<Record<string, LogEvent>> = logEvents

test("the page lists every event, with its level and message", () => {
  const rows = page.split("\n").filter((line) => line.startsWith('| <a id="'))
  const cells = rows.map((row) => row.split(" | "))
  expect(cells.map(([first, level, text]) => [/`(\w+)`/.exec(first ?? "")?.[1], level, text])).toEqual(
    Object.entries(events).map(([name, { level, text }]) => [name, level, text]),
  )
  for (const [first] of cells) expect(first).toMatch(/^\| <a id="([a-z-]+)"><\/a>`[a-z_]+`$/)
})

test("no two parts of the table have one name", () => {
  const parts = [processEvents, requestEvents, hostEvents, storageEvents, watchEvents]
  const names = parts.flatMap((part) => Object.keys(part))
  expect([names.length, Object.keys(events).toSorted()]).toEqual([new Set(names).size, names.toSorted()])
})

test("names and facts of messages are as they are written in a log", () => {
  for (const [name, { text }] of Object.entries(events)) {
    expect(name).toMatch(/^[a-z]+(_[a-z]+)*$/)
    for (const [, fact = ""] of text.matchAll(/\{(\w+)\}/g)) expect(reservedFields.has(fact)).toBe(false)
  }
})

const sources = [...new Glob("src/**/*.ts").scanSync()].map((file) => [file, readFileSync(file, "utf8")] as const)

/** How `src` logs: by `logEvent`, or with the name of an event among the fields. */
const named = /^\(\s*"[^"]*",\s*\{\s*(?:\.\.\.[\w.]+,\s*)?event: "(\w+)"/

test("src logs nothing that has no name of the table", () => {
  const nameless = sources.flatMap(([file, text]) =>
    Array.from(
      text.matchAll(/Effect\.log(?:WithLevel|Trace|Debug|Info|Warning|Error|Fatal)?\b/g),
      ({ index, 0: call }) => {
        const name = named.exec(text.slice(index + call.length))?.[1]
        return name !== undefined && Object.hasOwn(events, name) ? [] : [`${file}: ${call}`]
      },
    ).flat(),
  )
  expect(nameless).toEqual(["src/process/log/logEvent.ts: Effect.logWithLevel"])
})

test("every event is one that src can log", () => {
  const all = sources
    .filter(([file]) => !file.startsWith("src/domain/log/"))
    .map(([, text]) => text)
    .join("\n")
  // The access log is written by its own observer.
  const unused = Object.keys(events).filter(
    (name) => name !== "request" && !all.includes(`"${name}"`) && !all.includes(`.${name}`),
  )
  expect(unused).toEqual([])
})
