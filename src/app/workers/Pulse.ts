/**
 * Tells its supervisor whether a worker process is alive: by its heartbeats once it serves, and by the state of the process in `/proc`, since
 * the runtime may lose the exit of a child (oven-sh/bun#43697).
 */
import { statOf } from "../../process/mainThread.ts"
import type { Ended } from "./supervise.ts"

/** Milliseconds between two checks of a worker. */
export const lookMs = 1000

/** After so many checks in a row without a heartbeat (15 to 16 seconds) its event loop is considered stuck. */
const mostMissed = 16

/** A worker that was asked to stop may miss as many checks as its drain time has seconds: at least these, at most `mostMissed`. */
const leastMissed = 5

/** A process that has ended is reported after so many checks without a notice by the runtime, which usually comes at once. */
const mostUnnoticed = 2

export interface Watched {
  /** Whether it has served: before, its heartbeats are not waited for. */
  readonly hasServed: () => boolean
  /** Whether it was asked to stop. */
  readonly isStopping: () => boolean
  /** `OwnTime.of` the worker. */
  readonly ownTime: (passedMs: number) => number
  /** How the process has ended, by the operating system; `undefined`: it has not. */
  readonly ended: () => Ended | undefined
  /** Its event loop is stuck. Called once, with the number of checks without a heartbeat. */
  readonly stuck: (missed: number) => void
  /** It has ended, and the runtime gave no notice. */
  readonly unnoticed: (ended: Ended) => void
}

/**
 * Checks are counted, not time. Time also passes while the machine sleeps or the supervisor is stopped, and then every worker would seem to
 * have been silent.
 */
export class Pulse {
  private readonly watched: Watched
  private readonly mostAtStop: number
  private missed = 0
  private unnoticed = 0
  private isStuck = false

  /** `drainSeconds`: how long the requests of one that is asked to stop may run on. */
  constructor(watched: Watched, drainSeconds: number) {
    this.watched = watched
    this.mostAtStop = Math.min(mostMissed, Math.max(leastMissed, Math.ceil((drainSeconds * 1000) / lookMs)))
  }

  beat(): void {
    this.missed = 0
  }

  /** To be called every `lookMs`. */
  look(): void {
    const { watched } = this
    const ended = watched.ended()
    if (ended !== undefined) {
      this.unnoticed += 1
      if (this.unnoticed === mostUnnoticed) watched.unnoticed(ended)
      return
    }
    // A worker that is asked to stop while it starts has nothing to finish, so its heartbeats count at once.
    const isStopping = watched.isStopping()
    if (this.isStuck || (!isStopping && !watched.hasServed())) return
    // A part of a check, where the worker waited for a processor.
    this.missed += watched.ownTime(lookMs) / lookMs
    const most = isStopping ? this.mostAtStop : mostMissed
    if (this.missed <= most - 0.5) return
    this.isStuck = true
    watched.stuck(Math.round(this.missed))
  }
}

/** How a child has ended, by `/proc`; `undefined`: it has not. Without `/proc` only whether it has. */
export const endOf = (pid: number): Ended | undefined => {
  const fields = statOf(pid)
  if (fields === undefined) return isThere(pid) ? undefined : unknownEnd
  const isOver = fields[0] === "Z" || fields[0] === "X"
  if (!isOver) return undefined
  // The status of the exit.
  const status = Number(fields[49])
  const signal = status & 0x7f
  return signal === 0 ? { code: status >> 8, signal: null } : { code: 128 + signal, signal: `signal ${signal}` }
}

/** Exit code of a software error. */
const unknownEnd: Ended = { code: 70, signal: null }

const isThere = (pid: number): boolean => {
  try {
    process.kill(pid, 0)
    return true
  } catch {
    return false
  }
}
