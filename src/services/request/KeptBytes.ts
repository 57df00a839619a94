/**
 * Bytes of the answers that are kept for repeated requests: what one key may keep, and all. The database has the sums of all processes;
 * they are read again each time the claims are renewed. In between, a process adds what it keeps itself, so that several processes
 * together can pass a bound by no more than what they keep in that time.
 */
import type { KeyId } from "../../domain/ids.ts"
import type { DiskSpace } from "../storage/diskSpace.ts"
import type { CountedBytes, KeptBytes as KeptOfKey } from "../storage/Storage.ts"

const kib = 1024
const mib = 1024 * kib

/** Bytes of one answer with its headers, of those of a key, and of all. */
export const mostOfAnswer = 256 * kib
export const mostOfKey = 16 * mib
export const mostInAll = 1024 * mib

/** Nothing is kept while less of the disk is free. */
const leastFree = 0.1

const hourMs = 3_600_000

export class KeptBytes {
  private ofKeys = new Map<KeyId, number>()
  private inAll = 0
  /** Of answers that are not written yet. */
  private readonly unwritten = new Set<CountedBytes>()
  /** What the sums of the next reading may lack. */
  private sinceReading: Array<CountedBytes> = []
  private isDiskFull = false

  /** Counts an answer of so many bytes, which expires at `expiresAt`; `undefined`: it may not be kept. */
  take(key: KeyId, bytes: number, expiresAt: number): CountedBytes | undefined {
    if (this.isDiskFull || bytes > mostOfAnswer) return undefined
    if (this.inAll + bytes > mostInAll || (this.ofKeys.get(key) ?? 0) + bytes > mostOfKey) return undefined
    const taken = { key, bytes, until: Math.ceil(expiresAt / hourMs) * hourMs }
    this.unwritten.add(taken)
    this.sinceReading.push(taken)
    this.add(taken)
    return taken
  }

  /** It is in the database now, or will never be. */
  written(taken: CountedBytes): void {
    this.unwritten.delete(taken)
  }

  /** To be called before the sums are read. What is written from then on may be in them, and is counted twice until the next reading. */
  beginReading(): void {
    this.sinceReading = [...this.unwritten]
  }

  /** `disk`: `null` where it is not known, or not on this machine. */
  read(sums: ReadonlyArray<KeptOfKey>, disk: DiskSpace | null): void {
    this.ofKeys = new Map()
    this.inAll = 0
    for (const sum of sums) this.add(sum)
    for (const taken of this.sinceReading) this.add(taken)
    this.isDiskFull = disk !== null && disk.freeBytes < leastFree * disk.totalBytes
  }

  private add({ key, bytes }: KeptOfKey): void {
    this.ofKeys.set(key, (this.ofKeys.get(key) ?? 0) + bytes)
    this.inAll += bytes
  }
}

/** UTF-8 bytes of an answer. Of one that is longer than may be kept, at least so many. */
export const bytesOf = (headers: Readonly<Record<string, string>>, body: string): number => {
  if (body.length > mostOfAnswer) return body.length
  let bytes = Buffer.byteLength(body)
  for (const name in headers) bytes += name.length + (headers[name]?.length ?? 0)
  return bytes
}
