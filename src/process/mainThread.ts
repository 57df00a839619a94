/** What Linux says of the main thread of a process, in `/proc` (proc_pid_stat(5), proc_pid_schedstat(5)). */
import { readdirSync, readFileSync } from "node:fs"

/**
 * The fields of `stat` behind the name, of which the first is the state; `undefined`: there is no such process, or no
 * `/proc`.
 */
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
  /** Whether it runs now, or waits for a processor. */
  readonly isReady: boolean
  /**
   * How long each thread of the process was ready to run while others had the processors, by its id. Of a thread that
   * waits, it is counted once it runs again.
   */
  readonly waitedMs: ReadonlyMap<string, number>
}

const scheduledOf = (pid: number): Scheduled | undefined => {
  const stat = statOf(pid)
  const own = timesOf(`/proc/${pid}/schedstat`)
  if (stat === undefined || own === undefined) return undefined
  const waitedMs = new Map(
    threadsOf(pid).map((id) => [id, timesOf(`/proc/${pid}/task/${id}/schedstat`)?.waitedMs ?? 0]),
  )
  return { ranMs: own.ranMs, isReady: stat[0] === "R", waitedMs }
}

const threadsOf = (pid: number): ReadonlyArray<string> => {
  try {
    return readdirSync(`/proc/${pid}/task`)
  } catch {
    return []
  }
}

const timesOf = (path: string): { readonly ranMs: number; readonly waitedMs: number } | undefined => {
  const [ran, waited] = (read(path) ?? "").split(" ").map((ns) => Number(ns) / 1e6)
  return ran === undefined || waited === undefined ? undefined : { ranMs: ran, waitedMs: waited }
}

/**
 * How much of a time the main thread had for itself. On a busy machine it may be ready to run for seconds and get no
 * processor, or sleep until another thread of its process, such as one that collects garbage, gets one: those who judge
 * whether it is blocked must not count that. docs/decisions/0047-the-watchdog.md
 */
export class OwnTime {
  private readonly scheduled: () => Scheduled | undefined
  private before: Scheduled | undefined

  /** `scheduled`: by default what the system says; `undefined`: it says nothing, and all time is the thread's own. */
  constructor(pid: number, scheduled = () => scheduledOf(pid)) {
    this.scheduled = scheduled
    this.before = scheduled()
  }

  /**
   * Of the milliseconds that have passed since the last call, those in which the thread ran, or slept while no other
   * thread waited for a processor. Exact to a second where it is called each second: of a longer time in which it slept
   * and then ran, only what it ran counts.
   */
  of(passedMs: number): number {
    const { before } = this
    const now = this.scheduled()
    this.before = now
    if (before === undefined || now === undefined) return passedMs
    const own = now.isReady ? now.ranMs - before.ranMs : passedMs - mostWaited(before, now)
    return Math.min(passedMs, Math.max(0, own))
  }
}

/** By the thread that has waited longest in between. */
const mostWaited = (before: Scheduled, now: Scheduled): number => {
  let most = 0
  for (const [id, waitedMs] of now.waitedMs) most = Math.max(most, waitedMs - (before.waitedMs.get(id) ?? 0))
  return most
}
