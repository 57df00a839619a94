/**
 * DeepSeek. Facts: api-docs.deepseek.com (thinking mode, error codes), read in 2026-11; privacy: the project's catalogue, 2026-08.
 */
import { chatHost, modelsIn } from "headgate/plugin"

export default chatHost({
  id: "deepseek",
  name: "DeepSeek",
  baseUrl: "https://api.deepseek.com/v1",
  keyVariable: "DEEPSEEK_API_KEY",
  privacy: { mayTrain: true, retainsPrompts: true },
  chat: {
    own: ["thinking"],
    instructions: "system",
    // Its `response_format` has `text` and `json_object`, and wants the word JSON in the prompt.
    schemas: false,
    // In a conversation with tools the reasoning has to come back under this name, and may be empty. The model "deepseek-chat" does not think.
    history: "reasoning_content",
    missingReasoning: (model) => (model === "deepseek-chat" ? undefined : ""),
    // It thinks unless told otherwise, and maps other efforts to its own (low, high, max) itself.
    reasoning: ({ effort }) =>
      effort === "none"
        ? { thinking: { type: "disabled" } }
        : { thinking: { type: "enabled" }, reasoning_effort: effort },
  },
  cache: { read: 0.1 },
  models: modelsIn(new URL("./models.json", import.meta.url)),
})
