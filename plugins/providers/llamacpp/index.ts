/**
 * llama.cpp's `llama-server`. Facts: recordings of 2025 and 2026; how reasoning is turned off: unverified. A key is needed only where
 * the server was started with one.
 */
import { chatHost, httpError, isJsonObject } from "headgate/plugin"

/** What the model or the server's size does not allow comes with 500, and would make a healthy server look ill. */
const faultOfRequest = /^(?:(?:image|audio) input is not supported|input \(\d+ tokens\) is too large)/

const error: typeof httpError = (status, headers, body) => {
  const said = isJsonObject(body) && isJsonObject(body["error"]) ? body["error"]["message"] : undefined
  const failed = httpError(status, headers, body)
  return status === 500 && typeof said === "string" && faultOfRequest.test(said)
    ? failed.with({ reason: "request", detail: said })
    : failed
}

export default chatHost({
  id: "llamacpp",
  name: "llama.cpp",
  baseUrl: "http://127.0.0.1:8080/v1",
  network: "private",
  keyVariable: "LLAMA_API_KEY",
  discoveredBy: [],
  privacy: { mayTrain: false, retainsPrompts: false },
  chat: {
    history: "reasoning_content",
    reasoning: ({ effort }) =>
      effort === "none" ? { chat_template_kwargs: { enable_thinking: false } } : { reasoning_effort: effort },
  },
  embeddings: {},
  rerank: {},
  error,
})
