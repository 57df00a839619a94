/** Runs the commands of a page as its reader would: those of a terminal for the gateway, and those of the reader's own. */
import { writeFileSync } from "node:fs"
import { join } from "node:path"
import type { Subprocess } from "bun"
import { until } from "../support/clocks/until.ts"

export interface Step {
  /** `gateway`: in the terminal that runs it. Else in the reader's own. */
  readonly isGateway: boolean
  readonly commands: string
  /** What the page shows of the answer; "": nothing. */
  readonly shown: string
}

/** The blocks `sh` of a page in their order, each with the block `text` that follows it, if one does. */
export const stepsOf = (page: string): ReadonlyArray<Step> =>
  [...page.matchAll(/^```sh(.*)\n([\s\S]*?)^```\n(?:\n```text\n([\s\S]*?)^```$)?/gm)].map(
    ([, info = "", commands = "", shown = ""]) => ({ isGateway: info.trim() === "gateway", commands, shown }),
  )

/** The first piece of what a page shows that was not said, in its order. `…` stands for anything. */
export const notSaid = (shown: string, said: string): string | undefined => {
  let at = 0
  for (const piece of shown.split("…").map((one) => one.trim())) {
    const found = said.indexOf(piece, at)
    if (found < 0) return piece
    at = found + piece.length
  }
  return undefined
}

type Env = Readonly<Record<string, string | undefined>>

/** A program in a terminal of its own. */
class Terminal {
  readonly #child: Subprocess
  readonly #closed = Promise.withResolvers<void>()
  /** What it shows. */
  said = ""

  constructor(words: ReadonlyArray<string>, cwd: string, env: Env) {
    const decoder = new TextDecoder()
    this.#child = Bun.spawn([...words], {
      cwd,
      env: { ...env, TERM: "xterm", NO_COLOR: "1" },
      terminal: {
        cols: 200,
        data: (_terminal, bytes) => {
          this.said += decoder.decode(bytes, { stream: true }).replaceAll("\r", "")
        },
        exit: () => this.#closed.resolve(),
      },
    })
  }

  get isOver(): boolean {
    return this.#child.exitCode !== null || this.#child.signalCode !== null
  }

  type(text: string): void {
    this.#child.terminal?.write(text)
  }

  /** Its end, and all that it showed. */
  async end(): Promise<void> {
    await this.#child.exited
    this.#child.terminal?.close()
    await this.#closed.promise
  }

  kill(): void {
    this.#child.kill("SIGKILL")
  }
}

/** The reader's own terminal: one shell, in which variables, jobs and the working folder last. */
export class ReadersTerminal {
  readonly #terminal: Terminal
  readonly #folder: string
  #count = 0

  /** `folder`: for files of its own. */
  constructor(cwd: string, folder: string, env: Env) {
    this.#folder = folder
    const shell = 'shopt -s expand_aliases; stty -echo; echo ready; while IFS= read -r file; do . "$file"; done'
    this.#terminal = new Terminal(["bash", "-c", shell], cwd, env)
  }

  /** What the commands say, once the last one has ended. */
  async run(commands: string): Promise<string> {
    const terminal = this.#terminal
    await until(() => terminal.said.startsWith("ready\n"), "the shell")
    const step = ++this.#count
    const end = `-- step ${step} has ended --\n`
    const file = join(this.#folder, `step-${step}.sh`)
    writeFileSync(file, `${commands}\nprintf -- '${end.trim()}\\n'\n`)
    const before = terminal.said.length
    terminal.type(`${file}\n`)
    await until(() => terminal.said.includes(end, before) || terminal.isOver, commands, 600_000)
    return terminal.said.slice(before).replace(end, "")
  }

  async close(): Promise<void> {
    this.#terminal.kill()
    await this.#terminal.end()
  }
}

/** The terminal of the gateway. Its last command runs until Ctrl-C. */
export class GatewayTerminal {
  readonly #cwd: string
  readonly #env: Env
  /** The commands so far that change the shell. */
  #before = ""
  #terminal: Terminal | undefined

  constructor(cwd: string, env: Env) {
    this.#cwd = cwd
    this.#env = env
  }

  /** What it has shown since the last commands. */
  get said(): string {
    return this.#terminal?.said ?? ""
  }

  /** Presses Ctrl-C. */
  interrupt(): void {
    this.#terminal?.type("\x03")
  }

  async ended(): Promise<void> {
    await this.#terminal?.end()
  }

  /** Returns once the gateway listens. `more`: variables that the page does not set. */
  async run(commands: string, more: Env): Promise<void> {
    const terminal = new Terminal(["bash", "-c", `${this.#before}${commands}`], this.#cwd, { ...this.#env, ...more })
    this.#terminal = terminal
    this.#before += (commands.match(/^(?:cd|export) .*\n/gm) ?? []).join("")
    await until(() => /listens at \S+/.test(terminal.said) || terminal.isOver, commands, 600_000)
    if (!terminal.isOver) return
    await terminal.end()
    throw new Error(`the gateway has ended: ${terminal.said}`)
  }

  async close(): Promise<void> {
    if (this.#terminal?.isOver !== false) return
    this.interrupt()
    await this.ended()
  }
}
