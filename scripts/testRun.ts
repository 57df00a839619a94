/** One run of `bun test`, ended when it stands still. For `test.ts`. */
import { mkdtempSync, readdirSync, readFileSync, rmSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { signal, treeOf } from "./processTree.ts"

/** How a run ended. */
export interface TestRun {
  /** Of `bun test`; not 0 where it ended before its closing line. */
  readonly code: number
  /** The last that it wrote, without colours. */
  readonly last: string
  /** The files that were in hand when it stood still and was ended; `undefined`: it ended by itself. */
  readonly stoodStill: ReadonlyArray<string> | undefined
}

/** The closing line of `bun test`. A file that ends the only process of a run keeps it from being written. */
export const isWhole = ({ last }: TestRun): boolean => /^Ran \d+ tests? across /m.test(last)

/** Writes what the run writes. `silenceMs`: it is ended when it wrote nothing for so long. */
export const runTests = async (
  words: ReadonlyArray<string>,
  env: Readonly<Record<string, string>>,
  silenceMs: number,
): Promise<TestRun> => {
  /** `test/support/clocks/testFile.ts` notes here which file each process has in hand. */
  const notes = mkdtempSync(join(tmpdir(), "headgate-tests-"))
  const run = Bun.spawn([process.execPath, "test", "--timeout", "1800000", ...words], {
    env: {
      ...process.env,
      ...(process.stdout.isTTY ? { FORCE_COLOR: "1" } : {}),
      ...env,
      TEST_NOTES: notes,
    },
    stdio: ["ignore", "pipe", "pipe"],
  })
  const pass = (name: NodeJS.Signals) => run.kill(name)
  for (const name of ["SIGINT", "SIGTERM"] as const) process.on(name, pass)

  let lastOutput = performance.now()
  /** Passes on what is written, and keeps the last of it. */
  const written = async (from: ReadableStream<Uint8Array>, to: NodeJS.WriteStream): Promise<string> => {
    let last = ""
    for await (const bytes of from) {
      lastOutput = performance.now()
      to.write(bytes)
      last = (last + new TextDecoder().decode(bytes)).slice(-500)
    }
    return Bun.stripANSI(last)
  }
  const inHand = () => readdirSync(notes).map((pid) => `${readFileSync(join(notes, pid), "utf8")} (process ${pid})`)

  const silence = Promise.withResolvers<ReadonlyArray<string>>()
  const watch = setInterval(() => {
    if (performance.now() - lastOutput < silenceMs) return
    clearInterval(watch)
    silence.resolve(inHand())
    for (const pid of treeOf(run.pid).toReversed()) signal(pid, "SIGKILL")
  }, 1000)
  const ended = Promise.all([written(run.stdout, process.stdout), written(run.stderr, process.stderr)]).then(
    async ([, last]): Promise<TestRun> => {
      const code = await run.exited
      return { code, last, stoodStill: undefined }
    },
  )
  const result = await Promise.race([
    ended,
    silence.promise.then((stoodStill): TestRun => ({ code: 1, last: "", stoodStill })),
  ])
  clearInterval(watch)
  for (const name of ["SIGINT", "SIGTERM"] as const) process.off(name, pass)
  rmSync(notes, { recursive: true, force: true })
  return result.code === 0 && !isWhole(result) ? { ...result, code: 1 } : result
}
