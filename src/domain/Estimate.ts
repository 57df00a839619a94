/** Counting where a host did not: bytes of what was asked and said, and tokens by rule of thumb. G5. */
import { isJsonObject, type JsonObject } from "./Json.ts"

/** Without a tokenizer at hand: four bytes a token. */
export const tokensIn = (bytes: number): number => Math.ceil(bytes / 4)

/** UTF-8 bytes of the text, reasoning and tool calls in a delta or a message: what an estimate counts. */
export const bytesSaid = (said: JsonObject): number => {
  let bytes = bytesIn(said["content"]) + bytesIn(said["reasoning"]) + bytesIn(said["refusal"])
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

/** Images in a request: some hosts ask a price for each, besides its tokens. */
export const imagesAsked = (body: JsonObject): number => {
  const messages = Array.isArray(body["messages"]) ? body["messages"] : []
  const parts = messages.flatMap((message) =>
    isJsonObject(message) && Array.isArray(message["content"]) ? message["content"] : [],
  )
  return parts.filter((part) => isJsonObject(part) && part["type"] === "image_url").length
}

/**
 * At most how many searches a request is taken to lead to. G1 names their price and not their number: a model that may
 * search does so a few times, and a host that always searches does so once.
 */
export const searchesAsked = (body: JsonObject): number => {
  const tools = Array.isArray(body["tools"]) ? body["tools"] : []
  const searches = (tool: unknown) => isJsonObject(tool) && String(tool["type"]).includes("web_search")
  return body["web_search_options"] != null || body["plugins"] != null || tools.some(searches) ? 10 : 1
}
