/**
 * Preloaded by scripts/stress.ts: of ten events of a socket, requests to a server and messages to a thread, three come up to 20 ms
 * late, those of one socket or thread still in their order. A test that counts turns of the event loop, or takes what a host has
 * seen for what the gateway knows, fails under it. `JITTER_SEED`: another sequence.
 */
import { randomSequence } from "../../../src/domain/structures/randomSequence.ts"

const random = randomSequence(Number(process.env["JITTER_SEED"] ?? 1))
const delayMs = (): number => (random() < 0.3 ? random() * 20 : 0)
/** Tests may replace the global one. */
const later = globalThis.setTimeout

/** Calls made late, in their order. */
class Queue {
  private readonly calls: Array<() => void> = []

  add(call: () => void): void {
    this.calls.push(call)
    if (this.calls.length === 1) this.next()
  }

  private next(): void {
    while (this.calls[0] !== undefined) {
      const ms = delayMs()
      if (ms > 0) {
        later(() => this.run(), ms)
        return
      }
      this.first()
    }
  }

  private run(): void {
    this.first()
    this.next()
  }

  /** Runs the first call before it leaves, so that what it adds stays behind the others. */
  private first(): void {
    try {
      this.calls[0]?.()
    } finally {
      this.calls.shift()
    }
  }
}

type Handler = (socket: object, ...rest: ReadonlyArray<unknown>) => unknown

const events = ["data", "end", "close", "drain", "handshake", "error"]

/** The bytes of a read are only lent. */
const kept = (value: unknown): unknown => (value instanceof Uint8Array ? Buffer.from(value) : value)

const queues = new WeakMap<object, Queue>()
const queueOf = (sender: object): Queue => {
  const queue = queues.get(sender) ?? new Queue()
  queues.set(sender, queue)
  return queue
}

const delayed = (handlers: Readonly<Record<string, unknown>>): Record<string, unknown> => {
  const late =
    (handler: Handler): Handler =>
    (socket, ...rest) => {
      const values = rest.map(kept)
      queueOf(socket).add(() => void handler.call(handlers, socket, ...values))
    }
  return Object.fromEntries(
    Object.entries(handlers).map(([name, handler]) => [
      name,
      events.includes(name) && typeof handler === "function" ? late(handler as Handler) : handler,
    ]),
  )
}

type Options = Readonly<Record<string, unknown>>
type Open = (options: Options) => unknown

/** Those of `node:net` have events of their own, whose `this` matters. */
const isNodes = (): boolean => (new Error().stack ?? "").includes("node:net")

const withLateEvents =
  (open: Open): Open =>
  (options) =>
    open(isNodes() ? options : { ...options, socket: delayed(options["socket"] as Options) })

const withLateRequests =
  (serve: Open): Open =>
  (options) => {
    const { fetch: answer } = options
    if (typeof answer !== "function") return serve(options)
    return serve({
      ...options,
      async fetch(this: unknown, ...request: ReadonlyArray<unknown>) {
        const ms = delayMs()
        if (ms > 0) await new Promise((resolve) => later(resolve, ms))
        return answer.apply(this, request)
      },
    })
  }

const { postMessage } = Worker.prototype
Object.assign(Worker.prototype, {
  postMessage(this: Worker, ...message: Parameters<Worker["postMessage"]>) {
    queueOf(this).add(() => postMessage.apply(this, message))
  },
})
Object.assign(Bun, {
  connect: withLateEvents(Bun.connect as unknown as Open),
  listen: withLateEvents(Bun.listen as unknown as Open),
  serve: withLateRequests(Bun.serve as unknown as Open),
})
