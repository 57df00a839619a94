/**
 * Bounds the bytes of hosts' answers that are held in memory, for each key and for the process. Beyond a bound, the
 * gateway stops reading the sockets of later answers, and the hosts wait. A part of an answer is useless without the
 * rest, so some answer always makes progress: beyond the bound of a key its oldest answer, beyond the bound of the
 * process the oldest of those. Slow clients with many keys could still hold any number of bytes, so beyond twice the
 * bound of the process the oldest of their answers are cut. Short answers are not counted. See
 * docs/guarantees.md#g23.
 */
import type { KeyId } from "../../domain/ids.ts"

/** Answers of up to this many bytes are not counted. */
export const uncountedAnswer = 65_536

const mebibyte = 1_048_576

/** The most bytes that one read of a socket returns. */
const oneRead = 524_288

/** Bytes. */
interface Bounds {
  readonly ofKey: number
  readonly ofProcess: number
}

/** The reader of an answer. */
export interface AnswerSource {
  /** Stops reading until `goOn`. */
  holdBack(): void
  goOn(): void
}

class OfKey {
  bytes = 0
  readonly held = new Set<HeldAnswer>()
}

/** One answer, from its first counted bytes until it was written to the client or is no longer needed. */
export class HeldAnswer {
  bytes = 0
  isHeldBack = false
  readonly ofKey: OfKey
  /** `undefined`: the answer was read completely. */
  source: AnswerSource | undefined
  /** Stops writing it to the client. Set while it is written piece by piece. */
  cut: (() => void) | undefined
  private readonly all: AnswerBytes
  private readonly key: KeyId

  constructor(all: AnswerBytes, key: KeyId, ofKey: OfKey, source: AnswerSource) {
    this.all = all
    this.key = key
    this.ofKey = ofKey
    this.source = source
  }

  /** More bytes of it have arrived. */
  add(bytes: number): void {
    this.all.add(this, bytes)
  }

  /** The answer was read completely. Its bytes still count. */
  wasRead(): void {
    this.source = undefined
    this.isHeldBack = false
    this.all.wake()
  }

  /** More of it will come from another call, whose first bytes decide anew whether it is held back. */
  readAgain(source: AnswerSource): void {
    this.source = source
    this.isHeldBack = false
  }

  /** Its bytes are no longer in memory. Idempotent. */
  release(): void {
    this.all.release(this, this.key)
  }
}

export class AnswerBytes {
  private readonly bounds: Bounds
  private inAll = 0
  /** Oldest first. */
  private readonly held = new Set<HeldAnswer>()
  private readonly keys = new Map<KeyId, OfKey>()

  constructor(bounds: Bounds) {
    this.bounds = bounds
  }

  /** Bytes that count now. */
  get bytes(): number {
    return this.inAll
  }

  begin(key: KeyId, source: AnswerSource): HeldAnswer {
    let ofKey = this.keys.get(key)
    if (ofKey === undefined) {
      ofKey = new OfKey()
      this.keys.set(key, ofKey)
    }
    const answer = new HeldAnswer(this, key, ofKey, source)
    this.held.add(answer)
    ofKey.held.add(answer)
    return answer
  }

  add(answer: HeldAnswer, bytes: number): void {
    if (!this.held.has(answer)) return
    this.count(answer, bytes)
    if (this.inAll > 2 * this.bounds.ofProcess) this.makeRoom()
    if (answer.isHeldBack || this.mayRead(answer, 0)) return
    answer.isHeldBack = true
    answer.source?.holdBack()
  }

  release(answer: HeldAnswer, key: KeyId): void {
    if (!this.held.delete(answer)) return
    answer.ofKey.held.delete(answer)
    if (answer.ofKey.held.size === 0) this.keys.delete(key)
    answer.source = undefined
    this.count(answer, -answer.bytes)
    this.wake()
  }

  /** Resumes the answers that fit. Assumes that each brings one read. */
  wake(): void {
    let expected = 0
    for (const answer of this.held) {
      if (!answer.isHeldBack || !this.mayRead(answer, expected)) continue
      expected += oneRead
      answer.isHeldBack = false
      answer.source?.goOn()
    }
  }

  /** Cuts slow clients, those with the oldest answers first, until enough bytes will be freed. */
  private makeRoom(): void {
    let excess = this.inAll - 2 * this.bounds.ofProcess
    for (const { cut, bytes } of this.held) {
      if (excess <= 0) return
      if (cut === undefined) continue
      // The bytes are released when the request ends. Until then they are subtracted again each time.
      excess -= bytes
      cut()
    }
  }

  private count(answer: HeldAnswer, bytes: number): void {
    answer.bytes += bytes
    answer.ofKey.bytes += bytes
    this.inAll += bytes
  }

  /** `expected`: bytes that other resumed answers will bring. */
  private mayRead(answer: HeldAnswer, expected: number): boolean {
    const { ofKey } = answer
    const isFirst = isOldest(answer)
    if (this.inAll + expected > this.bounds.ofProcess) return isFirst && answer === this.first()
    return isFirst || ofKey.bytes + expected <= this.bounds.ofKey
  }

  /**
   * The oldest answer of some key that is still read. An answer that waits for a slow client delays only its own key.
   */
  private first(): HeldAnswer | undefined {
    for (const answer of this.held) if (answer.source !== undefined && isOldest(answer)) return answer
    return undefined
  }
}

const isOldest = (answer: HeldAnswer): boolean => {
  const [oldest] = answer.ofKey.held
  return oldest === answer
}

/** Shared by all gateways of the process, because they share its memory. */
export const answerBytes = new AnswerBytes({ ofKey: 64 * mebibyte, ofProcess: 256 * mebibyte })
