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
  models: modelsIn(new URL("./models.json", import.meta.url)),
}
