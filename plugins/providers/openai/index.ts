/** OpenAI's own API. Privacy as OpenAI states it for the API: no training, abuse logs are kept for 30 days. */
import * as Schema from "effect/Schema"
import { chatProtocol, defineProvider, httpError } from "headgate/plugin"
import { effortsOf } from "./efforts.ts"

/** The common errors, except that an account without credit is reported with 429, where waiting does not help. */
const error: typeof httpError = (status, headers, body) => {
  const failed = httpError(status, headers, body)
  return failed.code === "insufficient_quota"
    ? failed.with({ reason: "account", detail: undefined, retryAfterSeconds: undefined })
    : failed
}

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
        reasoning: "effort",
        efforts: effortsOf,
        history: "none",
        strict: true,
      }),
    },
    error,
    models: async () => (await import("./models.ts")).models,
  }),
})
