/** What plugins log: under their ids, without secrets, and bounded. docs/plugin-contract.md#log */
import { describe, expect, test } from "bun:test"
import * as Layer from "effect/Layer"
import * as Logger from "effect/Logger"
import * as LogLevel from "effect/LogLevel"
import * as Redacted from "effect/Redacted"
import * as Schema from "effect/Schema"
import {
  chatProtocol,
  defineProvider,
  defineStrategy,
  httpError,
  type PluginContext,
  type PluginFields,
} from "headgate/plugin"
import { providerChecks } from "headgate/testing"
import openaiCompatible from "../../plugins/providers/openai-compatible/index.ts"
import { writerOf } from "../../src/process/log/formats.ts"
import { lineOf } from "../../src/process/log/lineOf.ts"
import { closeAfterEach, opened, startWatched } from "../support/gateways/watched.ts"
import { configFor, scriptedHost, wholeAnswer } from "../support/hosts/host.ts"

closeAfterEach()

type Say = (log: PluginContext["log"]) => void

/** Says something whenever it writes a request. */
const talking = (say: Say) => {
  const chat = chatProtocol()
  return defineProvider({
    id: "talking",
    name: "Talking",
    config: Schema.Struct({}),
    load: (_, { log }) => ({
      protocols: {
        chat: {
          ...chat,
          encode: (request, host) => {
            say(log)
            return chat.encode(request, host)
          },
        },
      },
      credentials: { token: Redacted.make("token-that-must-not-leak") },
      error: httpError,
    }),
  })
}

/** The lines of plugins, as JSON, after one request. */
const saidOf = async (say: Say, level = LogLevel.Debug) => {
  const lines: Array<Record<string, unknown>> = []
  const write = writerOf("json", false)
  const logger = Logger.make((options) => {
    const line = JSON.parse(write(lineOf(options)))
    if (line.event === "plugin_message") lines.push(line)
  })
  const host = opened(scriptedHost(() => wholeAnswer("hello")))
  const { providers, ...config } = configFor({ acme: host })
  const gateway = await startWatched({
    config: {
      ...config,
      providers: { acme: { ...providers["acme"], plugin: "talking", api_key: "key-of-the-provider" } },
    },
    plugins: [talking(say)],
    setting: Layer.merge(Logger.add(logger), Logger.minimumLogLevel(level)),
  })
  const answer = await gateway.chat({
    model: "acme/small",
    messages: [{ role: "user", content: "hi" }],
    max_tokens: 10,
  })
  return { lines, status: answer.status, text: await answer.text() }
}

describe("a line of a plugin", () => {
  test("has its level, text and facts, and the plugin's id", async () => {
    const { lines } = await saidOf((log) => log.warn("a model was renamed", { from: "old", count: 2, none: null }))
    expect(lines).toEqual([
      {
        time: expect.any(String),
        ...{ level: "warn", event: "plugin_message", message: "a model was renamed" },
        ...{ from: "old", count: 2, none: null, plugin: "talking" },
      },
    ])
  })

  test("has no secret that the gateway knows: keys, credentials", async () => {
    const { lines } = await saidOf((log) =>
      log.info("with key-of-the-provider", { token: "token-that-must-not-leak", "key-of-the-provider": 1 }),
    )
    const shown = JSON.stringify(lines)
    expect(shown).toContain("with [secret]")
    expect(shown).not.toContain("key-of-the-provider")
    expect(shown).not.toContain("must-not-leak")
  })

  test("is bounded, and cannot take the name of another part of a line", async () => {
    const fields = Object.fromEntries(Array.from({ length: 100 }, (_, at) => [`f${at}`, "y".repeat(10_000)]))
    const { lines } = await saidOf((log) =>
      log.error("x".repeat(100_000), { event: "breaker_opened", plugin: "echo", ...fields }),
    )
    expect(JSON.stringify(lines).length).toBeLessThan(15_000)
    expect(lines).toMatchObject([
      { event: "plugin_message", plugin: "talking", event_: "breaker_opened", plugin_: "echo" },
    ])
  })

  test("below the level of the log is not made", async () => {
    const { lines } = await saidOf((log) => {
      log.debug("quiet")
      log.info("heard")
    }, LogLevel.Info)
    expect(lines.map(({ message }) => message)).toEqual(["heard"])
  })

  test("that is nothing of the kind does no harm: the request is served", async () => {
    const odd: unknown = {
      toString: () => {
        throw new Error("no text")
      },
    }
    const { status } = await saidOf((log) => {
      // A plugin in JavaScript.
      log.info(odd as string, odd as PluginFields)
      log.info("x", { odd } as unknown as PluginFields)
    })
    expect(status).toBe(200)
  })
})

test("a strategy has a logger, too", async () => {
  const lines: Array<unknown> = []
  const logger = Logger.make(({ message }) => void lines.push(message))
  const host = opened(scriptedHost(() => wholeAnswer("hello")))
  const strategy = defineStrategy({
    id: "wordy",
    config: Schema.Struct({}),
    load:
      (_, { log }) =>
      (candidates) => {
        log.info("ranks", { candidates: candidates.length })
        return candidates
      },
  })
  const gateway = await startWatched({
    config: configFor({ acme: host, beta: host }, { routing: { strategy: "wordy" } }),
    plugins: [strategy, openaiCompatible],
    setting: Logger.add(logger),
  })
  await (await gateway.chat({ model: "acme/small", messages: [{ role: "user", content: "hi" }] })).text()
  expect(lines).toContainEqual(["ranks", { event: "plugin_message", candidates: 2, plugin: "wordy" }])
})

test("without a context a plugin loads, and what it says is not heard", () => {
  const heard: Array<string> = []
  const plugin = talking((log) => log.info("x"))
  expect(plugin.load({})._tag).toBe("Right")
  const log = { debug: () => {}, info: (text: string) => void heard.push(text), warn: () => {}, error: () => {} }
  const loading = defineStrategy({
    id: "loading",
    config: Schema.Struct({}),
    load: (_, context) => {
      context.log.info("loaded")
      return (candidates) => candidates
    },
  })
  loading.load({})
  loading.load({}, { log })
  expect(heard).toEqual(["loaded"])
})

describe("the kit takes a plugin that logs", async () => {
  const checks = await providerChecks({
    plugin: talking((log) => log.info("encodes")),
    config: { api_key: "a-key-that-must-not-leak", base_url: "https://talking.example/v1" },
  })
  // No samples are given.
  for (const check of checks) if (!check.name.includes("samples show")) test(check.name, check.run)
})
