/**
 * Groq. Facts: console.groq.com/docs (openai, reasoning, errors), read in 2026-11; privacy: the project's catalogue, 2026-08.
 */
import { chatHost, modelsIn } from "headgate/plugin"

// Members of messages that it refuses with "property is unsupported".
const refusedInMessages = ["name", "reasoning_content", "reasoning_details", "annotations"]

const isQwen = (model: string): boolean => model.startsWith("qwen/")

export default chatHost({
  id: "groq",
  name: "Groq",
  baseUrl: "https://api.groq.com/openai/v1",
  keyVariable: "GROQ_API_KEY",
  privacy: { mayTrain: false, retainsPrompts: false },
  chat: {
    own: ["reasoning_format", "include_reasoning", "citation_options", "compound_custom"],
    maxTokens: "max_completion_tokens",
    strict: true,
    drop: ["logprobs", "top_logprobs", "logit_bias"],
    dropInMessages: refusedInMessages,
    // Qwen models know only on and off, and write their reasoning into the text unless told otherwise.
    reasoning: ({ model, effort }) => ({
      reasoning_effort: isQwen(model) && effort !== "none" ? "default" : effort,
    }),
    efforts: (model) => (isQwen(model) ? [] : ["low", "medium", "high"]),
    always: (model) => (isQwen(model) ? { reasoning_format: "parsed" } : {}),
  },
  // 413 with this code: more tokens a minute than the account has. 498: no capacity.
  reasons: { rate_limit_exceeded: "rate-limited", "498": "overloaded" },
  cache: { read: 0.5 },
  models: modelsIn(new URL("./models.json", import.meta.url)),
})
