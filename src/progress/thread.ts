/** The thread of `withProgressBeside`. Its first message starts it, the second one ends it, and is answered. */
import { writeSync } from "node:fs"
import { ProgressLine, watched } from "./line.ts"

export interface Beginning {
  readonly name: string
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

let end = (): void => {}

self.onmessage = ({ data }: MessageEvent<Beginning | null>) => {
  if (data === null) {
    end()
    self.postMessage(null)
  } else end = watched(new ProgressLine(data.name, data.isTerminal, write), data.isTerminal)
}
