/**
 * Runs the tests on a machine that is made unsteady: events of sockets come late (test/support/jitter.ts), and each moment one
 * process of the run stands still for up to 600 ms. For finding tests that pass by luck; twice as long as a plain run. Linux only.
 *
 *     bun scripts/stress.ts [SEED] [TEST...]
 */
import { readdirSync, readFileSync } from "node:fs"
import { randomSequence } from "../src/domain/randomSequence.ts"

const [seed = "1", ...tests] = process.argv.slice(2)
const random = randomSequence(Number(seed))

const parentOf = (pid: number): number | undefined => {
  try {
    const stat = readFileSync(`/proc/${pid}/stat`, "utf8")
    return Number(stat.slice(stat.lastIndexOf(")") + 4).split(" ")[0])
  } catch {
    return undefined
  }
}

/** The process, its children, and theirs. */
const treeOf = (root: number): ReadonlyArray<number> => {
  const parents = new Map(
    readdirSync("/proc").flatMap((name) => (/^\d+$/.test(name) ? [[Number(name), parentOf(Number(name))]] : [])),
  )
  const tree = [root]
  for (const member of tree) for (const [pid, parent] of parents) if (parent === member) tree.push(pid)
  return tree
}

const signal = (pid: number, name: NodeJS.Signals): void => {
  try {
    process.kill(pid, name)
  } catch {
    // It has ended.
  }
}

const command = ["bun", "test", "--parallel=2", "--no-isolate", "--timeout", "120000"]
const run = Bun.spawn([...command, "--preload", "./test/support/jitter.ts", ...tests], {
  env: { ...process.env, JITTER_SEED: seed },
  stdio: ["ignore", "inherit", "inherit"],
})
while (run.exitCode === null) {
  const tree = treeOf(run.pid)
  const pid = tree[Math.floor(random() * tree.length)] ?? run.pid
  signal(pid, "SIGSTOP")
  await Bun.sleep(50 + random() * 550)
  signal(pid, "SIGCONT")
  await Promise.race([run.exited, Bun.sleep(20 + random() * 180)])
}
process.exit(run.exitCode)
