/**
 * Parts of a stream that have to wait before a client of the Messages format gets them. One block is open at a time, so a
 * call waits while an earlier one is incomplete or while its own name has not come. Everything after it waits, too.
 */
import type { ChatDelta, ToolCallDelta } from "../../domain/request/chat.ts"
import { plainText, says } from "../delta.ts"

/** A call that has not begun. */
export interface WaitingCall {
  readonly kind: "call"
  readonly place: number
  id: string
  name: string
  json: string
}

/** `text`: what the delta says where that is all. Such texts are joined. */
interface WaitingDelta {
  readonly kind: "delta"
  delta: ChatDelta
  text: string | undefined
}

export class WaitingCalls {
  private readonly calls = new Map<number, WaitingCall>()
  /** In order, from `next` on. Deleting the first entry of a list repeatedly takes quadratic time. */
  private readonly queue: Array<WaitingCall | WaitingDelta> = []
  private next = 0

  get isEmpty(): boolean {
    return this.queue.length === 0
  }

  say(delta: ChatDelta): void {
    const choice = { index: 0, delta, finish_reason: null }
    if (!says(choice)) return
    const text = plainText(choice)
    const last = this.queue.at(-1)
    if (text === undefined || last?.kind !== "delta" || last.text === undefined) {
      this.queue.push({ kind: "delta", delta, text })
    } else {
      last.text += text
      last.delta = { content: last.text }
    }
  }

  call({ index, id, function: called }: ToolCallDelta): void {
    let call = this.calls.get(index)
    if (call === undefined) {
      call = { kind: "call", place: index, id: "", name: "", json: "" }
      this.calls.set(index, call)
      this.queue.push(call)
    }
    call.id ||= id ?? ""
    call.name ||= called?.name ?? ""
    call.json += called?.arguments ?? ""
  }

  /** The next one, unless it is a call that has no name. `isEnd`: nothing more comes, so it has none. */
  take(isEnd: boolean): WaitingCall | WaitingDelta | undefined {
    const held = this.queue[this.next]
    if (held === undefined || (!isEnd && held.kind === "call" && held.name === "")) return undefined
    this.next += 1
    if (this.next === this.queue.length) {
      this.queue.length = 0
      this.next = 0
    }
    if (held.kind === "call") this.calls.delete(held.place)
    return held
  }
}
