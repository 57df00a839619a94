/** Starts the thread of SQLite. It takes as long to load as the program does, so it may be started before it is needed. */
import { fileURLToPath } from "node:url"
import { isBundled } from "../../process/inBundle.ts"

const thread = new URL("./sqliteThread.ts", import.meta.url)
const preload = isBundled ? [] : fileURLToPath(new URL("../withoutFastCheck.ts", import.meta.url))

/** It keeps the process alive, unless `ref` is false. */
export const startThread = (options: WorkerOptions = {}): Worker => new Worker(thread, { ...options, preload })

/** A thread that is started before it is known whether it is needed. Until it is taken it does not keep the process alive. */
export class ThreadAhead {
  /** Started and not taken yet. */
  private worker: Worker | undefined

  /** `isLikely`: whether it will be needed, as far as is known yet. Else it is started when it is taken. */
  constructor(isLikely: boolean) {
    if (!isLikely) return
    const worker = startThread({ ref: false })
    this.worker = worker
    // One that cannot load is forgotten, so that the next start reports why.
    const forget = () => {
      if (this.worker === worker) this.worker = undefined
    }
    worker.addEventListener("error", forget)
    worker.addEventListener("close", forget)
  }

  /** For a program that turns out not to need it. */
  stop(): void {
    this.worker?.terminate()
    this.worker = undefined
  }

  readonly take = (): Worker => {
    const worker = this.worker ?? startThread()
    this.worker = undefined
    worker.ref()
    return worker
  }
}
