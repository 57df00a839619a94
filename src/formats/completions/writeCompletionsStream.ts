/** The chunks of a streamed answer in the legacy completions form: `text` in place of a delta. */

import type { JsonObject } from "../../domain/json/json.ts"
import type { ChatChunkChoice } from "../../domain/request/chat.ts"
import type { ChunkShape } from "../choicesStream.ts"
import { besidesText, charactersIn, completionObject, legacyLogprobs } from "./writeCompletionsAnswer.ts"

/** `echo`: the text that each choice begins with: the prompt, or "". */
export const completionChunks = (echo: string): ChunkShape => {
  const choices = new CompletionChoices(echo)
  return { object: completionObject, choice: (choice) => choices.written(choice), spliceable: undefined }
}

class CompletionChoices {
  private readonly echo: string
  /** Unicode characters of each choice so far. Kept only where tokens are reported with their place. */
  private readonly characters = new Map<number, number>()
  private readonly begun = new Set<number>()

  constructor(echo: string) {
    this.echo = echo
  }

  written({ index, delta, finish_reason, native_finish_reason, logprobs, ...rest }: ChatChunkChoice): JsonObject {
    const text = delta.content ?? ""
    return {
      index,
      text: finish_reason === "error" ? text : this.prefix(index) + text,
      ...besidesText(delta),
      finish_reason,
      native_finish_reason: native_finish_reason ?? null,
      ...rest,
      logprobs: logprobs == null ? null : this.placed(index, logprobs),
    }
  }

  private prefix(index: number): string {
    if (this.echo === "" || this.begun.has(index)) return ""
    this.begun.add(index)
    return this.echo
  }

  private placed(index: number, logprobs: JsonObject): JsonObject | null {
    const offset = this.characters.get(index) ?? 0
    const legacy = legacyLogprobs(logprobs, offset)
    const tokens = legacy?.["tokens"]
    if (Array.isArray(tokens)) {
      this.characters.set(
        index,
        tokens.reduce((sum: number, token) => sum + charactersIn(token), offset),
      )
    }
    return legacy
  }
}
