/**
 * Separates reasoning that a host writes into its text, as `<think>...</think>` at the start. Used only for hosts with
 * that quirk. Where the template of a model has written the opening tag into the prompt, the text has the closing one
 * alone (QwenLM/qwen-code#6033, 2026-06): what came before it is reasoning, unless it was passed on before.
 */

export interface Thought {
  readonly reasoning: string
  readonly text: string
}

const opening = "<think>"
const closing = "</think>"

/**
 * Qwen's models that only think, whose template opens the thinking: their answer has the closing tag alone (Qwen's pages on
 * Qwen3-235B-A22B-Thinking-2507 and QwQ-32B; Cerebras/cerebras-cloud-sdk-python#10, 2025-09).
 */
const alwaysInside = /qwen.*-thinking|qwq/i

/** For one text. */
export class ThinkTags {
  private state: "start" | "thinking" | "unopened" | "closed" | "text" = "start"
  private held = ""
  /** Whether a text without an opening tag begins as reasoning. */
  private isInside: boolean

  constructor(upstreamModel: string) {
    this.isInside = alwaysInside.test(upstreamModel)
  }

  /** The host separates the reasoning itself. */
  separated(): void {
    this.isInside = false
  }

  /** Divides the next piece of text. An end that could begin a tag is held back. */
  push(piece: string): Thought {
    if (this.state === "text") return { reasoning: "", text: piece }
    this.held += piece
    if (this.state === "start" && !this.begin()) return { reasoning: "", text: "" }
    if (this.state === "closed") return { reasoning: "", text: this.afterwards() }
    const isThought = this.state === "thinking"
    const close = this.held.indexOf(closing)
    const said = this.held.slice(0, close === -1 ? this.held.length - unfinished(this.held) : close)
    this.held = this.held.slice(said.length)
    let text = isThought ? "" : said
    if (close !== -1) {
      this.held = this.held.slice(closing.length)
      text += this.afterwards()
    }
    return { reasoning: isThought ? said : "", text }
  }

  /** The text has ended. Returns what was held back. */
  end(): Thought {
    const rest = this.held
    this.held = ""
    return this.state === "thinking" ? { reasoning: rest, text: "" } : { reasoning: "", text: rest }
  }

  /** Whether it is known how the text begins. */
  private begin(): boolean {
    const begun = this.held.trimStart()
    if (begun.length < opening.length && opening.startsWith(begun)) return false
    const isOpened = begun.startsWith(opening)
    if (isOpened) this.held = begun.slice(opening.length)
    // Nothing of a text that is closed at once was passed on.
    this.state = isOpened || this.isInside || begun.includes(closing) ? "thinking" : "unopened"
    return true
  }

  /** The blank lines between the thought and the answer belong to neither. */
  private afterwards(): string {
    const text = this.held.trimStart()
    this.held = ""
    this.state = text === "" ? "closed" : "text"
    return text
  }
}

/** Length of the longest suffix of `text` that is a prefix of the closing tag. */
const unfinished = (text: string): number => {
  for (let length = Math.min(closing.length - 1, text.length); length > 0; length--) {
    if (closing.startsWith(text.slice(-length))) return length
  }
  return 0
}
