/** The thread of `withProgressBeside`. Its messages say what is being done; `null` ends it, and is answered. */
import { writeSync } from "node:fs"
import { ProgressLine } from "./ProgressLine.ts"

export interface Doing {
  readonly what: string
  readonly isTerminal: boolean
}

declare const self: Worker

/** Not through the main thread, which is blocked. */
const write = (text: string): void => {
  try {
    writeSync(2, text)
  } catch {
    // Its reader has gone or does not keep up.
  }
}

let line: ProgressLine | undefined

self.onmessage = ({ data }: MessageEvent<Doing | null>) => {
  if (data === null) {
    line?.end()
    self.postMessage(null)
    return
  }
  line ??= new ProgressLine(data.isTerminal, write)
  line.say(data.what)
}
