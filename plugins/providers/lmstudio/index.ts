/** LM Studio's server. Facts: not read again, unverified. It needs no key. Untested against recorded traffic. */
import { chatHost, serverListing } from "headgate/plugin"

/** Its own API says more of a model than the compatible one. */
const listModels = serverListing({
  plugin: "lmstudio",
  pathFromRoot: "/api/v0/models",
  isOwn: ({ type }) => type === "llm" || type === "vlm" || type === "embeddings",
  contextLength: (entry) => entry["loaded_context_length"] ?? entry["max_context_length"],
  architecture: ({ type }) => ({
    input_modalities: type === "vlm" ? ["text", "image"] : ["text"],
    output_modalities: type === "embeddings" ? ["embeddings"] : ["text"],
  }),
})

export default chatHost({
  id: "lmstudio",
  name: "LM Studio",
  baseUrl: "http://127.0.0.1:1234/v1",
  network: "private",
  local: { baseUrl: "http://127.0.0.1:1234/v1" },
  listModels,
  privacy: { mayTrain: false, retainsPrompts: false },
  chat: { passes: "any", efforts: () => ["low", "medium", "high"] },
  embeddings: { passes: "any" },
})
