/**
 * Preloaded by scripts/stress.ts: of ten events of a socket, requests to a server and messages to a thread, three come up to 20 ms
 * late, those of one socket or thread still in their order. A socket with a late event is not read meanwhile, as on a busy machine,
 * where bytes wait in the kernel: what is read ahead would have no bound. A test that counts turns of the event loop, or takes what a host has
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

  /** How many have not ended; the one that runs is one of them. */
  get length(): number {
    return this.calls.length
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

type Handler = (socket: object & Flow, ...rest: ReadonlyArray<unknown>) => unknown

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
      const [queue, hold] = [queueOf(socket), holdOf(socket)]
      queue.add(() => {
        handler.call(handlers, socket, ...values)
        // It is the last of the late ones.
        if (queue.length === 1) hold.while(false)
      })
      hold.while(queue.length > 0)
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

interface Flow {
  pause(): unknown
  resume(): unknown
}

/** Holds the reading of a socket while an event of it is late, whatever its owner says of it meanwhile. */
class Hold {
  private isHeld = false
  private isPaused = false
  private readonly pause: () => unknown
  private readonly resume: () => unknown

  constructor(socket: Flow) {
    this.pause = socket.pause.bind(socket)
    this.resume = socket.resume.bind(socket)
    socket.pause = () => {
      this.isPaused = true
      return this.pause()
    }
    socket.resume = () => {
      this.isPaused = false
      return this.isHeld ? undefined : this.resume()
    }
  }

  while(isLate: boolean): void {
    if (isLate === this.isHeld) return
    this.isHeld = isLate
    if (isLate) this.pause()
    else if (!this.isPaused) this.resume()
  }
}

const holds = new WeakMap<object, Hold>()
const holdOf = (socket: object & Flow): Hold => {
  const hold = holds.get(socket) ?? new Hold(socket)
  holds.set(socket, hold)
  return hold
}

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
