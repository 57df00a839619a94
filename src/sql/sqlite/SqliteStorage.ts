/**
 * `Storage` in a SQLite file. All SQL, reads too, runs in one worker thread that owns the file (sqliteThread.ts); this
 * side sends it calls and waits for the answers.
 */
import { statfsSync } from "node:fs"
import { dirname } from "node:path"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Layer from "effect/Layer"
import type * as Scope from "effect/Scope"
import { logEvent } from "../../process/log/logEvent.ts"
import type { Say } from "../../process/withProgress.ts"
import { wait } from "../../services/request/EffectRunner.ts"
import { diskSpaceAt } from "../../services/storage/diskSpace.ts"
import { Outage } from "../../services/storage/Outage.ts"
import { type DataAtRest, Storage } from "../../services/storage/Storage.ts"
import { StorageUnavailable } from "../../services/storage/StorageUnavailable.ts"
import { type Call, proxyOf } from "../calls.ts"
import { isReadableByAll } from "../files/privateFile.ts"
import { realPath } from "../files/realPath.ts"
import type { SqliteOpening } from "../opening.ts"
import { type SqlRepositories, storageOf } from "../repositories/repositories.ts"
import { StorageNotOpened } from "../StorageNotOpened.ts"
import { makeDatabaseCopies } from "./databaseCopy.ts"
import type { Message, Opened, Reply } from "./sqliteThread.ts"
import { startThread } from "./startThread.ts"

type Resume = (result: Exit.Exit<unknown, StorageUnavailable>) => void

interface OpenThread {
  readonly thread: Thread
  readonly storage: DataAtRest
}

/** A message to the thread, without its number. */
type Question = Call<SqlRepositories> | readonly ["close"]

/** This side of the thread: sends calls and matches the replies. */
class Thread {
  private readonly worker: Worker
  private readonly waiting = new Map<number, Resume>()
  private next = 0
  /** Why it does not answer any more. */
  private over: string | undefined

  constructor(worker: Worker) {
    this.worker = worker
  }

  /** Resumes once the file is open. A thread that dies before that is a defect, since its code does not load. */
  open(opening: SqliteOpening, say: Say, resume: (result: Effect.Effect<OpenThread, StorageNotOpened>) => void): void {
    const died = (why: string) => {
      this.end(why)
      this.worker.terminate()
      resume(Effect.die(new Error(`The storage thread did not start: ${why}`)))
    }
    this.worker.addEventListener("error", (event) => died(event.message))
    this.worker.addEventListener("close", () => died("its thread has ended"))
    this.worker.onmessage = ({ data: opened }: MessageEvent<Opened>) => {
      if ("doing" in opened) {
        say(opened.doing)
        return
      }
      if ("refusal" in opened) {
        this.terminate()
        resume(Effect.fail(new StorageNotOpened(opened.refusal)))
        return
      }
      this.worker.onmessage = ({ data }: MessageEvent<Reply>) => this.answered(data)
      this.worker.unref()
      const repositories = proxyOf<SqlRepositories>(opened.methods, (call) => this.ask(call))
      resume(Effect.succeed({ thread: this, storage: storageOf(opened.installation, repositories) }))
    }
    this.worker.postMessage(opening)
  }

  private ask(question: Question): Effect.Effect<unknown, StorageUnavailable> {
    return wait((resume: Resume) => {
      if (this.over !== undefined) {
        resume(Exit.fail(new StorageUnavailable({ reason: this.over })))
        return
      }
      const id = this.next++
      // An idle thread does not keep the process alive; one with calls does.
      if (this.waiting.size === 0) this.worker.ref()
      this.waiting.set(id, resume)
      this.worker.postMessage([id, ...question] satisfies Message)
    })
  }

  /** Waits for the calls before it; those after it fail. */
  get close(): Effect.Effect<void> {
    return Effect.ensuring(
      Effect.ignore(this.ask(["close"])),
      Effect.sync(() => this.terminate()),
    )
  }

  private answered(reply: Reply): void {
    const resume = this.waiting.get(reply.id)
    this.waiting.delete(reply.id)
    if (this.waiting.size === 0) this.worker.unref()
    resume?.(
      "failed" in reply
        ? Exit.fail(
            new StorageUnavailable({ reason: reply.failed, refused: reply.refused, isDiskFull: reply.isDiskFull }),
          )
        : Exit.succeed(reply.value),
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
    for (const resume of waiting) resume(Exit.fail(new StorageUnavailable({ reason: why })))
  }
}

/** Nothing where the folder is gone. */
const freeBytesAt = (path: string) => {
  try {
    const { bavail, bsize } = statfsSync(dirname(path))
    return { free_bytes: bavail * bsize }
  } catch {
    return {}
  }
}

/** The same with a given thread, for tests. */
export const makeWith = (
  start: () => Worker,
  options: SqliteOpening,
  say: Say = () => {},
): Effect.Effect<DataAtRest, StorageNotOpened, Scope.Scope> => {
  const path = realPath(options.path)
  const opened = Effect.async<OpenThread, StorageNotOpened>((resume) =>
    new Thread(start()).open({ path, durability: options.durability }, say, resume),
  )
  return Effect.gen(function* () {
    if (isReadableByAll(path)) yield* logEvent("database_readable_by_all", { path })
    const { storage } = yield* Effect.acquireRelease(opened, ({ thread }) => thread.close)
    // It is made of what is at the path.
    const isThere = Effect.flatMap(
      Effect.suspend(() => storage.ledger.takesRequests()),
      (takes) =>
        takes !== true && takes.kind === "gone"
          ? Effect.fail(new StorageUnavailable({ reason: takes.cause }))
          : Effect.void,
    )
    const where = () => ({ path, ...freeBytesAt(path) })
    return {
      ...storage,
      kind: "sqlite",
      copy: Effect.zipRight(isThere, makeDatabaseCopies(path)),
      where,
      disk: diskSpaceAt(dirname(path)),
      outage: new Outage({ where }),
    }
  })
}

/**
 * Opens the file, and creates it and its folder where they are absent. Closing the layer writes the journal back into
 * the file. `say` is told what is done that may take long.
 */
export const layer = (options: SqliteOpening, say?: Say): Layer.Layer<Storage, StorageNotOpened> =>
  layerWith(startThread, options, say)

/** The same with a thread that the program has started. */
export const layerWith = (
  start: () => Worker,
  options: SqliteOpening,
  say?: Say,
): Layer.Layer<Storage, StorageNotOpened> => Layer.scoped(Storage, makeWith(start, options, say))
