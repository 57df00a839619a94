/**
 * Decompresses a body: of a client, or of a host that compressed it although we asked for `identity`. Few bytes may
 * become gigabytes, so the ratio of the sizes is bounded. Its receiver decides how long a body may be.
 */
import type { Transform } from "node:stream"
import {
  constants,
  createBrotliDecompress,
  createGunzip,
  createInflate,
  createInflateRaw,
  createZstdDecompress,
} from "node:zlib"

const maxRatio = 200
/** The ratio is checked from this size on. */
const freeBytes = 1_048_576
const chunkSize = 65_536

export interface InflaterReceiver {
  readonly onInflated: (bytes: Uint8Array) => void
  readonly onInflatedEnd: () => void
  /** `isLimit`: the ratio is above ours. */
  readonly onInflateFailed: (problem: string, isLimit: boolean) => void
  /** More can be written after a `write` that returned `false`. */
  readonly onInflaterReady: () => void
}

export class Inflater {
  static readonly codings: ReadonlySet<string> = new Set(["gzip", "x-gzip", "deflate", "br", "zstd"])
  readonly #coding: string
  readonly #receiver: InflaterReceiver
  #stream: Transform | undefined
  #paused = false
  #read = 0
  #written = 0

  constructor(coding: string, receiver: InflaterReceiver) {
    this.#coding = coding
    this.#receiver = receiver
  }

  /** `false`: write no more until `onInflaterReady`. */
  write(bytes: Uint8Array): boolean {
    this.#stream ??= this.#open(bytes[0] ?? 0)
    this.#read += bytes.length
    return this.#stream.write(Buffer.from(bytes))
  }

  /** All is written. */
  end(): void {
    if (this.#stream === undefined) this.#receiver.onInflatedEnd()
    else this.#stream.end()
  }

  pause(): void {
    this.#paused = true
    this.#stream?.pause()
  }

  resume(): void {
    this.#paused = false
    this.#stream?.resume()
  }

  destroy(): void {
    this.#stream?.destroy()
  }

  #open(firstByte: number): Transform {
    const stream = decompressor(this.#coding, firstByte)
    stream.on("data", (bytes: Uint8Array) => {
      this.#written += bytes.length
      if (this.#written > freeBytes && this.#written > this.#read * maxRatio) {
        stream.destroy()
        this.#receiver.onInflateFailed("the compressed body is too large", true)
      } else this.#receiver.onInflated(bytes)
    })
    stream.on("drain", () => this.#receiver.onInflaterReady())
    stream.on("end", () => this.#receiver.onInflatedEnd())
    stream.on("error", () => this.#receiver.onInflateFailed("the compressed body is broken", false))
    if (this.#paused) stream.pause()
    return stream
  }
}

const decompressor = (coding: string, firstByte: number): Transform => {
  const options = { chunkSize, flush: constants.Z_SYNC_FLUSH }
  if (coding === "br") return createBrotliDecompress({ chunkSize })
  if (coding === "zstd") return createZstdDecompress({ chunkSize })
  if (coding !== "deflate") return createGunzip(options)
  // "deflate" means the zlib format; some hosts send raw deflate.
  return (firstByte & 0x0f) === 8 ? createInflate(options) : createInflateRaw(options)
}
