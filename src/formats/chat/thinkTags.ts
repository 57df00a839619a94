/**
 * Separates reasoning that a host writes into its text, as `<think>...</think>` at the start. Used only for hosts with
 * that quirk. Where the template of a model has written the opening tag into the prompt, the text has the closing one
 * alone (QwenLM/qwen-code#6033, 2026-06): what came before it is reasoning, unless it was passed on before.
 */

export interface Thought {
  readonly reasoning: string
  readonly text: string
}

export interface ThinkTags {
  /** Divides the next piece of text. An end that could begin a tag is held back. */
  readonly push: (piece: string) => Thought
  /** The text has ended. Returns what was held back. */
  readonly end: () => Thought
}

const opening = "<think>"
const closing = "</think>"

/** For one text. */
export const thinkTags = (): ThinkTags => {
  let state: "start" | "thinking" | "closed" | "unopened" | "text" = "start"
  let held = ""

  /** Length of the longest suffix of `text` that is a prefix of the closing tag. */
  const unfinished = (text: string): number => {
    for (let length = Math.min(closing.length - 1, text.length); length > 0; length--) {
      if (closing.startsWith(text.slice(-length))) return length
    }
    return 0
  }

  const think = (): Thought => {
    const close = held.indexOf(closing)
    if (close === -1) {
      const kept = held.length - unfinished(held)
      const reasoning = held.slice(0, kept)
      held = held.slice(kept)
      return { reasoning, text: "" }
    }
    const reasoning = held.slice(0, close)
    held = held.slice(close + closing.length)
    state = "closed"
    return { reasoning, text: after() }
  }

  /** Text up to a closing tag that was not opened. `isFirst`: nothing of it was passed on. */
  const unopened = (isFirst: boolean): Thought => {
    state = "unopened"
    const close = held.indexOf(closing)
    if (close === -1) {
      const kept = held.length - unfinished(held)
      const text = held.slice(0, kept)
      held = held.slice(kept)
      return { reasoning: "", text }
    }
    const before = held.slice(0, close)
    held = held.slice(close + closing.length)
    state = "closed"
    return isFirst ? { reasoning: before, text: after() } : { reasoning: "", text: before + after() }
  }

  /** The blank lines between the thought and the answer belong to neither. */
  const after = (): string => {
    const text = held.trimStart()
    held = ""
    if (text !== "") state = "text"
    return text
  }

  return {
    push: (piece) => {
      if (state === "text") return { reasoning: "", text: piece }
      held += piece
      if (state === "closed") return { reasoning: "", text: after() }
      if (state === "unopened") return unopened(false)
      if (state === "start") {
        const begun = held.trimStart()
        if (begun.length < opening.length && opening.startsWith(begun)) return { reasoning: "", text: "" }
        if (!begun.startsWith(opening)) return unopened(true)
        held = begun.slice(opening.length)
        state = "thinking"
      }
      return think()
    },
    end: () => {
      const rest = held
      held = ""
      return state === "thinking" ? { reasoning: rest, text: "" } : { reasoning: "", text: rest }
    },
  }
}
