/** A whole answer in the legacy completions form, and what whole and streamed choices have in common. */

import { isJsonObject, type JsonObject } from "../../domain/json/json.ts"
import type { ChatChoice, ChatDelta, ChatMessage } from "../../domain/request/chat.ts"
import type { AnswerShape } from "../choicesAnswer.ts"

export const completionObject = "text_completion"

/**
 * What is said besides text, such as reasoning and refusals: under the names of the chat form, which the legacy one does
 * not have.
 */
export const besidesText = (said: ChatMessage | ChatDelta): JsonObject => {
  const more: Record<string, unknown> = {}
  for (const name in said) if (name !== "role" && name !== "content" && said[name] != null) more[name] = said[name]
  return more
}

/** `offset`: Unicode characters of the answer before these tokens. `null`: there are none. */
export const legacyLogprobs = (logprobs: unknown, offset: number): JsonObject | null => {
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

export const charactersIn = (text: unknown): number => {
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
