/**
 * Streams that are read on after their caller has left, for a second at most, because the host probably sends its usage soon. Their number
 * is bounded, so that callers who leave cost next to nothing. See docs/guarantees.md#g15.
 */
import type { KeyId } from "../../domain/ids.ts"
import type { TickTimers } from "../request/Timers.ts"
import type { HostAnswer } from "./HostAnswer.ts"

/** How long a stream is read on, milliseconds. */
export const readOnMs = 1000

const mostAtOnce = 32
const mostOfOneKey = 8

export class ReadingOn {
  private inAll = 0
  private readonly byKey = new Map<KeyId, number>()

  /**
   * Reads an answer on that has content, until it ends or for a second, and discards its text. `onOver` is called once, after this has
   * returned. `false`: it is not read on, because it has no content or is over, or because there is no place.
   */
  read(answer: HostAnswer, timers: TickTimers, onOver: () => void): boolean {
    const { attempt, stream } = answer
    const key = attempt.context.key.id
    if (stream?.hasContent !== true || isOver(answer) || !this.enter(key)) return false
    const over = () => {
      answer.onProgress = undefined
      attempt.onStop = undefined
      timer.clear()
      this.leave(key)
      onOver()
    }
    const progress = () => {
      answer.take()
      if (isOver(answer)) over()
    }
    const timer = timers.set(readOnMs, over)
    answer.onProgress = progress
    attempt.onStop = progress
    answer.take()
    return true
  }

  /** Takes a place, until `leave`. `false`: there is none. */
  enter(key: KeyId): boolean {
    const ofKey = this.byKey.get(key) ?? 0
    if (this.inAll >= mostAtOnce || ofKey >= mostOfOneKey) return false
    this.inAll += 1
    this.byKey.set(key, ofKey + 1)
    return true
  }

  leave(key: KeyId): void {
    const ofKey = this.byKey.get(key)
    if (ofKey === undefined) return
    this.inAll -= 1
    if (ofKey === 1) this.byKey.delete(key)
    else this.byKey.set(key, ofKey - 1)
  }
}

const isOver = ({ attempt, broken, stream }: HostAnswer): boolean =>
  stream?.state !== "speaking" || broken !== undefined || attempt.stopped !== undefined
