/** What Linux says of the main thread of a process, in `/proc` (proc_pid_stat(5), proc_pid_schedstat(5)). */
import { readFileSync } from "node:fs"

/** The fields of `stat` behind the name, of which the first is the state; `undefined`: there is no such process, or no `/proc`. */
export const statOf = (pid: number): ReadonlyArray<string> | undefined => {
  const text = read(`/proc/${pid}/stat`)
  // The name may have blanks and parentheses.
  return text?.slice(text.lastIndexOf(")") + 2).split(" ")
}

const read = (path: string): string | undefined => {
  try {
    return readFileSync(path, "utf8")
  } catch {
    return undefined
  }
}

/** Milliseconds since its start. */
export interface Scheduled {
  readonly ranMs: number
  /** It was ready to run, and other threads had the processors. Counted once it runs again. */
  readonly waitedMs: number
  /** Whether it runs now, or waits for a processor. */
  readonly isReady: boolean
}

const scheduledOf = (pid: number): Scheduled | undefined => {
  const [ran, waited] = (read(`/proc/${pid}/schedstat`) ?? "").split(" ").map((ns) => Number(ns) / 1e6)
  if (ran === undefined || waited === undefined) return undefined
  return { ranMs: ran, waitedMs: waited, isReady: statOf(pid)?.[0] === "R" }
}

/**
 * How much of a time the thread had for itself. On a busy machine it may be ready to run for seconds and get no
 * processor: those who judge whether it is blocked must not count that. docs/decisions/0047-the-watchdog.md
 */
export class OwnTime {
  private readonly scheduled: () => Scheduled | undefined
  private before: Scheduled | undefined

  /** `scheduled`: by default what the system says; `undefined`: it says nothing, and all time is the thread's own. */
  constructor(pid: number, scheduled = () => scheduledOf(pid)) {
    this.scheduled = scheduled
    this.before = scheduled()
  }

  /** Of the milliseconds that have passed since the last call, those in which the thread ran, or slept by itself. */
  of(passedMs: number): number {
    const { before } = this
    const now = this.scheduled()
    this.before = now
    if (before === undefined || now === undefined) return passedMs
    const own = now.isReady ? now.ranMs - before.ranMs : passedMs - (now.waitedMs - before.waitedMs)
    return Math.min(passedMs, Math.max(0, own))
  }
}
