/**
 * Continues to read hosts after their clients have left, to learn the usage, and discards the content.
 * - A stream with content is read for one second, because its host probably sends the usage soon.
 * - It is read for two seconds more once it has finished, or if the estimates for many other calls depend on its
 *   count.
 * - At a host that bills an answer even when its call is canceled (`bills_after_abort`), answers of any kind are read
 *   for two minutes.
 * The number of such calls is bounded, so clients that leave cost next to nothing. See docs/guarantees.md#g5 and
 * #g15.
 */
import type { KeyId } from "../../domain/ids.ts"
import type { TickTimers, Timer } from "../request/Timers.ts"
import type { Attempt } from "./Attempt.ts"
import type { HostAnswer } from "./HostAnswer.ts"

/** How long a stream is read on, milliseconds. */
export const readOnMs = 1000
/** Milliseconds more once every choice has finished: only the usage is missing. */
const afterFinishMs = 2000
/** The longest time that a stream is read at a host that stops when its call is canceled. */
export const readOnAtMostMs = readOnMs + afterFinishMs
/** Milliseconds for which a call is read whose cancellation saves no money. */
const billedMs = 120_000

const mostAtOnce = 32
const mostOfOneKey = 8

interface OfKey {
  places: number
  /** Canceled calls without a slot. They are booked when the calls with a slot are over. */
  readonly waiting: Set<() => void>
}

export class ReadingOn {
  private inAll = 0
  private readonly byKey = new Map<KeyId, OfKey>()

  /**
   * Continues to read an answer and discards its text, until it ends, its time is over or it has more than
   * `mostBytes`. If the key has no free slot, cancels the call and books it when the calls with a slot have ended,
   * because their counts improve its estimate. Calls `onOver` once, after this method has returned. Returns `false`
   * if the answer is not read: it has no content or is over, or all slots are taken.
   */
  read(answer: HostAnswer, timers: TickTimers, mostBytes: number, onOver: () => void): boolean {
    const { attempt, endpoint, stream } = answer
    const { context } = attempt
    if (stream === undefined || isOver(answer) || !(endpoint.billsAfterAbort || stream.hasContent)) return false
    if (!attempt.isReadOn && !this.enter(context.key.id)) return this.wait(answer, timers, onOver)
    const over = () => {
      answer.onProgress = undefined
      attempt.onStop = undefined
      context.lifetime.onCut = undefined
      timer.clear()
      onOver()
      if (!attempt.isReadOn) this.leave(context.key.id)
    }
    let mayWait = !endpoint.billsAfterAbort
    const progress = () => {
      answer.take()
      if (isOver(answer) || stream.bytes > mostBytes) over()
      else if (mayWait && stream.hasAllFinishes) waitMore()
    }
    const waitMore = () => {
      mayWait = false
      timer.restart(afterFinishMs)
    }
    const late = () => {
      if (mayWait && this.isLastOfMany(context.key.id)) waitMore()
      else over()
    }
    const timer: Timer = timers.set(endpoint.billsAfterAbort ? billedMs : readOnMs, late)
    answer.onProgress = progress
    attempt.onStop = progress
    context.lifetime.onCut = over
    answer.take()
    if (mayWait && stream.hasAllFinishes) waitMore()
    return true
  }

  /**
   * Lets a call continue whose client left before an answer, until it ends or for two minutes. Returns `false` if
   * there is no free slot.
   */
  hold(attempt: Attempt, timers: TickTimers): boolean {
    const { context } = attempt
    if (!this.enter(context.key.id)) return false
    const timer = timers.set(billedMs, () => attempt.endNow())
    context.lifetime.onCut = () => attempt.endNow()
    attempt.isReadOn = true
    attempt.onClose = () => {
      timer.clear()
      context.lifetime.onCut = undefined
      this.leave(context.key.id)
    }
    return true
  }

  /** Takes a place, until `leave`. `false`: there is none. */
  enter(key: KeyId): boolean {
    const ofKey = this.byKey.get(key) ?? { places: 0, waiting: new Set() }
    if (this.inAll >= mostAtOnce || ofKey.places >= mostOfOneKey) return false
    this.byKey.set(key, ofKey)
    this.inAll += 1
    ofKey.places += 1
    return true
  }

  leave(key: KeyId): void {
    const ofKey = this.byKey.get(key)
    if (ofKey === undefined) return
    this.inAll -= 1
    ofKey.places -= 1
    if (ofKey.places > 0) return
    this.byKey.delete(key)
    for (const over of ofKey.waiting) over()
  }

  /** Whether this is the last call of its key whose count can improve the estimates of many. */
  private isLastOfMany(key: KeyId): boolean {
    const ofKey = this.byKey.get(key)
    return ofKey !== undefined && ofKey.places === 1 && ofKey.waiting.size >= mostOfOneKey
  }

  private wait(answer: HostAnswer, timers: TickTimers, onOver: () => void): boolean {
    const { attempt } = answer
    const { lifetime, key } = attempt.context
    const ofKey = this.byKey.get(key.id)
    if (ofKey === undefined) return false
    answer.onProgress = undefined
    attempt.onStop = undefined
    attempt.exchange?.cancel()
    attempt.stopClock()
    let isWaiting = true
    const over = () => {
      if (!isWaiting) return
      isWaiting = false
      ofKey.waiting.delete(over)
      lifetime.onCut = undefined
      timer.clear()
      onOver()
    }
    const timer = timers.set(readOnAtMostMs, over)
    lifetime.onCut = over
    ofKey.waiting.add(over)
    return true
  }
}

const isOver = ({ attempt, broken, stream }: HostAnswer): boolean =>
  stream?.state !== "speaking" || broken !== undefined || attempt.stopped !== undefined
