/**
 * Runs the tests on a machine that is made unsteady: events of sockets come late (test/support/clocks/jitter.ts), and again and again one
 * process of the run is stopped for up to 600 ms. Finds tests that pass by luck, and takes half as long again as a plain run.
 * Linux only. See docs/decisions/0040-tests-on-an-unsteady-machine.md.
 *
 *     bun scripts/stress.ts [SEED] [TEST...]
 */
import { randomSequence } from "../src/domain/structures/randomSequence.ts"
import { signal, treeOf } from "./processTree.ts"

const words = process.argv.slice(2)
const seed = /^\d+$/.test(words[0] ?? "") ? (words.shift() ?? "") : "1"
const random = randomSequence(Number(seed))

/** As `bun run check` runs them. */
const command = [process.execPath, "scripts/test.ts"]
const run = Bun.spawn([...command, "--preload", "./test/support/clocks/jitter.ts", ...words], {
  env: { ...process.env, JITTER_SEED: seed },
  stdio: ["ignore", "inherit", "inherit"],
})
let stopped = run.pid
for (const name of ["SIGINT", "SIGTERM"] as const) {
  process.on(name, () => {
    signal(stopped, "SIGCONT")
    run.kill(name)
  })
}
while (run.exitCode === null && run.signalCode === null) {
  const tree = treeOf(run.pid)
  stopped = tree[Math.floor(random() * tree.length)] ?? run.pid
  signal(stopped, "SIGSTOP")
  await Bun.sleep(50 + random() * 550)
  signal(stopped, "SIGCONT")
  await Promise.race([run.exited, Bun.sleep(20 + random() * 180)])
}
process.exit(run.exitCode ?? 1)
