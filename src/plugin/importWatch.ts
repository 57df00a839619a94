/**
 * Watches imports of plugins from a thread of its own. A loop without an end at a plugin's top level blocks this thread, so
 * that no time-out of its own fires and nothing of its log is written: the other thread names the plugin and ends the process.
 */
import * as Effect from "effect/Effect"
import type * as Scope from "effect/Scope"
import type { WatchMessage } from "./importWatchThread.ts"

/** Longer than `discover` waits for an import that does not block. */
const limitMs = 6000

/** Says what is imported from now on; `null`: nothing. */
export type Importing = (path: string | null) => void

/**
 * For the gateway's own process, which ends with exit code 70 and a line that names the plugin when an import blocks it, or ends it.
 * The thread ends with the scope.
 */
export const watchImports: Effect.Effect<Importing, never, Scope.Scope> = Effect.map(
  Effect.acquireRelease(
    Effect.sync(() => new ImportWatch()),
    (watch) => Effect.sync(() => watch.end()),
  ),
  (watch) => (path) => watch.importing(path),
)

class ImportWatch {
  private worker: Worker | undefined
  private current: string | null = null

  constructor() {
    process.on("exit", this.ended)
  }

  importing(path: string | null): void {
    this.current = path
    this.worker ??= new Worker(new URL("./importWatchThread.ts", import.meta.url))
    this.worker.postMessage({ path, limitMs } satisfies WatchMessage)
  }

  end(): void {
    process.off("exit", this.ended)
    this.worker?.terminate()
  }

  private readonly ended = (): void => {
    if (this.current === null) return
    process.exitCode = 70
    process.stderr.write(`plugin ${this.current}: import: it ended the process\n`)
  }
}
