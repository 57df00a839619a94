/**
 * Moonshot AI (Kimi). Facts: pages about its API, read in 2026-11; error codes: unverified; privacy: the project's
 * catalogue, 2026-08. Untested against recorded traffic.
 */
import { chatHost, modelsIn } from "headgate/plugin"

// These can be told not to think. Others either always think or never do.
const canStop = /^kimi-k2\.[56]/

const thinks = /^kimi-(?:k2\.[5-9]|k2-thinking|thinking|k[3-9])/

export default chatHost({
  id: "moonshotai",
  name: "Moonshot AI",
  baseUrl: "https://api.moonshot.ai/v1",
  keyVariable: "MOONSHOT_API_KEY",
  privacy: { mayTrain: false, retainsPrompts: false },
  chat: {
    own: ["thinking"],
    maxTokens: "max_completion_tokens",
    instructions: "system",
    // A call of a tool without the reasoning before it is refused, and so is an empty one.
    history: "reasoning_content",
    missingReasoning: (model) => (thinks.test(model) ? " " : undefined),
    reasoning: ({ model, effort }) => {
      if (model.startsWith("kimi-k3")) return { reasoning_effort: effort }
      return canStop.test(model) ? { thinking: { type: effort === "none" ? "disabled" : "enabled" } } : undefined
    },
    efforts: (model) => (model.startsWith("kimi-k3") ? ["low", "high", "max"] : []),
  },
  // Both come with 429.
  reasons: { exceeded_current_quota_error: "account", engine_overloaded_error: "overloaded" },
  cache: { read: 0.25 },
  models: modelsIn(new URL("./models.json", import.meta.url)),
})
