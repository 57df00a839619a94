/**
 * `Storage` in a SQLite file. All SQL, reads too, runs in one worker thread that owns the file (sqliteThread.ts); this
 * side asks it and waits. Architecture 8.
 */
import { existsSync, realpathSync } from "node:fs"
import { resolve } from "node:path"
import type * as Context from "effect/Context"
import * as Data from "effect/Data"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import type * as Scope from "effect/Scope"
import { StorageUnavailable } from "../services/ledger.ts"
import { Storage } from "../services/Storage.ts"
import { encodeRows } from "./sqliteAppend.ts"
import type { Opening, Refusal } from "./sqliteFile.ts"
import type { Asked, Call, Opened, Reply } from "./sqliteThread.ts"

/** The database was not opened, and nothing in it was changed. `message` says what to do, with the path. G21, G22. */
export class StorageNotOpened extends Data.TaggedError("StorageNotOpened")<{
  readonly path: string
  readonly reason: Refusal["reason"]
  readonly message: string
}> {}

type Resume = (result: Effect.Effect<unknown, StorageUnavailable>) => void

/** Our end of the thread. */
class Thread {
  private readonly worker: Worker
  private readonly waiting = new Map<number, Resume>()
  private next = 0
  /** Why it answers no more. */
  private over: string | undefined

  constructor(worker: Worker) {
    this.worker = worker
  }

  /** Resumes with the thread once the file is open. A thread that dies before is a defect: its code does not load. */
  open(opening: Opening, resume: (result: Effect.Effect<Thread, StorageNotOpened>) => void): void {
    const died = (why: string) => {
      this.end(why)
      this.worker.terminate()
      resume(Effect.die(new Error(`The storage thread did not start: ${why}`)))
    }
    this.worker.addEventListener("error", (event) => died(event.message))
    this.worker.addEventListener("close", () => died("its thread has ended"))
    this.worker.onmessage = ({ data: { refusal } }: MessageEvent<Opened>) => {
      if (refusal !== undefined) {
        this.terminate()
        resume(Effect.fail(new StorageNotOpened({ path: opening.path, ...refusal })))
        return
      }
      this.worker.onmessage = ({ data }: MessageEvent<Reply>) => this.answered(data)
      this.worker.unref()
      resume(Effect.succeed(this))
    }
    this.worker.postMessage(opening)
  }

  /** The answer's type is the caller's word: what crosses a thread has lost it. */
  ask<A>(asked: Asked): Effect.Effect<A, StorageUnavailable> {
    return Effect.async((resume) => {
      if (this.over !== undefined) {
        resume(Effect.fail(new StorageUnavailable({ reason: this.over })))
        return
      }
      const id = this.next++
      // The process may end while the thread idles, not while it has work of ours.
      if (this.waiting.size === 0) this.worker.ref()
      this.waiting.set(id, resume as Resume)
      this.worker.postMessage({ id, ...asked } satisfies Call)
    })
  }

  /** Waits for the calls before it; those after it fail. */
  get close(): Effect.Effect<void> {
    return Effect.suspend(() => {
      const closed = this.ask<void>({ method: "close" })
      return Effect.ensuring(
        Effect.ignore(closed),
        Effect.sync(() => this.terminate()),
      )
    })
  }

  private answered(reply: Reply): void {
    const resume = this.waiting.get(reply.id)
    this.waiting.delete(reply.id)
    if (this.waiting.size === 0) this.worker.unref()
    resume?.(
      "failed" in reply
        ? Effect.fail(new StorageUnavailable({ reason: reply.failed, refused: reply.refused === true }))
        : Effect.succeed(reply.value),
    )
  }

  private terminate(): void {
    this.end("it was closed")
    this.worker.terminate()
  }

  private end(why: string): void {
    if (this.over !== undefined) return
    this.over = why
    const waiting = [...this.waiting.values()]
    this.waiting.clear()
    for (const resume of waiting) resume(Effect.fail(new StorageUnavailable({ reason: why })))
  }
}

const methods = (thread: Thread): Context.Tag.Service<typeof Storage> => ({
  installation: thread.ask({ method: "installation" }),
  managementKeys: thread.ask({ method: "managementKeys" }),
  findKey: (key) => thread.ask({ method: "findKey", key }),
  insertKey: (record) => thread.ask({ method: "insertKey", record }),
  updateKey: (key, patch) => thread.ask({ method: "updateKey", key, patch }),
  deleteKey: (key) => thread.ask({ method: "deleteKey", key }),
  listKeys: (page) => thread.ask({ method: "listKeys", page }),
  append: (rows) =>
    rows.length === 0
      ? Effect.void
      : Effect.suspend(() => thread.ask<void>({ method: "append", rows: encodeRows(rows) })),
  spend: (key, now) => thread.ask({ method: "spend", key, now }),
  ledger: (key, limit) => thread.ask({ method: "ledger", key, limit }),
})

/** The same with a thread of the caller's making, for tests. */
export const makeWith = (
  start: () => Worker,
  options: Opening,
): Effect.Effect<Context.Tag.Service<typeof Storage>, StorageNotOpened, Scope.Scope> => {
  const opened = Effect.async<Thread, StorageNotOpened>((resume) => {
    const path = resolve(options.path)
    // One lock for all names of a file.
    const opening = { path: existsSync(path) ? realpathSync(path) : path, durability: options.durability }
    new Thread(start()).open(opening, resume)
  })
  return Effect.map(
    Effect.acquireRelease(opened, (thread) => thread.close),
    methods,
  )
}

const startThread = () => new Worker(new URL("./sqliteThread.ts", import.meta.url))

/** Opens the file, making it and its folder where they are absent; closing the layer writes everything back into it. */
export const layer = (options: Opening): Layer.Layer<Storage, StorageNotOpened> =>
  Layer.scoped(Storage, makeWith(startThread, options))
