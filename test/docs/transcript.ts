/** Runs the commands of a page as its reader would: those of a terminal for the gateway, and those of the reader's own. */
import type { Subprocess } from "bun"
import { until } from "../support/rawHost.ts"

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

const collect = (child: Subprocess<"pipe", "pipe", "pipe">, into: (text: string) => void): Promise<unknown> =>
  Promise.all(
    [child.stdout, child.stderr].map(async (stream) => {
      const decoder = new TextDecoder()
      for await (const bytes of stream) into(decoder.decode(bytes, { stream: true }))
    }),
  )

/** One shell, in which variables, jobs and the working folder last. */
export class Shell {
  readonly #child: Subprocess<"pipe", "pipe", "pipe">
  #said = ""
  #count = 0

  constructor(cwd: string, env: Env) {
    this.#child = Bun.spawn(["bash"], { cwd, env, stdin: "pipe", stdout: "pipe", stderr: "pipe" })
    void collect(this.#child, (text) => {
      this.#said += text
    })
  }

  /** What the commands say, once the last one has ended. */
  async run(commands: string): Promise<string> {
    const end = `-- step ${++this.#count} has ended --`
    const before = this.#said.length
    this.#child.stdin.write(`${commands}\necho '${end}'\n`)
    this.#child.stdin.flush()
    await until(() => this.#said.includes(end, before) || this.#child.exitCode !== null, commands, 60_000)
    return this.#said.slice(before).replace(`${end}\n`, "")
  }

  async close(): Promise<void> {
    this.#child.stdin.end()
    await this.#child.exited
  }
}

/** The terminal of the gateway: its last command runs until Ctrl-C. */
export class GatewayTerminal {
  readonly #cwd: string
  readonly #env: Env
  /** The commands so far that change the shell. */
  #before = ""
  #child: Subprocess<"pipe", "pipe", "pipe"> | undefined
  /** What it has shown since the last commands. */
  said = ""

  constructor(cwd: string, env: Env) {
    this.#cwd = cwd
    this.#env = env
  }

  /** As the terminal does it: to all processes of the group. */
  interrupt(): void {
    if (this.#child?.exitCode === null) process.kill(-this.#child.pid, "SIGINT")
  }

  get ended(): Promise<unknown> {
    return this.#child?.exited ?? Promise.resolve()
  }

  /** Returns once the gateway listens. `more`: variables that the page does not set. */
  async run(commands: string, more: Env): Promise<void> {
    this.said = ""
    const env = { ...this.#env, ...more }
    const options = { cwd: this.#cwd, env, stdin: "pipe", stdout: "pipe", stderr: "pipe" } as const
    const child = Bun.spawn(["bash", "-c", `${this.#before}${commands}`], { ...options, detached: true })
    this.#before += (commands.match(/^(?:cd|export) .*\n/gm) ?? []).join("")
    this.#child = child
    const read = collect(child, (text) => {
      this.said += text
    })
    await until(() => /listens at \S+/.test(this.said) || child.exitCode !== null, commands, 60_000)
    if (child.exitCode === null) return
    await read
    throw new Error(`the gateway has ended: ${this.said}`)
  }

  async close(): Promise<void> {
    if (this.#child?.exitCode === null) process.kill(-this.#child.pid, "SIGKILL")
    await this.ended
  }
}
