import { modelsIn, type Provider } from "headgate/plugin"
import { embedContentProtocol, generateContentProtocol } from "headgate/plugin/generate-content"

const generateContent = generateContentProtocol()

export const provider: Provider = {
  protocols: { generate_content: generateContent },
  embeddings: embedContentProtocol(),
  error: generateContent.error,
  models: modelsIn(new URL("./models.json", import.meta.url)),
  // Reading from the cache costs a quarter up to Gemini 2.0 and a tenth later; writing to it costs nothing more.
  cacheMultipliers: ({ model }) => ({ read: /gemini-(?:1|2\.0)/.test(model) ? 0.25 : 0.1 }),
}
