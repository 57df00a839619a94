/**
 * Ollama: its cloud (ollama.com), where a key is set, and servers of one's own. Facts: docs.ollama.com, read in 2026-11. Privacy: the
 * cloud's, as its privacy page states it.
 */
import * as Schema from "effect/Schema"
import { defineProvider } from "headgate/plugin"

const Config = Schema.Struct({
  num_ctx: Schema.optionalWith(Schema.Int.pipe(Schema.between(1, 10_000_000)), { exact: true }).annotations({
    description:
      "Tokens of the context that the server reserves memory for: a whole number from 1 to 10,000,000. Default: the server decides.",
  }),
})

export default defineProvider({
  id: "ollama",
  name: "Ollama",
  baseUrl: "https://ollama.com",
  keyVariable: "OLLAMA_API_KEY",
  local: { baseUrl: "http://127.0.0.1:11434" },
  privacy: { mayTrain: false, retainsPrompts: false },
  config: Config,
  load: async ({ num_ctx: contextTokens }) => (await import("./provider.ts")).provider({ contextTokens }),
})
