/** Starts the thread of SQLite. It takes as long to load as the program does, so it may be started before it is needed. */
import { fileURLToPath } from "node:url"
import { isBundled } from "../../process/inBundle.ts"

const thread = new URL("./sqliteThread.ts", import.meta.url)
const preload = isBundled ? [] : fileURLToPath(new URL("../withoutFastCheck.ts", import.meta.url))

const start = (options: WorkerOptions = {}) => new Worker(thread, { ...options, preload })

/** Started and not taken yet. */
let ahead: Worker | undefined

/** Starts the thread that the next `startThread` takes. It does not keep the process alive. */
export const startThreadAhead = (): void => {
  const worker = start({ ref: false })
  // One that cannot load is forgotten, so that the next start reports why.
  const forget = () => {
    if (ahead === worker) ahead = undefined
  }
  worker.addEventListener("error", forget)
  worker.addEventListener("close", forget)
  ahead = worker
}

/** For a program that turns out not to need it. */
export const stopThreadAhead = (): void => {
  ahead?.terminate()
  ahead = undefined
}

export const startThread = (): Worker => {
  const worker = ahead ?? start()
  ahead = undefined
  worker.ref()
  return worker
}
