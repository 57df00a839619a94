/** What the provider can do: its protocol, what its errors mean, its models. */
import { httpError, isJsonObject, type Protocol, type Provider } from "headgate/plugin"
import { decode, decoder } from "./answer.ts"
import { encode } from "./request.ts"

const generate: Protocol = { framing: "ndjson", encode, decode, decoder }

/** The vendor says how long to wait in the body: `problem.retry_in`, in seconds. */
const error: Provider["error"] = (status, headers, body) => {
  const problem = isJsonObject(body) && isJsonObject(body["problem"]) ? body["problem"] : {}
  const { kind, words, retry_in: wait } = problem
  const failure = httpError(status, headers, typeof words === "string" ? { message: words } : body)
  return failure.with({
    ...(typeof kind === "string" ? { code: kind } : {}),
    ...(typeof wait === "number" && wait >= 0 ? { retryAfterSeconds: wait } : {}),
  })
}

export const provider: Provider = {
  protocols: { generate },
  error,
  models: async () => [
    {
      id: "vendor-name/large",
      context_length: 200_000,
      hosts: [
        {
          model: "large-1",
          max_completion_tokens: 32_000,
          // USD per token.
          pricing: { prompt: "0.000001", completion: "0.000004", input_cache_read: "0.0000001" },
        },
      ],
    },
  ],
}
