/**
 * Callers who leave streams, under a clock that the test advances: what the host bills for the answer, and what the caller is
 * charged. The host makes its tokens evenly, and stops when its call is aborted.
 */

import { type HostCall, inTimedGateway, Reading, type TimedGateway } from "../gateways/timedGateway.ts"
import { chunkOf } from "../hosts/host.ts"

export interface Course {
  /** Whether the host sends its usage at the end. */
  readonly reports: boolean
  /** Output tokens that are made before the first word and never sent. */
  readonly hidden: number
}

/** After how many words the caller leaves; `never`: reads to the end. */
export type Leaving = "first word" | "middle" | "last word" | "never"

/** A text in tokens as a tokenizer cuts English: 4.4 bytes each. */
const tokens = [
  "The",
  " cost",
  " of",
  " an",
  " answer",
  " follows",
  " from",
  " what",
  " was",
  " said",
  " in",
  " it",
  ".",
]
const words = 400
/** Words of the answer in a step of the clock. */
const perStep = 10
const stepMs = 100
const tokensPerSecond = (perStep * 1000) / stepMs

/** Tokens and text of a prompt, at the same bytes for each token. */
const promptTokens = 3000
const prompt = Array.from({ length: promptTokens }, (_, at) => tokens[at % tokens.length]).join("")

/** USD for a million tokens, as `configFor` has them. */
const price = { prompt: 1n, completion: 2n }

const delta = (content: string) => chunkOf({ delta: { content }, finish_reason: null })
const finish = chunkOf({ delta: {}, finish_reason: "stop" })

/** Picodollars. */
export interface Billed {
  readonly charged: bigint
  readonly true: bigint
}

class Answering {
  /** Output tokens so far, hidden ones included. */
  private made = 0
  private said = 0
  private isOver = false
  private readonly host: HostCall
  private readonly course: Course
  private readonly pass: TimedGateway["pass"]

  constructor(host: HostCall, course: Course, pass: TimedGateway["pass"]) {
    this.host = host
    this.course = course
    this.pass = pass
    host.head().events(chunkOf({ delta: { role: "assistant", content: "" }, finish_reason: null }))
  }

  get isStopped(): boolean {
    return this.isOver || this.host.aborted || this.host.cancelled
  }

  get cost(): bigint {
    return (BigInt(promptTokens) * price.prompt + BigInt(this.made) * price.completion) * 1_000_000n
  }

  async think(): Promise<void> {
    const { hidden } = this.course
    await this.pass((hidden / tokensPerSecond) * 1000)
    this.made += hidden
  }

  /** Says words up to the `last` one, as long as anybody listens. */
  async say(last: number): Promise<void> {
    while (this.said < last && !this.isStopped) {
      const next = Math.min(last, this.said + perStep)
      const text = Array.from({ length: next - this.said }, (_, at) =>
        delta(tokens[(this.said + at) % tokens.length] ?? ""),
      )
      this.made += next - this.said
      this.said = next
      this.host.events(...text)
      await this.pass(stepMs)
    }
  }

  end(): void {
    if (this.isStopped) return
    const usage = { prompt_tokens: promptTokens, completion_tokens: this.made }
    const report = this.course.reports ? [JSON.stringify({ choices: [], usage })] : []
    this.host.events(finish, ...report, "[DONE]")
    this.isOver = true
  }
}

const leaveAfter: Readonly<Record<Leaving, number>> = {
  "first word": 1,
  middle: words / 2,
  "last word": words,
  never: words,
}

/** One streamed answer of a gateway whose hosts' speed is known where they report it. */
const answered = async (gateway: TimedGateway, course: Course, leaving: Leaving): Promise<Billed> => {
  const { ask, call, calls, pass, settle, rows } = gateway
  const asked = ask({ messages: [{ role: "user", content: prompt }], max_tokens: 4000 })
  const answering = new Answering(await call(calls.length + 1), course, pass)
  await answering.think()
  await answering.say(1)
  const reading = new Reading(await asked)
  const read = reading.all()
  await answering.say(leaveAfter[leaving])
  if (leaving !== "never") await reading.leave()
  // The host goes on: it learns of it when its call is aborted.
  await answering.say(words)
  answering.end()
  await settle()
  await read
  await pass(2000)
  await settle()
  const [row] = await rows(1)
  return { charged: row?.cost ?? 0n, true: answering.cost }
}

/** What callers who leave at these moments are charged. */
export const leavers = async (course: Course): Promise<ReadonlyMap<Leaving, Billed>> => {
  const billed = new Map<Leaving, Billed>()
  const host = {
    max_completion_tokens: 8192,
    supported_parameters: course.hidden > 0 ? ["reasoning", "max_tokens"] : ["max_tokens"],
  }
  await inTimedGateway({ host }, async (gateway) => {
    for (let at = 0; at < 3; at++) await answered(gateway, course, "never")
    for (const leaving of ["first word", "middle", "last word", "never"] as const) {
      billed.set(leaving, await answered(gateway, course, leaving))
    }
  })
  return billed
}
