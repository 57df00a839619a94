/** A process with its descendants, on Linux: for `test.ts`, which ends a run that stands still, and `stress.ts`. */
import { readdirSync, readFileSync } from "node:fs"

const parentOf = (pid: number): number | undefined => {
  try {
    const stat = readFileSync(`/proc/${pid}/stat`, "utf8")
    return Number(stat.slice(stat.lastIndexOf(")") + 4).split(" ")[0])
  } catch {
    return undefined
  }
}

const processes = (): ReadonlyArray<string> => {
  try {
    return readdirSync("/proc")
  } catch {
    return []
  }
}

/** The process, its children, and theirs; the process alone where there is no `/proc`. */
export const treeOf = (root: number): ReadonlyArray<number> => {
  const parents = new Map(
    processes().flatMap((name) => (/^\d+$/.test(name) ? [[Number(name), parentOf(Number(name))]] : [])),
  )
  const tree = [root]
  for (const member of tree) for (const [pid, parent] of parents) if (parent === member) tree.push(pid)
  return tree
}

/** Does nothing to a process that has ended. */
export const signal = (pid: number, name: NodeJS.Signals): void => {
  try {
    process.kill(pid, name)
  } catch {
    // It has ended.
  }
}
