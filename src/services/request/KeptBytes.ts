/**
 * Limits the bytes of answers that are kept for repeated requests, for each key and overall. The database has the
 * sums of all processes, which are read again whenever the claims are renewed. In between, each process adds what it
 * keeps itself. So several processes together exceed a limit only by what they keep in that time.
 */
import type { KeyId } from "../../domain/ids.ts"
import type { DiskSpace } from "../storage/diskSpace.ts"
import type { BytesOfKey, CountedBytes } from "../storage/Storage.ts"

const kib = 1024
const mib = 1024 * kib

/** Bytes of one answer with its headers, of all answers of a key, and of all answers. */
export const mostOfAnswer = 256 * kib
export const mostOfKey = 16 * mib
export const mostInAll = 1024 * mib

/** Nothing is kept while less than this share of the disk is free. */
const leastFree = 0.1

const hourMs = 3_600_000

export class KeptBytes {
  private ofKeys = new Map<KeyId, number>()
  private inAll = 0
  /** Answers that are not written yet. */
  private readonly unwritten = new Set<CountedBytes>()
  /** Answers that the next reading may not include. */
  private sinceReading: Array<CountedBytes> = []
  private isDiskFull = false

  /** Counts an answer of `bytes` that expires at `expiresAt` (Unix milliseconds); `undefined`: it may not be kept. */
  take(key: KeyId, bytes: number, expiresAt: number): CountedBytes | undefined {
    if (this.isDiskFull || bytes > mostOfAnswer) return undefined
    if (this.inAll + bytes > mostInAll || (this.ofKeys.get(key) ?? 0) + bytes > mostOfKey) return undefined
    const taken = { key, bytes, until: Math.ceil(expiresAt / hourMs) * hourMs }
    this.unwritten.add(taken)
    this.sinceReading.push(taken)
    this.add(taken)
    return taken
  }

  /** The answer was written, or never will be. */
  written(taken: CountedBytes): void {
    this.unwritten.delete(taken)
  }

  /**
   * Call this before the sums are read. Answers that are written during the reading may count twice until the next
   * one.
   */
  beginReading(): void {
    this.sinceReading = [...this.unwritten]
  }

  /** `disk`: `null` if it is unknown or not on this machine. */
  read(sums: ReadonlyArray<BytesOfKey>, disk: DiskSpace | null): void {
    this.ofKeys = new Map()
    this.inAll = 0
    for (const sum of sums) this.add(sum)
    for (const taken of this.sinceReading) this.add(taken)
    this.isDiskFull = disk !== null && disk.freeBytes < leastFree * disk.totalBytes
  }

  private add({ key, bytes }: BytesOfKey): void {
    this.ofKeys.set(key, (this.ofKeys.get(key) ?? 0) + bytes)
    this.inAll += bytes
  }
}

/** UTF-8 bytes of an answer. For one that is too long to keep, a lower bound. */
export const bytesOf = (headers: Readonly<Record<string, string>>, body: string): number => {
  if (body.length > mostOfAnswer) return body.length
  let bytes = Buffer.byteLength(body)
  for (const name in headers) bytes += name.length + (headers[name]?.length ?? 0)
  return bytes
}
