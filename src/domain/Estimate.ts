/**
 * Estimates where a host reported no usage: bytes of text, and tokens by a rule of thumb. See docs/guarantees.md#g5.
 */
import { isJsonObject, type JsonObject } from "./Json.ts"

/** Four, since there is no tokenizer. */
const bytesPerToken = 4

export const tokensIn = (bytes: number): number => Math.ceil(bytes / bytesPerToken)

/** What a host writes of a whole answer in so many milliseconds, while nothing of it is sent. `null`: no speed is known. */
export const tokensWritten = (tokensPerSecond: number | null, milliseconds: number): number =>
  Math.round(((tokensPerSecond ?? 0) * milliseconds) / 1000)

/** The most bytes that are estimated as so many tokens. */
export const bytesOfTokens = (tokens: number): number => tokens * bytesPerToken

export const bytesOf = (text: unknown): number => (typeof text === "string" ? Buffer.byteLength(text) : 0)

/** UTF-8 bytes of the text, reasoning and tool calls in a delta or a message. */
export const bytesSaid = (said: JsonObject): number => {
  let bytes = bytesOf(said["content"]) + bytesOf(said["reasoning"]) + bytesOf(said["refusal"])
  const calls = said["tool_calls"]
  if (!Array.isArray(calls)) return bytes
  for (const call of calls) {
    const called = isJsonObject(call) ? call["function"] : undefined
    if (isJsonObject(called)) bytes += bytesOf(called["name"]) + bytesOf(called["arguments"])
  }
  return bytes
}
