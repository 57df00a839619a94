/** The ends of a stream's choices, withheld until the cost is booked. */
import type { ChatChunkChoice, FinishReason } from "../../domain/request/chat.ts"
import { says } from "../delta.ts"

/** Far more choices than can be asked for. A new one is compared with all before it, so their number needs a bound. */
export const mostChoices = 128

export class Finishes {
  /** One for each choice that has ended. */
  readonly withheld: Array<ChatChunkChoice> = []
  /** Indexes of the choices that something was said for. */
  private readonly begun: Array<number> = []
  /** Those of them that called a tool. */
  private readonly called: Array<number> = []

  /** Something came for this choice. `false`: there are more than `mostChoices`. */
  begin(index: number): boolean {
    if (this.begun.includes(index)) return true
    if (this.begun.length === mostChoices) return false
    this.begun.push(index)
    return true
  }

  /** The choice called a tool. */
  calls(index: number): void {
    if (!this.called.includes(index)) this.called.push(index)
  }

  /** Keeps the end of a choice. The last one counts: a host may correct itself. A stop beside calls is made for them. */
  withhold(given: ChatChunkChoice): void {
    const isForCalls = given.finish_reason === "stop" && this.called.includes(given.index)
    const choice: ChatChunkChoice = isForCalls ? { ...given, finish_reason: "tool_calls" } : given
    const at = this.withheld.findIndex((finish) => finish.index === choice.index)
    if (at === -1) this.withheld.push(choice)
    else this.withheld[at] = choice
  }

  /** Gives an end to every choice that has begun and has none; to the first one, where none has begun. */
  finishAll(reason: FinishReason, native: string): void {
    for (const index of this.begun.length === 0 && this.withheld.length === 0 ? [0] : this.begun) {
      if (this.has(index)) continue
      this.withhold({ index, delta: { content: "" }, finish_reason: reason, native_finish_reason: native })
    }
  }

  /** Whether at least one choice has ended, and none that has begun is left open. */
  get areComplete(): boolean {
    return this.withheld.length > 0 && this.begun.every((index) => this.has(index))
  }

  private has(index: number): boolean {
    return this.withheld.some((finish) => finish.index === index)
  }
}

/** What a choice with a finish says, as a choice that goes on. */
export const withoutFinish = ({ index, delta, logprobs }: ChatChunkChoice): ChatChunkChoice => ({
  index,
  delta,
  finish_reason: null,
  ...(logprobs == null ? {} : { logprobs }),
})

/** A finish without what was said with it: that goes out at once, and only the finish waits for the cost. */
export const finishOnly = (choice: ChatChunkChoice): ChatChunkChoice => {
  if (!says(choice)) return choice
  const { logprobs: _, ...finish } = choice
  return { ...finish, delta: { content: "" } }
}
