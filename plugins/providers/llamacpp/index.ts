/**
 * llama.cpp's `llama-server`. Facts: recordings of 2025 and 2026; how reasoning is turned off: unverified. A key is
 * needed only where the server was started with one.
 */
import { chatHost, httpError, isJsonObject, objectIn, serverListing } from "headgate/plugin"

/** What the model or the server's size does not allow comes with 500, and would make a healthy server look ill. */
const faultOfRequest =
  /^(?:(?:image|audio) input is not supported|input \(\d+ tokens\) is too large|cannot use tools with stream)/i

const error: typeof httpError = (status, headers, body) => {
  const said = isJsonObject(body) && isJsonObject(body["error"]) ? body["error"]["message"] : undefined
  const failed = httpError(status, headers, body)
  return status === 500 && typeof said === "string" && faultOfRequest.test(said)
    ? failed.with({ reason: "request", detail: said })
    : failed
}

/** Without an alias the server names a model by the path of its file. */
const nameOf = (id: string): string =>
  id.slice(Math.max(id.lastIndexOf("/"), id.lastIndexOf("\\")) + 1).replace(/\.gguf$/, "")

/**
 * `--ctx-size 8192` or `-c 8192` among the arguments of a preset, as the router of llama-server lists them (2026-07).
 */
const sizeInArguments = (status: unknown): number | undefined => {
  const { args } = objectIn(status)
  if (!Array.isArray(args)) return undefined
  const at = args.findIndex((argument) => argument === "--ctx-size" || argument === "-c")
  const size = at === -1 ? undefined : Number(args[at + 1])
  // 0: what the model was trained with.
  return size !== undefined && Number.isInteger(size) && size > 0 ? size : undefined
}

const listModels = serverListing({
  plugin: "llamacpp",
  isOwn: (entry) => entry["owned_by"] === "llamacpp",
  // A router lists what it will start a model with; a server what it was started with, or else what the model was
  // trained with.
  contextLength: ({ meta, status }) =>
    sizeInArguments(status) ?? objectIn(meta)["n_ctx"] ?? objectIn(meta)["n_ctx_train"],
  name: nameOf,
})

export default chatHost({
  id: "llamacpp",
  name: "llama.cpp",
  baseUrl: "http://127.0.0.1:8080/v1",
  network: "private",
  keyVariable: "LLAMA_API_KEY",
  discoveredBy: [],
  local: { baseUrl: "http://127.0.0.1:8080/v1" },
  listModels,
  privacy: { mayTrain: false, retainsPrompts: false },
  chat: {
    passes: "any",
    history: "reasoning_content",
    reasoning: ({ effort }) =>
      effort === "none" ? { chat_template_kwargs: { enable_thinking: false } } : { reasoning_effort: effort },
  },
  // Base64 since 2024-12 (ggml-org/llama.cpp#10887).
  embeddings: { passes: "any", base64: true },
  rerank: { passes: "any" },
  error,
})
