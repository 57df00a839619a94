/** Answers in the legacy completions form, whole and streamed: `text` instead of a message or a delta. */
import { isJsonObject, type JsonObject } from "../../domain/json/json.ts"
import type { ChatChoice, ChatChunkChoice, ChatDelta, ChatMessage } from "../../domain/request/chat.ts"
import type { AnswerShape, ChunkShape } from "../choices.ts"

const completionObject = "text_completion"

/**
 * What is said besides text, such as reasoning and refusals: under the names of the chat form, which the legacy one does
 * not have.
 */
const besidesText = (said: ChatMessage | ChatDelta): JsonObject => {
  const more: Record<string, unknown> = {}
  for (const name in said) if (name !== "role" && name !== "content" && said[name] != null) more[name] = said[name]
  return more
}

/** `offset`: Unicode characters of the answer before these tokens. `null`: there are none. */
const legacyLogprobs = (logprobs: unknown, offset: number): JsonObject | null => {
  const content = isJsonObject(logprobs) ? logprobs["content"] : undefined
  if (!Array.isArray(content)) return null
  const tokens = content.filter(isJsonObject)
  let at = offset
  const offsets = tokens.map((token) => {
    const start = at
    at += charactersIn(token["token"])
    return start
  })
  const alternatives = tokens.map((token) => alternativesOf(token["top_logprobs"]))
  return {
    tokens: tokens.map(({ token }) => token),
    token_logprobs: tokens.map(({ logprob }) => logprob),
    top_logprobs: alternatives.some((one) => one !== null) ? alternatives : null,
    text_offset: offsets,
  }
}

const charactersIn = (text: unknown): number => {
  let characters = 0
  if (typeof text === "string") for (const _ of text) characters += 1
  return characters
}

const alternativesOf = (top: unknown): JsonObject | null => {
  if (!Array.isArray(top) || top.length === 0) return null
  return Object.fromEntries(top.filter(isJsonObject).map(({ token, logprob }) => [String(token), logprob]))
}

/** `echo`: the text that the answer begins with: the prompt, or "". */
export const completionShape = (echo: string): AnswerShape => ({
  object: completionObject,
  choice: ({ message, logprobs, ...rest }: ChatChoice) => ({
    text: echo + (message.content ?? ""),
    ...besidesText(message),
    ...rest,
    logprobs: legacyLogprobs(logprobs, 0),
  }),
})

// --- streams

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
