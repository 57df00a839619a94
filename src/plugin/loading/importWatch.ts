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

/** The messages and the exit code for a configuration file, in place of those for a plugin. */
export interface WatchedFile {
  /** How long its import may take, milliseconds. */
  readonly limitMs: number
  readonly blocked: string
  readonly ended: string
  readonly code: number
}

/** The same while a configuration file is imported, until the scope closes. */
export const watchImportOf = (path: string, file: WatchedFile): Effect.Effect<void, never, Scope.Scope> =>
  Effect.asVoid(
    Effect.acquireRelease(
      Effect.sync(() => {
        const watch = new ImportWatch(file)
        watch.importing(path)
        return watch
      }),
      (watch) => Effect.sync(() => watch.end()),
    ),
  )

class ImportWatch {
  private worker: Worker | undefined
  private current: string | null = null
  private readonly file: WatchedFile | undefined

  constructor(file?: WatchedFile) {
    this.file = file
    process.on("exit", this.ended)
  }

  importing(path: string | null): void {
    this.current = path
    this.worker ??= new Worker(new URL("./importWatchThread.ts", import.meta.url))
    const { file } = this
    this.worker.postMessage(
      (file === undefined
        ? { path, limitMs }
        : { path, limitMs: file.limitMs, instead: { line: file.blocked, code: file.code } }) satisfies WatchMessage,
    )
  }

  end(): void {
    process.off("exit", this.ended)
    this.worker?.terminate()
  }

  private readonly ended = (): void => {
    if (this.current === null) return
    process.exitCode = this.file?.code ?? 70
    process.stderr.write(this.file?.ended ?? `plugin ${this.current}: import: it ended the process\n`)
  }
}
