/**
 * A copy of a SQLite database that a gateway uses, as it is at one moment. It is written into a file beside the database, which
 * is removed as soon as it is open: whatever becomes of its reader, nothing is left. What a crash leaves before that is removed
 * when the database is opened the next time (`removeUnfinished`).
 */
import { rmSync } from "node:fs"
import * as Effect from "effect/Effect"
import type { DatabaseCopy } from "../../services/storage/Storage.ts"
import { StorageUnavailable } from "../../services/storage/StorageUnavailable.ts"
import { unavailable } from "../failure.ts"
import { openClosed } from "../files/closedFile.ts"
import type { Copied, Order } from "./copyThread.ts"

/** Files beside a database that are written by a copy, and by a restoration. */
export const copyBeside = (path: string): string => `${path}.backup`
export const restoredBeside = (path: string): string => `${path}.restore`

/** SQLite writes a journal beside a file that it copies into. */
export const removeFile = (path: string): void => {
  for (const end of ["-journal", ""]) rmSync(`${path}${end}`, { force: true })
}

/** Removes what a crash left of copies and restorations. Only for who owns the database. */
export const removeUnfinished = (path: string): void => {
  removeFile(copyBeside(path))
  removeFile(restoredBeside(path))
}

const copied = (order: Order): Effect.Effect<Exclude<Copied, { readonly failed: string }>, StorageUnavailable> =>
  Effect.async((resume) => {
    const fail = (reason: string) => resume(Effect.fail(new StorageUnavailable({ reason })))
    const worker = new Worker(new URL("./copyThread.ts", import.meta.url))
    worker.addEventListener("error", (event) => fail(event.message))
    worker.onmessage = ({ data }: MessageEvent<Copied>) => {
      worker.terminate()
      if ("failed" in data) fail(data.failed)
      else resume(Effect.succeed(data))
    }
    worker.postMessage(order)
    // It may go on until SQLite returns, and would leave a file behind that is removed before.
    return Effect.async<void>((ended) => {
      worker.addEventListener("close", () => ended(Effect.void))
      worker.terminate()
    })
  })

const pieceBytes = 256 * 1024

/** The content of a file that is gone from its folder once this has succeeded. */
const contentOf = async (path: string): Promise<ReadableStream<Uint8Array>> => {
  const file = await openClosed(path)
  removeFile(path)
  let at = 0
  return new ReadableStream({
    pull: async (controller) => {
      const piece = new Uint8Array(pieceBytes)
      const { bytesRead } = await file.read(piece, 0, pieceBytes, at)
      at += bytesRead
      if (bytesRead > 0) return controller.enqueue(piece.subarray(0, bytesRead))
      await file.close()
      controller.close()
    },
    cancel: () => file.close(),
  })
}

/** Copies the database at `path` each time it is run; several runs wait for each other until the content can be read. */
export const makeDatabaseCopies = (path: string): Effect.Effect<DatabaseCopy, StorageUnavailable> => {
  const oneAtATime = Effect.unsafeMakeSemaphore(1)
  const to = copyBeside(path)
  return Effect.gen(function* () {
    yield* Effect.sync(() => removeFile(to))
    const { bytes, sha256 } = yield* copied({ from: path, to })
    const content = yield* Effect.tryPromise({ try: () => contentOf(to), catch: unavailable })
    return { bytes, sha256, content }
  }).pipe(
    Effect.onExit((exit) => (exit._tag === "Success" ? Effect.void : Effect.sync(() => removeFile(to)))),
    oneAtATime.withPermits(1),
  )
}
