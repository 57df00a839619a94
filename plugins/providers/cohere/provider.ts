import { modelsIn, type Provider } from "headgate/plugin"
import { chat } from "./chat.ts"
import { embeddings } from "./embeddings.ts"
import { cohereHttpError } from "./failure.ts"
import { rerank } from "./rerank.ts"

export const provider: Provider = {
  protocols: { chat },
  embeddings,
  rerank,
  error: cohereHttpError,
  // Version 2 of the API lists no models.
  keyCheck: { baseUrl: "https://api.cohere.com/v1", request: { method: "GET", path: "/models", body: "" } },
  models: modelsIn(new URL("./models.json", import.meta.url)),
}
