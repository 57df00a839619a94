/** Processes whose event loop is blocked, or that are stopped. docs/guarantees.md#g33, docs/decisions/0047 */
import { afterAll, describe, expect, test } from "bun:test"
import { existsSync, mkdirSync, writeFileSync } from "node:fs"
import { join } from "node:path"
import { until } from "../../support/clocks/until.ts"
import { firstKey, type Installation, install, type RunningGateway } from "../../support/gateways/process.ts"
import { configFor, scriptedHost, streamAnswer, wholeAnswer } from "../../support/hosts/host.ts"
import { ownPluginsFolder } from "../../support/hosts/ownPlugins.ts"
import { describePostgres, makeDatabase, urlOf } from "../../support/storage/postgres.ts"

const patience = 1_800_000

/** For processes to start or end, and for the watchdog to notice, on a busy machine. */
const processMs = 550_000

const closing: Array<() => unknown> = []
afterAll(async () => {
  for (const close of closing.toReversed()) await close()
})

/**
 * A provider one of whose hooks never ends for an answer that says so, and a strategy that never ends. The hook sleeps in its loop. The
 * strategy sleeps for most of the time until the watchdog ends the process, and computes then. The event loop is blocked by both, and the
 * processors are left to other tests.
 */
const looping = `
  import * as Schema from "effect/Schema"
  import { chatProtocol, defineProvider, httpError } from "headgate/plugin"
  const chat = chatProtocol()
  const mayLoop = (value) => { while (JSON.stringify(value).includes("for ever")) Bun.sleepSync(50); return value }
  const decoder = (...asked) => {
    const right = chat.decoder(...asked)
    return { ...right, event: (name, data) => right.event(name, mayLoop(data)) }
  }
  const protocol = { ...chat, transparent: false, decoder, decode: (head, body, context) => chat.decode(head, mayLoop(body), context) }
  export default defineProvider({
    id: "looping", name: "Looping", config: Schema.Struct({}),
    load: () => ({ protocols: { chat: protocol }, error: httpError }),
  })
`

const loopingStrategy = `
  import * as Schema from "effect/Schema"
  import { defineStrategy } from "headgate/plugin"
  export default defineStrategy({ id: "endless", config: Schema.Struct({}), load: () => () => { Bun.sleepSync(8000); for (;;); } })
`

const withPlugins = (installation: Installation): string => {
  const folder = join(installation.folder, "plugins")
  for (const [path, source] of [
    ["providers/looping", looping],
    ["strategies/endless", loopingStrategy],
  ] as const) {
    mkdirSync(join(folder, path), { recursive: true })
    writeFileSync(join(folder, path, "index.ts"), source)
  }
  return folder
}

interface Started {
  readonly gateway: RunningGateway
  /** Asks for an answer that ends, or for one that the plugin never reads to its end. The status, or `undefined` where there was none. */
  readonly ask: (more?: {
    readonly forEver?: boolean
    readonly stream?: boolean
    readonly sort?: string
    /** By default short for an answer that never ends, and long for others, as a busy machine needs it. */
    readonly withinMs?: number
  }) => Promise<number | undefined>
}

const started = async (
  server: Record<string, unknown> = {},
  env: Readonly<Record<string, string>> = {},
): Promise<Started> => {
  const host = scriptedHost((body) => {
    const text = JSON.stringify(body).includes("for ever") ? "for ever" : "hello"
    return body["stream"] === true ? streamAnswer([text]) : wholeAnswer(text)
  })
  closing.push(host.stop)
  const installation = install()
  closing.push(installation.remove)
  const { providers, models } = configFor({ a: { url: host.url } })
  const second = configFor({ b: { url: host.url } })
  const gateway = installation.start({
    config: {
      discovery: { environment: false, local: false },
      plugins: { folders: [withPlugins(installation), ownPluginsFolder()] },
      providers: { a: { ...providers["a"], plugin: "looping" }, ...second.providers },
      models: models.map((model, at) => ({
        ...Object(model),
        hosts: [...Object(model).hosts, ...Object(second.models[at]).hosts],
      })),
      server: { drain_s: 5, ...server },
    },
    env,
  })
  closing.push(() => gateway.kill("SIGKILL"))
  const url = await gateway.url()
  await until(() => gateway.out().includes("curl "), "the keys", processMs)
  const key = firstKey(gateway.out())
  const ask: Started["ask"] = async ({
    forEver = false,
    stream = false,
    sort,
    withinMs = forEver ? 5000 : processMs,
  } = {}) => {
    try {
      const response = await fetch(`${url}/chat/completions`, {
        method: "POST",
        headers: { authorization: `Bearer ${key}`, "content-type": "application/json", connection: "close" },
        body: JSON.stringify({
          model: "acme/small",
          messages: [{ role: "user", content: forEver ? "for ever" : "hello" }],
          max_tokens: 50,
          stream,
          provider: { ...(sort === undefined ? { only: ["a"] } : { sort }) },
        }),
        signal: AbortSignal.timeout(withinMs),
      })
      await response.text()
      return response.status
    } catch {
      return undefined
    }
  }
  return { gateway, ask }
}

