/**
 * Vendor Name, which speaks OpenAI's chat completions. Address, limits and prices: the vendor's documentation, read on the
 * day on which this was written. Where the vendor differs, `chatProtocol` takes quirks.
 */
import * as Schema from "effect/Schema"
import { chatProtocol, defineProvider, httpError } from "headgate/plugin"

const chat = chatProtocol({ maxTokens: "max_tokens" })

export default defineProvider({
  id: "vendor-name",
  name: "Vendor Name",
  baseUrl: "https://api.vendor-name.example/v1",
  keyVariable: "VENDOR_NAME_API_KEY",
  config: Schema.Struct({}),
  load: () => ({
    protocols: { chat },
    error: httpError,
    models: async () => [
      {
        id: "vendor-name/small",
        context_length: 128_000,
        hosts: [
          {
            model: "small-2",
            max_completion_tokens: 16_384,
            // USD per token.
            pricing: { prompt: "0.0000001", completion: "0.0000004" },
          },
        ],
      },
    ],
  }),
})
