/** What a line of the log comes to, in each of its forms. docs/logs.md */
import { describe, expect, test } from "bun:test"
import * as Cause from "effect/Cause"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Logger from "effect/Logger"
import * as LogLevel from "effect/LogLevel"
import * as Redacted from "effect/Redacted"
import { formatFor } from "../../src/process/log/chooseFormat.ts"
import { type LogFormat, writerOf } from "../../src/process/log/formats.ts"
import { lineOf } from "../../src/process/log/lineOf.ts"
import { logEvent } from "../../src/process/log/logEvent.ts"

/** What is written of these effects. */
const written = (format: LogFormat, ...lines: ReadonlyArray<Effect.Effect<void>>): ReadonlyArray<string> => {
  const all: Array<string> = []
  const write = writerOf(format, false)
  const logger = Logger.make((options) => void all.push(write(lineOf(options))))
  const setting = Layer.merge(Logger.replace(Logger.defaultLogger, logger), Logger.minimumLogLevel(LogLevel.All))
  Effect.runSync(Effect.provide(Effect.all(lines), setting))
  return all
}

const one = (format: LogFormat, line: Effect.Effect<void>): string => written(format, line)[0] ?? ""

const opened = logEvent("breaker_opened", { host: "acme", model: "acme/small", forS: 30, requestId: undefined })
const time = String.raw`\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z`

describe("an event of the table", () => {
  test("has its name, level and message in each form, and its facts in snake case", () => {
    expect(one("logfmt", opened)).toMatch(
      new RegExp(
        `^time=${time} level=warn event=breaker_opened message="a circuit breaker opened" host=acme model=acme/small for_s=30$`,
      ),
    )
    expect(one("pretty", opened)).toMatch(
      new RegExp(`^${time} WARN  a circuit breaker opened  breaker_opened host=acme model=acme/small for_s=30$`),
    )
    expect(JSON.parse(one("json", opened))).toEqual({
      time: expect.stringMatching(new RegExp(`^${time}$`)),
      ...{ level: "warn", event: "breaker_opened", message: "a circuit breaker opened" },
      ...{ host: "acme", model: "acme/small", for_s: 30 },
    })
  })

  test("has facts in its message, and keeps them as fields; what the caller says as a whole is no field", () => {
    const stuck = logEvent("worker_stuck", { worker: 2, seconds: 30 })
    expect(one("logfmt", stuck)).toContain(
      'message="worker 2 has done nothing for 30 seconds and is killed" worker=2 seconds=30',
    )
    const said = logEvent("configuration_warning", { text: "no such folder" })
    expect(one("logfmt", said)).toEndWith('event=configuration_warning message="no such folder"')
  })

  test("has its cause as a field, with the place in the code", () => {
    const line = JSON.parse(one("json", logEvent("figures_failed", {}, new Error("no disk"))))
    expect(line.cause).toStartWith("Error: no disk\n    at ")
  })
})

describe("values of callers and hosts", () => {
  const nasty = 'a\nb\r\tc"d=\\ \u0000\u009b31m\u202e\u2028\ud800 e'
  const line = Effect.logError(
    nasty,
    { host: nasty, [nasty]: 1, nested: { deep: [nasty] } },
    Cause.die(new Error(nasty)),
  )

  test.each(["pretty", "logfmt", "json"] as const)("stay on one line, and cannot command a terminal: %s", (format) => {
    const text = one(format, line)
    expect(text).not.toMatch(/[\p{Cc}\p{Cf}\p{Zl}\p{Zp}]/u)
    expect(text).toContain("\\n")
  })

  test("are read again from JSON as they were", () => {
    const { message, host, nested } = JSON.parse(one("json", line))
    const kept = nasty.toWellFormed().replace("\ufffd", "\ud800")
    expect([message, host, nested]).toEqual([kept, kept, { deep: [kept] }])
  })

  test("are cut where they are long", () => {
    const long = JSON.parse(
      one("json", Effect.logInfo("x", { text: "y".repeat(100_000), list: ["z".repeat(100_000)] })),
    )
    expect([long.text.length, long.list.length]).toEqual([expect.any(Number), expect.any(Number)])
    expect(one("json", Effect.logInfo("y".repeat(100_000))).length).toBeLessThan(10_000)
    expect(long.text.length + long.list.length).toBeLessThan(20_000)
  })

  test.each(["pretty", "logfmt", "json"] as const)("that cannot be read do no harm: %s", (format) => {
    const circle: { self?: unknown } = {}
    circle.self = circle
    const odd = { circle, big: 10n, none: null, symbol: Symbol("s"), secret: Redacted.make("key"), date: new Date(0) }
    const text = one(format, Effect.logInfo("odd", odd))
    expect(text).toContain("1970-01-01T00:00:00.000Z")
    expect(text).not.toContain("key")
  })
})

test("a field never has the name of another part of the line", () => {
  const names = { time: 1, level: 2, message: 3, cause: 4, event: 5 }
  const text = one("json", Effect.annotateLogs(Effect.logInfo("said", names), { level: "annotated", worker: 3 }))
  expect(JSON.parse(text)).toEqual({
    time: expect.any(String),
    ...{ level: "info", event: "other", message: "said", worker: 3 },
    ...{ time_: 1, level_: 2, message_: 3, cause_: 4, event_: 5 },
  })
  expect(text.match(/"(time|level|event|message|cause)":/g)).toHaveLength(4)
})

test("had two fields `message` on one line, and `code=undefined`", () => {
  const line = one("logfmt", Effect.logWarning("what was tried", "why it failed", { host: "acme", code: undefined }))
  expect(line.match(/message=/g)).toHaveLength(1)
  expect(line).toContain('message="what was tried: why it failed"')
  expect(line).toContain("host=acme")
  expect(line).not.toContain("undefined")
})

test("an app's logger gets the message first, then the facts", () => {
  const seen: Array<unknown> = []
  const logger = Logger.make(({ message, logLevel }) => void seen.push([logLevel.label, message]))
  Effect.runSync(Effect.provide(opened, Logger.replace(Logger.defaultLogger, logger)))
  const facts = { event: "breaker_opened", host: "acme", model: "acme/small", for_s: 30 }
  expect(seen).toEqual([["WARN", ["a circuit breaker opened", facts]]])
})

test.each<[string, Readonly<Record<string, string>>, boolean, boolean, LogFormat]>([
  ["in a terminal", {}, true, false, "pretty"],
  ["in a terminal of a container", { container: "podman" }, true, true, "pretty"],
  ["under systemd", { JOURNAL_STREAM: "8:1" }, false, false, "json"],
  ["as a unit that writes to a file", { INVOCATION_ID: "a" }, false, false, "json"],
  ["in Kubernetes", { KUBERNETES_SERVICE_HOST: "10.0.0.1" }, false, false, "json"],
  ["in a container that sets nothing", {}, false, true, "json"],
  ["in a pipe", {}, false, false, "logfmt"],
  ["where it was chosen", { HEADGATE_LOG_FORMAT: "logfmt", JOURNAL_STREAM: "8:1" }, true, true, "logfmt"],
  ["where what was chosen is unknown", { HEADGATE_LOG_FORMAT: "xml" }, false, false, "logfmt"],
])("the form %s", (_, environment, isTerminal, isContainer, format) => {
  expect(formatFor({ environment, isTerminal, isContainer: () => isContainer })).toBe(format)
})
