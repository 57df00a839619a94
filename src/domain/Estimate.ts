/** Counting where a host did not: bytes of what was asked and said, and tokens by rule of thumb. G5. */
import { isJsonObject, type JsonObject } from "./Json.ts"

/** Without a tokenizer at hand: four bytes a token. */
export const tokensIn = (bytes: number): number => Math.ceil(bytes / 4)

/** UTF-8 bytes of the text, reasoning and tool calls in a delta or a message: what an estimate counts. G5. */
export const bytesSaid = (said: JsonObject): number => {
  let bytes = 0
  for (const member of ["content", "reasoning", "refusal"]) bytes += bytesIn(said[member])
  const calls = said["tool_calls"]
  if (!Array.isArray(calls)) return bytes
  for (const call of calls) {
    const called = isJsonObject(call) ? call["function"] : undefined
    if (isJsonObject(called)) bytes += bytesIn(called["name"]) + bytesIn(called["arguments"])
  }
  return bytes
}

const bytesIn = (text: unknown): number => (typeof text === "string" ? Buffer.byteLength(text) : 0)

/** Bytes of the text in a request: its messages, what was called in them, and the tools it offers. */
export const bytesAsked = (body: JsonObject): number => {
  let bytes = body["tools"] == null ? 0 : Buffer.byteLength(JSON.stringify(body["tools"]))
  const messages = Array.isArray(body["messages"]) ? body["messages"] : []
  for (const message of messages) {
    if (!isJsonObject(message)) continue
    bytes += bytesSaid(message)
    const parts = Array.isArray(message["content"]) ? message["content"] : []
    for (const part of parts) if (isJsonObject(part)) bytes += bytesIn(part["text"])
  }
  return bytes
}
