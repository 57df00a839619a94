import * as Schema from "effect/Schema"
import { authHeader, defineProvider, httpError, isJsonObject, type Protocol, type Provider } from "headgate/plugin"
import { decode, decoder } from "./answer.ts"
import { objectsIn } from "./json.ts"
import { encode } from "./request.ts"

/** Events of the stream repeat a running estimate of the usage: the last one counts. */
const generateContent: Protocol = { framing: "sse", usage: "last", encode, decode, decoder }

/** What Google adds to the status: a key that is not valid comes as 400, the time to wait as a detail of the body. */
const error: Provider["error"] = (status, headers, body) => {
  const failure = httpError(status, headers, body)
  const said = isJsonObject(body) && isJsonObject(body["error"]) ? body["error"] : {}
  const code = typeof said["status"] === "string" ? said["status"] : failure.code
  const details = objectsIn(said["details"])
  const keyInvalid = details.some(({ reason }) => reason === "API_KEY_INVALID" || reason === "API_KEY_EXPIRED")
  const seconds = details
    .map(({ retryDelay }) => /^([\d.]+)s$/.exec(String(retryDelay))?.[1])
    .find((each) => each !== undefined)
  const ofAccount =
    keyInvalid || code === "UNAUTHENTICATED" || code === "PERMISSION_DENIED" || code === "FAILED_PRECONDITION"
  return failure.with({
    code,
    ...(ofAccount ? { reason: "account" } : {}),
    ...(seconds === undefined ? {} : { retryAfterSeconds: Math.ceil(Number(seconds)) }),
  })
}

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
            pricing: { prompt: "0.0000003", completion: "0.0000025" },
          },
        ],
      },
    ],
  }),
})