const within = async <A>(promise: Promise<A>, what: string): Promise<A> => {
  const late = Promise.withResolvers<never>()
  const timer = setTimeout(() => late.reject(new Error(`waited in vain for ${what}`)), processMs)
  return Promise.race([promise, late.promise]).finally(() => clearTimeout(timer))
}

describe.concurrent("one process", () => {
  test.each([
    ["the decoding of an answer", { forEver: true }, "looping.protocols.chat.decode"],
    ["the decoding of a stream", { forEver: true, stream: true }, "looping.protocols.chat.decoder.event"],
    ["a strategy", { sort: "endless" }, "endless.rank"],
  ])(
    "with %s that never ended said nothing and stayed for ever: it names the hook, and ends with 70",
    async (_, asked, hook) => {
      const { gateway, ask } = await started()
      expect(await ask()).toBe(200)
      void ask(asked)
      expect(await within(gateway.exited, "its end")).toBe(70)
      expect(gateway.err()).toMatch(
        new RegExp(`^time=\\S+ level=fatal event=blocked message="plugin ${hook}: .*blocked.*" hook=${hook}$`, "m"),
      )
    },
    patience,
  )

  test(
    "with a hook that never ended was deaf to SIGTERM: it ends",
    async () => {
      const { gateway, ask } = await started()
      await ask({ forEver: true })
      gateway.kill("SIGTERM")
      expect(await within(gateway.exited, "its end")).toBe(70)
    },
    patience,
  )

  test(
    "that was stopped for longer than the watchdog waits goes on",
    async () => {
      const { gateway, ask } = await started()
      process.kill(gateway.pid, "SIGSTOP")
      await Bun.sleep(13_000)
      process.kill(gateway.pid, "SIGCONT")
      await until(async () => (await ask()) === 200, "an answer", processMs)
      await Bun.sleep(2500)
      expect(await ask()).toBe(200)
      expect(gateway.err()).not.toContain("level=fatal")
      gateway.kill("SIGTERM")
      expect(await within(gateway.exited, "its end")).toBe(0)
    },
    patience,
  )
})

/** The process ids of the workers that have served, in the order of their numbers. */
const pidsOf = (gateway: RunningGateway): ReadonlyArray<number> =>
  Array.from(gateway.err().matchAll(/"worker \d+ serves" .*?\bpid=(\d+)/g), ([, pid]) => Number(pid))

const isAlive = (pid: number): boolean => existsSync(`/proc/${pid}/exe`)

const twoWorkers = async (): Promise<Started> => {
  const both = await started({ workers: 2 }, { HEADGATE_STORAGE: urlOf(await makeDatabase()) })
  await until(() => pidsOf(both.gateway).length === 2, "worker 2", processMs)
  return both
}

/** Asks again and again until `done`: how many of the requests were answered. */
const askedUntil = async ({ ask }: Started, done: () => boolean) => {
  let answered = 0
  const asking = async () => {
    // Some of them come to the worker that does not answer.
    for (; !done(); await Bun.sleep(200)) if ((await ask({ withinMs: 5000 })) === 200) answered += 1
  }
  await within(Promise.all(Array.from({ length: 4 }, asking)), "the other worker")
  return answered
}

describePostgres("two workers", () => {
  test(
    "of which one was blocked had one left for ever: it is replaced, and the other one answers meanwhile",
    async () => {
      const both = await twoWorkers()
      void both.ask({ forEver: true })
      expect(await askedUntil(both, () => pidsOf(both.gateway).length === 3)).toBeGreaterThan(0)
      expect(both.gateway.err()).toMatch(/level=fatal .* hook=looping\.protocols\.chat\.decode worker=\d$/m)
      expect(both.gateway.err()).toMatch(/"worker \d ended with exit code 70"/)
      both.gateway.kill("SIGTERM")
      await within(both.gateway.exited, "its end")
      expect(pidsOf(both.gateway).filter(isAlive)).toEqual([])
    },
    patience,
  )

  test(
    "of which one was stopped had one left for ever: it is killed and replaced, and the other one answers meanwhile",
    async () => {
      const both = await twoWorkers()
      const [, second = 0] = pidsOf(both.gateway)
      process.kill(second, "SIGSTOP")
      expect(await askedUntil(both, () => pidsOf(both.gateway).length === 3)).toBeGreaterThan(0)
      expect(isAlive(second)).toBe(false)
      expect(both.gateway.err()).toMatch(/"worker 2 has done nothing for 16 seconds and is killed" worker=2/)
      both.gateway.kill("SIGTERM")
      expect(await within(both.gateway.exited, "its end")).toBe(0)
    },
    patience,
  )

  test.each([
    ["blocked", (both: Started) => both.ask({ forEver: true })],
    ["stopped", async (both: Started) => void process.kill(pidsOf(both.gateway)[0] ?? 0, "SIGSTOP")],
  ])(
    "of which one was %s outlived SIGTERM: both end",
    async (_, breakOne) => {
      const both = await twoWorkers()
      await breakOne(both)
      both.gateway.kill("SIGTERM")
      await within(both.gateway.exited, "its end")
      expect(pidsOf(both.gateway).filter(isAlive)).toEqual([])
    },
    patience,
  )
})
