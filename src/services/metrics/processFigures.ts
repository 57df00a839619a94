/** Figures of this process: its event loop, memory, processor time and files. */
import { readdirSync, readFileSync } from "node:fs"
import * as Effect from "effect/Effect"
import type * as Scope from "effect/Scope"
import { version } from "../../process/version.ts"
import type { Collector, Scrape } from "./Family.ts"
import { processFamilies as families } from "./families.ts"
import { Histogram } from "./Store.ts"

/** How often the event loop is looked at, milliseconds. */
const lookEveryMs = 100

/** Watches the event loop until the scope is closed. */
export const makeProcessFigures: Effect.Effect<Collector, never, Scope.Scope> = Effect.map(
  Effect.acquireRelease(
    Effect.sync(() => new LoopDelay()),
    (delay) => Effect.sync(() => delay.stop()),
  ),
  (delay) => ({
    collect: (scrape) => {
      scrape.set(families.loopDelay, [], delay.histogram.value)
      collectProcess(scrape)
    },
  }),
)

/** A timer that fires late shows how long the event loop was busy. */
class LoopDelay {
  readonly histogram = new Histogram(families.loopDelay.buckets)
  private due = performance.now() + lookEveryMs
  private readonly timer = setInterval(() => this.look(), lookEveryMs).unref()

  stop(): void {
    clearInterval(this.timer)
  }

  private look(): void {
    const now = performance.now()
    this.histogram.observe(Math.max(0, now - this.due) / 1000)
    this.due = now + lookEveryMs
  }
}

const collectProcess = (scrape: Scrape): void => {
  const { user, system } = process.cpuUsage()
  scrape.set(families.cpu, [], (user + system) / 1e6)
  scrape.set(families.memory, [], process.memoryUsage.rss())
  const open = openDescriptors()
  if (open !== undefined) scrape.set(families.openFds, [], open)
  const most = mostDescriptors()
  if (most !== undefined) scrape.set(families.maxFds, [], most)
  scrape.set(families.started, [], Math.round(performance.timeOrigin) / 1000)
  scrape.set(families.processes, [], 1)
  scrape.set(families.build, [version, Bun.version], 1)
}

/** `undefined` where the system does not tell. */
const openDescriptors = (): number | undefined => {
  try {
    return readdirSync("/proc/self/fd").length
  } catch {
    return undefined
  }
}

const mostDescriptors = (): number | undefined => {
  try {
    const soft = /^Max open files +(\d+)/m.exec(readFileSync("/proc/self/limits", "utf8"))?.[1]
    return soft === undefined ? undefined : Number(soft)
  } catch {
    return undefined
  }
}
