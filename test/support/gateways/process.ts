/** The gateway as an operator runs it: a process of its own, with its files in a folder that is removed afterwards. */
import { mkdtempSync, rmSync, writeFileSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import { isJsonObject } from "../../../src/domain/json/json.ts"
import type { Storage } from "../../../src/services/storage/Storage.ts"
import * as SqliteStorage from "../../../src/sql/sqlite/SqliteStorage.ts"
import { ownPluginsFolder } from "../hosts/ownPlugins.ts"
import { type Ended, runCommand } from "./commands.ts"

const root = new URL("../../..", import.meta.url).pathname

export interface Installation {
  readonly folder: string
  readonly database: string
  /** Starts a process; `config` stays in force until another one is given. */
  readonly start: (options?: StartOptions) => RunningGateway
  /** Runs a command to its end, in a process that other tests' commands share. */
  readonly command: (words: ReadonlyArray<string>, env?: Readonly<Record<string, string>>) => Promise<Ended>
  /** The same in a terminal; what it shows. */
  readonly inTerminal: (words: ReadonlyArray<string>, env?: Readonly<Record<string, string>>) => Promise<string>
  /** Reads the ledger and the keys while no gateway runs. */
  readonly ask: <A, E>(question: Effect.Effect<A, E, Storage>) => Promise<A>
  readonly remove: () => Promise<void>
}

export interface StartOptions {
  readonly config?: unknown
  readonly env?: Readonly<Record<string, string>>
  /** Of its command line. */
  readonly words?: ReadonlyArray<string>
  /** Through a script runner, as `bun start` does, in a process group of its own: `kill` signals the whole group. */
  readonly asScript?: boolean
  /** Its standard error, in place of a pipe that is read: `err` stays empty. */
  readonly stderr?: number
}

export interface RunningGateway {
  readonly pid: number
  /** `http://127.0.0.1:<port>/api/v1`, once it listens. Rejects when it ends before. */
  readonly url: () => Promise<string>
  readonly out: () => string
  readonly err: () => string
  /** Its exit code; 128 and the signal's number when one ended it. */
  readonly exited: Promise<number>
  readonly kill: (signal: "SIGTERM" | "SIGKILL") => void
}

/** Not the developer's environment: a provider's key in it would turn that provider on. */
const bare = { PATH: process.env["PATH"] ?? "", HOME: tmpdir(), BUN_CONFIG_MAX_HTTP_REQUESTS: "4096" }

const collect = async (stream: ReadableStream<Uint8Array>, into: (text: string) => void): Promise<void> => {
  const decoder = new TextDecoder()
  for await (const bytes of stream) into(decoder.decode(bytes, { stream: true }))
}

interface Started {
  readonly env: Readonly<Record<string, string>>
  readonly words: ReadonlyArray<string>
  /** The folder of the package whose script it is. */
  readonly script: string | undefined
  readonly stderr: number | undefined
}

const spawn = ({ env, words, script, stderr }: Started) => {
  const options = { env, stdout: "pipe", stderr: stderr ?? "pipe" } as const
  if (script === undefined) return Bun.spawn([process.execPath, "src/main.ts", ...words], { ...options, cwd: root })
  const scripts = { start: `${process.execPath} ${join(root, "src/main.ts")}` }
  writeFileSync(join(script, "package.json"), JSON.stringify({ scripts }))
  return Bun.spawn([process.execPath, "run", "start", ...words], { ...options, cwd: script, detached: true })
}

const run = ({ env, words, script, stderr }: Started): RunningGateway => {
  let out = ""
  let err = ""
  const child = spawn({ env, words, script, stderr })
  const listens = Promise.withResolvers<string>()
  // Nobody may ask for the address.
  void listens.promise.catch(() => {})
  const told = Promise.all([
    collect(child.stdout, (text) => {
      out += text
      const url = /headgate listens at (\S+)\s/.exec(out)?.[1]
      if (url !== undefined) listens.resolve(url)
    }),
    child.stderr === undefined || typeof child.stderr === "number"
      ? undefined
      : collect(child.stderr, (text) => {
          err += text
        }),
  ])
  let over = false
  let isEndedByTest = false
  const exited = child.exited.then(async (code) => {
    await told
    over = true
    // A gateway that served and then ended by itself makes requests fail elsewhere.
    if (!isEndedByTest && /headgate listens at/.test(out) && (child.signalCode ?? code) !== 0)
      process.stderr.write(`a gateway ended with ${child.signalCode ?? code}, not by its test: ${err.slice(-2000)}\n`)
    listens.reject(new Error(`it ended with ${child.signalCode ?? code}: ${err}`))
    return code
  })
  return {
    pid: child.pid,
    url: () => listens.promise,
    out: () => out,
    err: () => err,
    exited,
    kill: (signal) => {
      isEndedByTest = true
      if (script === undefined) child.kill(signal)
      else if (!over) process.kill(-child.pid, signal)
    },
  }
}

/** Unless the configuration says where plugins are: those of the project, and no others. */
const withOwnPlugins = (config: unknown): unknown => {
  if (!isJsonObject(config)) return config
  const { plugins = {} } = config
  return isJsonObject(plugins) ? { ...config, plugins: { folders: [ownPluginsFolder()], ...plugins } } : config
}

export const install = (): Installation => {
  const folder = mkdtempSync(join(tmpdir(), "headgate-test-"))
  const database = join(folder, "data", "headgate.db")
  const file = join(folder, "headgate.config.json")
  const running = new Set<RunningGateway>()
  const environment = {
    ...bare,
    HEADGATE_CONFIG: file,
    HEADGATE_PORT: "0",
    // Whether the tests run in a container or not.
    HEADGATE_LOG_FORMAT: "logfmt",
    HEADGATE_STORAGE: `sqlite:${database}`,
  }
  return {
    folder,
    database,
    start: ({ config, env = {}, words = [], asScript = false, stderr } = {}) => {
      if (config !== undefined) writeFileSync(file, JSON.stringify(withOwnPlugins(config)))
      const script = asScript ? folder : undefined
      const gateway = run({ env: { ...environment, ...env }, words, script, stderr })
      running.add(gateway)
      void gateway.exited.then(() => running.delete(gateway))
      return gateway
    },
    command: (words, env = {}) => runCommand({ words, env: { ...environment, ...env } }),
    inTerminal: async (words, env = {}) => {
      let shown = ""
      const closed = Promise.withResolvers<void>()
      const decoder = new TextDecoder()
      const child = Bun.spawn([process.execPath, "src/main.ts", ...words], {
        cwd: root,
        env: { ...environment, TERM: "xterm", ...env },
        terminal: {
          cols: 200,
          data: (_terminal, bytes) => {
            shown += decoder.decode(bytes, { stream: true })
          },
          exit: () => closed.resolve(),
        },
      })
      await child.exited
      child.terminal?.close()
      await closed.promise
      return shown.replaceAll("\r\n", "\n")
    },
    ask: (question) =>
      Effect.runPromise(
        Effect.scoped(
          Effect.flatMap(Layer.build(SqliteStorage.layer({ path: database, durability: "process" })), (context) =>
            Effect.provide(question, context),
          ),
        ),
      ),
    remove: async () => {
      for (const gateway of running) gateway.kill("SIGKILL")
      await Promise.all([...running].map(({ exited }) => exited))
      rmSync(folder, { recursive: true, force: true })
    },
  }
}

/** How often the tests that kill the gateway do so: 3 times, or `TEST_KILL_ROUNDS`. */
export const killRounds = Number(process.env["TEST_KILL_ROUNDS"] ?? 3)

/** In each of these rounds, how many costs callers have seen when the gateway is killed. */
export const costsBeforeKill = (): ReadonlyArray<number> =>
  Array.from({ length: killRounds }, (_, round) => [1, 160, 40, 2, 7][round % 5] ?? 1)

/** Milliseconds for these rounds, on a busy machine. */
export const killPatience = 240_000 + killRounds * 12_000

/** Prints what a test of kills saw in the end, where it was asked for more rounds than usual. */
export const reportKills = (what: string, figures: Readonly<Record<string, number | bigint>>): void => {
  if (process.env["TEST_KILL_ROUNDS"] === undefined) return
  const shown = Object.entries({ rounds: killRounds, ...figures }).map(([name, figure]) => `${name} ${figure}`)
  process.stderr.write(`${what}: ${shown.join(", ")}\n`)
}

/** The ordinary key of the first start's message. */
export const firstKey = (out: string): string => /ordinary key\s+(\S+)/.exec(out)?.[1] ?? ""

/** The management key of the same message. */
export const firstManagementKey = (out: string): string => /management key\s+(\S+)/.exec(out)?.[1] ?? ""
