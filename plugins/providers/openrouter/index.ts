/**
 * OpenRouter. Facts: recordings of 2025 and 2026. The vendors behind it differ in what
 * they do with prompts, so the worst is assumed.
 */
import { chatHost } from "headgate/plugin"

export default chatHost({
  id: "openrouter",
  name: "OpenRouter",
  baseUrl: "https://openrouter.ai/api/v1",
  keyVariable: "OPENROUTER_API_KEY",
  chat: {
    own: ["reasoning"],
    instructions: "developer",
    customTools: true,
    reasoning: "router",
    // What the vendor counted follows an error in a stream (a recording of 2025).
    usageAfterError: true,
  },
  embeddings: {},
  // Its models are listed for anybody.
  keyCheck: { request: { method: "GET", path: "/key", body: "" } },
})
