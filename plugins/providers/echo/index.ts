import * as Schema from "effect/Schema"
import {
  chatProtocol,
  defineProvider,
  embeddingsProtocol,
  httpError,
  isJsonObject,
  type ListedModel,
  rerankProtocol,
} from "headgate/plugin"
import { embedded, ranked } from "./words.ts"

/** The text of the caller's last message. */
const lastText = (body: unknown): string => {
  const messages = isJsonObject(body) && Array.isArray(body["messages"]) ? body["messages"] : []
  const content: unknown = messages.findLast((message) => isJsonObject(message) && message["role"] === "user")?.content
  if (typeof content === "string") return content
  const parts: ReadonlyArray<unknown> = Array.isArray(content) ? content : []
  return parts.map((part) => (isJsonObject(part) && typeof part["text"] === "string" ? part["text"] : "")).join("")
}

/** Each word counts as a token. */
const tokens = (text: string): ReadonlyArray<string> => text.match(/\s*\S+/g) ?? []

const repeated = (body: unknown) => {
  const prompt = lastText(body)
  const limit =
    isJsonObject(body) && typeof body["max_tokens"] === "number" ? body["max_tokens"] : Number.POSITIVE_INFINITY
  const all = tokens(prompt)
  const words = all.slice(0, limit)
  const usage = { prompt_tokens: all.length, completion_tokens: words.length, total_tokens: all.length + words.length }
  return { words, usage, finish_reason: words.length < all.length ? "length" : "stop" }
}

const whole = (body: unknown): Response => {
  const { words, usage, finish_reason } = repeated(body)
  return Response.json({
    choices: [{ index: 0, message: { role: "assistant", content: words.join("") }, finish_reason }],
    usage,
  })
}

const streamed = (body: unknown): Response => {
  const { words, usage, finish_reason } = repeated(body)
  const chunks = [
    ...words.map((content) => ({ choices: [{ index: 0, delta: { content }, finish_reason: null }] })),
    { choices: [{ index: 0, delta: {}, finish_reason }] },
    { choices: [], usage },
  ]
  const text = `${chunks.map((chunk) => `data: ${JSON.stringify(chunk)}\n\n`).join("")}data: [DONE]\n\n`
  return new Response(text, { headers: { "content-type": "text/event-stream" } })
}

const modelOf = (
  name: string,
  facts: Pick<ListedModel, "id" | "name" | "description">,
  output: string,
): ListedModel => ({
  ...facts,
  created: 1_795_219_200,
  context_length: 131_072,
  architecture: { tokenizer: "Other", instruct_type: null, input_modalities: ["text"], output_modalities: [output] },
  hosts: [
    {
      model: name,
      pricing: { prompt: "0.000001", completion: output === "text" ? "0.000002" : "0" },
      ...(output === "text" && { supported_parameters: ["max_tokens"] }),
    },
  ],
})

const answerTo = (path: string, body: unknown): Response => {
  if (path.endsWith("/embeddings")) return Response.json(embedded(body))
  if (path.endsWith("/rerank")) return Response.json(ranked(body))
  return isJsonObject(body) && body["stream"] === true ? streamed(body) : whole(body)
}

/**
 * Repeats the caller's last message, makes vectors of words, and ranks documents by common words. It runs in this process and
 * needs neither key nor network, so that a gateway can be tried and tested without a vendor. It has prices, so that costs can
 * be seen.
 */
export default defineProvider({
  id: "echo",
  name: "Echo",
  always: true,
  privacy: { mayTrain: false, retainsPrompts: false },
  config: Schema.Struct({}),
  load: () => ({
    protocols: { chat: chatProtocol({ passes: "any" }) },
    embeddings: embeddingsProtocol({ passes: "any" }),
    rerank: rerankProtocol({ passes: "any" }),
    error: httpError,
    models: async () => [
      modelOf(
        "echo",
        {
          id: "headgate/echo",
          name: "Echo",
          description: "Repeats the last message of the user. A word is a token.",
        },
        "text",
      ),
      modelOf(
        "echo-embeddings",
        {
          id: "headgate/echo-embeddings",
          name: "Echo Embeddings",
          description: "Texts with the same words have the same vector. A word is a token.",
        },
        "embeddings",
      ),
      modelOf(
        "echo-rerank",
        {
          id: "headgate/echo-rerank",
          name: "Echo Rerank",
          description: "Ranks documents by the share of the query's words in them. A word is a token.",
        },
        "rerank",
      ),
    ],
    transport: async (request) => answerTo(new URL(request.url).pathname, await request.json()),
  }),
})
