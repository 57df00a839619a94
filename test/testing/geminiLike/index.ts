import * as Schema from "effect/Schema"
import { authHeader, defineProvider, httpError, isJsonObject, type Protocol, type Provider } from "headgate/plugin"
import { decode, decoder } from "./answer.ts"
import { refined } from "./failure.ts"
import { encode } from "./request.ts"

/** Events of the stream repeat a running estimate of the usage: the last one counts. */
const generateContent: Protocol = { framing: "sse", usage: "last", encode, decode, decoder }

const error: Provider["error"] = (status, headers, body) =>
  refined(httpError(status, headers, body), isJsonObject(body) ? body["error"] : undefined)

export default defineProvider({
  id: "gemini-like",
  name: "Gemini-like",
  auth: authHeader("x-goog-api-key"),
  baseUrl: "https://generativelanguage.googleapis.com/v1beta",
  keyVariable: "GEMINI_API_KEY",
  config: Schema.Struct({}),
  load: () => ({
    protocols: { generate_content: generateContent },
    error,
    models: async () => [
      {
        id: "google/gemini-2.5-flash",
        context_length: 1_048_576,
        hosts: [
          {
            model: "gemini-2.5-flash",
            max_completion_tokens: 65_536,
            pricing: { prompt: "0.0000003", completion: "0.0000025", input_cache_read: "0.00000003" },
          },
        ],
      },
    ],
  }),
})
