/**
 * A thread that copies a database while others use it, so that neither the gateway nor the thread that writes waits
 * for it. It imports almost nothing, because it is started for each copy. See databaseCopy.ts.
 */
import { Database } from "bun:sqlite"
import { closeSync, statfsSync, statSync } from "node:fs"
import { dirname } from "node:path"
import { openClosed } from "../files/closedFile.ts"
import { createPrivateFile } from "../files/privateFile.ts"

/** `to`: a file that does not exist yet. */
export interface Order {
  readonly from: string
  readonly to: string
}

export type Copied =
  | { readonly bytes: number /** SHA-256, base64. */; readonly sha256: string }
  | { readonly failed: string }

declare const self: Worker

/** Left free for what the gateway books meanwhile. */
const marginBytes = 64 * 1024 * 1024
const pieceBytes = 1024 * 1024

const sizeOf = (path: string): number => statSync(path, { throwIfNoEntry: false })?.size ?? 0

const hashOf = async (path: string): Promise<string> => {
  const hash = new Bun.CryptoHasher("sha256")
  const piece = new Uint8Array(pieceBytes)
  const file = await openClosed(path)
  try {
    for (let at = 0; ; ) {
      const { bytesRead } = await file.read(piece, 0, pieceBytes, at)
      if (bytesRead === 0) return hash.digest("base64")
      hash.update(piece.subarray(0, bytesRead))
      at += bytesRead
    }
  } finally {
    await file.close()
  }
}

const copy = async ({ from, to }: Order): Promise<Copied> => {
  const { bavail, bsize } = statfsSync(dirname(to))
  const needed = sizeOf(from) + sizeOf(`${from}-wal`) + marginBytes
  if (bavail * bsize < needed) {
    return { failed: `a copy needs ${Math.ceil(needed / 2 ** 20)} MiB of free disk space in ${dirname(to)}` }
  }
  // SQLite writes into an empty file, which so has its permissions from the beginning.
  closeSync(createPrivateFile(to))
  const db = new Database(from, { readonly: true })
  try {
    db.run("PRAGMA busy_timeout = 5000")
    db.run("PRAGMA trusted_schema = OFF")
    // Reads the database as it is at one moment. In the mode of a write-ahead log others write on meanwhile.
    db.query("VACUUM INTO ?").run(to)
  } finally {
    db.close()
  }
  return { bytes: sizeOf(to), sha256: await hashOf(to) }
}

self.onmessage = async ({ data: order }: MessageEvent<Order>) => {
  try {
    self.postMessage(await copy(order))
  } catch (error) {
    self.postMessage({ failed: error instanceof Error ? error.message : String(error) } satisfies Copied)
  }
}
