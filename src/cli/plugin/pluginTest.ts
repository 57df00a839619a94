/**
 * Runs the tests in a plugin's folder, which need not be in a package: what they import of the gateway and of Effect is found
 * in this installation, unless the folder has its own.
 */
import { mkdtemp, readdir, rm, stat } from "node:fs/promises"
import { tmpdir } from "node:os"
import { join, resolve } from "node:path"
import { fileURLToPath } from "node:url"
import * as Effect from "effect/Effect"
import { CommandFailed, exitCodes } from "../CommandFailed.ts"
import { plain } from "../output.ts"

const preload = fileURLToPath(new URL("../../plugin/loading/preload.ts", import.meta.url))
const bareTest = fileURLToPath(new URL("../../testing/bare.ts", import.meta.url))

/** Milliseconds for all tests of a plugin. One with an endless loop blocks the test runner's own limits. */
const patienceMs = 600_000

/**
 * The time limit in milliseconds for a test that sets none. A check of the kit may exceed Bun's 5 s on a busy
 * machine.
 */
const testMs = 60_000

/** The exit code of the tests. */
export const testPlugin = (folder: string, limitMs = patienceMs): Effect.Effect<number, CommandFailed> =>
  Effect.gen(function* () {
    const path = resolve(folder)
    const isFolder = yield* Effect.promise(
      async () => (await stat(path).catch(() => undefined))?.isDirectory() === true,
    )
    if (!isFolder) return yield* failure(`there is no folder ${path}`)
    const hasTests = yield* Effect.promise(() => holdsTests(path))
    const isPlugin = yield* Effect.promise(async () => (await entryIn(path)) !== undefined)
    if (!hasTests && !isPlugin) return yield* failure(`${path} has neither an index.ts nor a test`)
    if (!hasTests) {
      process.stderr.write(
        "headgate: no *.test.ts there: the kit runs without samples, so it sees what is sent and not what is read\n",
      )
    }
    return yield* Effect.promise(() => runTests(path, hasTests ? [] : [bareTest], limitMs))
  })

/** A plugin that ends the process ends its tests with code 0; that they were run to the end is told by their report. */
const runTests = async (path: string, files: ReadonlyArray<string>, limitMs: number): Promise<number> => {
  const temporary = await mkdtemp(join(tmpdir(), "headgate-plugin-test-"))
  try {
    const report = join(temporary, "report.xml")
    const reporting = ["--reporter=junit", `--reporter-outfile=${report}`]
    const child = Bun.spawn(
      [process.execPath, "test", "--timeout", String(testMs), ...reporting, "--preload", preload, ...files],
      {
        cwd: path,
        env: { ...process.env, HEADGATE_PLUGIN_FOLDER: path },
        stdout: "inherit",
        stderr: "inherit",
        timeout: limitMs,
        killSignal: "SIGKILL",
      },
    )
    const code = await child.exited
    if (child.signalCode === "SIGKILL") {
      process.stderr.write(`headgate: the tests did not end within ${limitMs / 1000} seconds\n`)
    }
    return code === 0 && !(await Bun.file(report).exists()) ? 1 : code
  } finally {
    await rm(temporary, { recursive: true, force: true })
  }
}

const failure = (message: string): CommandFailed =>
  new CommandFailed({ code: exitCodes.noFile, message: plain(message) })

const entryIn = async (path: string): Promise<string | undefined> => {
  for (const name of ["index.ts", "index.js"]) if (await Bun.file(join(path, name)).exists()) return name
  return undefined
}

const isTest = /[._](test|spec)\.[cm]?[jt]sx?$/

const holdsTests = async (path: string): Promise<boolean> => {
  for (const entry of await readdir(path, { withFileTypes: true })) {
    if (entry.isDirectory() && entry.name !== "node_modules" && (await holdsTests(join(path, entry.name)))) return true
    if (entry.isFile() && isTest.test(entry.name)) return true
  }
  return false
}
