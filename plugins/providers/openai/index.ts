/**
 * OpenAI's own API. Facts: OpenAI's pages, read in 2026-11, and recordings. Privacy as OpenAI states it for the API: no
 * training, abuse logs are kept for 30 days.
 */
import * as Schema from "effect/Schema"
import {
  chatProtocol,
  defineProvider,
  embeddingsProtocol,
  httpError,
  modelsIn,
  type Provider,
  responsesForTools,
  responsesProtocol,
} from "headgate/plugin"

// For models whose own prices are not known. GPT-4o and the models before it, and the first reasoning models, take
// half; later ones a quarter or less. Writing costs more from GPT-5.6 on.
const halfForReads = /^(?:gpt-4o|gpt-4\.5|o1|o3-mini)/
const paidWrites = /^gpt-(?:5\.(?:[6-9]|\d\d)|[6-9]|\d\d)/

const cacheMultipliers: NonNullable<Provider["cacheMultipliers"]> = ({ model }) => ({
  read: halfForReads.test(model) ? 0.5 : 0.25,
  ...(paidWrites.test(model) ? { write: 1.25 } : {}),
})

export default defineProvider({
  id: "openai",
  name: "OpenAI",
  baseUrl: "https://api.openai.com/v1",
  keyVariable: "OPENAI_API_KEY",
  privacy: { mayTrain: false, retainsPrompts: true },
  config: Schema.Struct({}),
  load: () => ({
    protocols: {
      chat: chatProtocol({
        maxTokens: "max_completion_tokens",
        instructions: "developer",
        customTools: true,
        reasoning: "effort",
        history: "none",
        strict: true,
        // OpenAI refuses longer ones (openclaw#31934, 2026-03; opencode#12653, 2026-02).
        longestCallId: 40,
      }),
      // The API refuses a bound below 16 tokens (its reference of max_output_tokens, 2026-11).
      responses: responsesProtocol({
        leastTokens: 16,
        ofEveryHost: true,
        // Explicit breakpoints begin with GPT-5.6 (OpenAI's guide to prompt caching, 2026-11), as prices of writing do.
        breakpoints: (model) => paidWrites.test(model),
      }),
    },
    // Its reference of `POST /embeddings` lists base64, which its own clients request. A batch has up to 2,048
    // inputs, the same as here.
    embeddings: embeddingsProtocol({ strict: true, base64: true }),
    error: httpError,
    toolsBy: responsesForTools,
    models: modelsIn(new URL("./models.json", import.meta.url)),
    cacheMultipliers,
  }),
})
