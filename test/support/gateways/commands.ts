/** Runs commands of the program to their end, those of all tests of a process in one other process (commandProcess.ts). */

export interface Asked {
  readonly words: ReadonlyArray<string>
  /** Its whole environment. */
  readonly env: Readonly<Record<string, string>>
  /** The folder that it is run in, if not that of the repository. */
  readonly cwd?: string
}

export interface Ended {
  readonly code: number
  readonly out: string
  readonly err: string
}

const start = () => {
  const waiting: Array<(ended: Ended) => void> = []
  const child = Bun.spawn([process.execPath, `${import.meta.dir}/commandProcess.ts`], {
    cwd: `${import.meta.dir}/../../..`,
    stdout: "ignore",
    stderr: "inherit",
    ipc: (ended: Ended) => waiting.shift()?.(ended),
  })
  child.unref()
  let last: Promise<unknown> = Promise.resolve()
  return (asked: Asked): Promise<Ended> => {
    const ended = last.then(() => {
      const { promise, resolve } = Promise.withResolvers<Ended>()
      waiting.push(resolve)
      child.send(asked)
      return promise
    })
    last = ended
    return ended
  }
}

let started: ReturnType<typeof start> | undefined

/** Commands run one at a time. */
export const runCommand = (asked: Asked): Promise<Ended> => {
  started ??= start()
  return started(asked)
}
