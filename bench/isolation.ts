/**
 * What it costs to run a plugin's `decode` in a thread of its own, where it can be ended, against running it where it runs now, with the watchdog's
 * marks: `bun bench/isolation.ts`. Processor time of the whole process and time until the answer is there, as ratios within this run; all ways
 * take turns in each round, and each figure is the fastest round. See docs/decisions/0093-plugins-in-the-process.md
 */

import { chatProtocol } from "../src/formats/chat/chatHost.ts"
import { checkedProtocol } from "../src/plugin/checks/checkedProtocol.ts"
import { chunkOf } from "../test/support/hosts/host.ts"
import { hostFor, requestWith } from "../test/support/recordings/recordings.ts"
import type { Asked } from "./isolationThread.ts"

const rounds = 12
const host = hostFor("upstream")
const context = { request: requestWith({ messages: [{ role: "user", content: "Hi" }] }), host }
const head = { status: 200, headers: new Headers() }
const bare = chatProtocol({})
const watched = checkedProtocol("some", "chat", chatProtocol({}))

const bodyOf = (words: number) => ({
  id: "chatcmpl-1",
  object: "chat.completion",
  created: 1,
  model: "upstream",
  choices: [
    { index: 0, message: { role: "assistant", content: "some words ".repeat(words / 2) }, finish_reason: "stop" },
  ],
  usage: { prompt_tokens: 10, completion_tokens: 5, total_tokens: 15 },
})
const vectors = Array.from({ length: 32 }, (_, index) => ({
  object: "embedding",
  index,
  embedding: Array.from({ length: 1536 }, (_, at) => Math.sin(at + index)),
}))
const event: unknown = JSON.parse(chunkOf({ delta: { content: "some words " }, finish_reason: null }))

type Without<A> = A extends unknown ? Omit<A, "at"> : never

/** The plugin in its thread. */
class Isolated {
  private readonly waiting = new Map<number, () => void>()
  private readonly worker = new Worker(new URL("./isolationThread.ts", import.meta.url))
  private next = 0
  readonly ready: Promise<void>

  constructor() {
    this.ready = new Promise((resolve) => this.waiting.set(-1, resolve))
    this.worker.onmessage = ({ data: { at } }: MessageEvent<{ readonly at: number }>) => {
      const resolve = this.waiting.get(at)
      this.waiting.delete(at)
      resolve?.()
    }
  }

  ask(asked: Without<Asked>): Promise<void> {
    const at = this.next++
    return new Promise((resolve) => {
      this.waiting.set(at, resolve)
      this.worker.postMessage({ ...asked, at })
    })
  }

  end(): void {
    this.worker.terminate()
  }
}

interface Figures {
  /** Microseconds of processor time per answer or event. */
  processor: number
  /** Microseconds until it is there. */
  wait: number
}

type Way = () => void | Promise<void>

/** `calls` in a row, or so many at once. */
const timed = async (way: Way, calls: number, atOnce: number): Promise<Figures> => {
  const cpu = process.cpuUsage()
  const begun = performance.now()
  for (let at = 0; at < calls; at += atOnce) {
    if (atOnce === 1) await way()
    else await Promise.all(Array.from({ length: atOnce }, way))
  }
  const { user, system } = process.cpuUsage(cpu)
  return { processor: (user + system) / calls, wait: ((performance.now() - begun) * 1000) / calls }
}

const compare = async (
  what: string,
  ways: Readonly<Record<string, Way>>,
  calls: number,
  atOnce = 1,
  units = 1,
): Promise<void> => {
  const best = new Map<string, Figures>()
  for (let round = 0; round < rounds; round++) {
    for (const [name, way] of Object.entries(ways)) {
      const { processor, wait } = await timed(way, calls, atOnce)
      const before = best.get(name) ?? { processor: Number.POSITIVE_INFINITY, wait: Number.POSITIVE_INFINITY }
      best.set(name, { processor: Math.min(before.processor, processor), wait: Math.min(before.wait, wait) })
    }
  }
  const base = best.get("now") ?? { processor: Number.NaN, wait: Number.NaN }
  const shown = [...best].map(([name, { processor, wait }]) => {
    const ratios = `${(processor / base.processor).toFixed(2)} of its processor time, ${(wait / base.wait).toFixed(2)} of its time`
    return `  ${name}: ${(processor / units).toFixed(2)} µs of processor time, ${(wait / units).toFixed(2)} µs; ${ratios}\n`
  })
  process.stdout.write(`${what}\n${shown.join("")}`)
}

const isolated = new Isolated()
await isolated.ready

for (const [what, body, calls] of [
  ["a whole answer of 100 words", bodyOf(100), 2000],
  ["a whole answer of 20,000 words", bodyOf(20_000), 400],
] as const) {
  const inProcess = {
    bare: () => void bare.decode(head, body, context),
    now: () => void watched.decode(head, body, context),
  }
  const inThread = { thread: () => isolated.ask({ bodies: [body] }) }
  await compare(what, { ...inProcess, ...inThread }, calls)
  await compare(`${what}, 64 at once`, { ...inProcess, ...inThread }, calls - (calls % 64), 64)
}

// What a thread must clone of vectors, whatever the plugin does with them.
const clone = () => void structuredClone(vectors)
const parsed = JSON.stringify(vectors)
await compare("32 vectors of 1536 numbers", { now: () => void JSON.parse(parsed), "one clone more": clone }, 20)

const bareDecoder = bare.decoder(head, context)
const watchedDecoder = watched.decoder(head, context)
for (const events of [1, 10]) {
  const list: ReadonlyArray<unknown> = Array.from({ length: events }, () => event)
  const ways = {
    bare: () => {
      for (const each of list) bareDecoder.event("", each)
    },
    now: () => {
      for (const each of list) watchedDecoder.event("", each)
    },
    thread: () => isolated.ask({ events: list }),
  }
  await compare(`an event of a stream, ${events} in a read`, ways, 4000, 1, events)
}

// A loop without an end, and the bound of a second: until the next thread answers.
const begun = performance.now()
void isolated.ask({ loop: true })
await Bun.sleep(1000)
isolated.end()
const other = new Isolated()
await other.ready
process.stdout.write(`a loop is replaced ${Math.round(performance.now() - begun - 1000)} ms after the bound\n`)
const before = process.cpuUsage()
await Bun.sleep(1000)
const { user } = process.cpuUsage(before)
process.stdout.write(`the process uses ${Math.round(user / 10_000)} % of a processor in the second after\n`)
const memory = process.memoryUsage.rss()
const many = Array.from({ length: 8 }, () => new Isolated())
await Promise.all(many.map(({ ready }) => ready))
process.stdout.write(
  `a thread takes ${((process.memoryUsage.rss() - memory) / 8 / 1_000_000).toFixed(1)} MB (this protocol alone)\n`,
)
for (const each of [other, ...many]) each.end()
process.exit(0)
