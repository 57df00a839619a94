/** OpenAI's own API. Privacy as OpenAI states it for the API: no training on it, abuse logs kept for 30 days. */
import * as Schema from "effect/Schema"
import { chatForm, defineProvider, HostFailed, httpError } from "headgate/plugin"
import { effortsOf, models } from "./models.ts"

/** As everyone else's, but that a used-up account answers 429, which no waiting mends. */
const error: typeof httpError = (status, headers, body) => {
  const failed = httpError(status, headers, body)
  return failed.code === "insufficient_quota"
    ? new HostFailed({ reason: "account", status, code: failed.code })
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
    operations: {
      chat: chatForm({
        maxTokens: "max_completion_tokens",
        reasoning: "effort",
        efforts: effortsOf,
        history: "none",
        strict: true,
      }),
    },
    error,
    models,
  }),
})
