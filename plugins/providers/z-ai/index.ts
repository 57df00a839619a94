/**
 * Z.AI (GLM). Facts: docs.z.ai (chat completions, thinking mode, error codes), read in 2026-11; privacy: the project's catalogue,
 * 2026-08.
 */
import { chatHost, modelsIn } from "headgate/plugin"

export default chatHost({
  id: "z-ai",
  name: "Z.AI",
  baseUrl: "https://api.z.ai/api/paas/v4",
  keyVariable: ["ZAI_API_KEY", "ZHIPU_API_KEY"],
  privacy: { mayTrain: false, retainsPrompts: false },
  chat: {
    own: ["thinking", "do_sample", "tool_stream", "user_id", "sensitive_word_check"],
    instructions: "system",
    history: "reasoning_content",
    reasoning: ({ effort }) => ({ thinking: { type: effort === "none" ? "disabled" : "enabled" } }),
  },
  reasons: {
    ...{ "1000": "account", "1001": "account", "1002": "account", "1003": "account", "1004": "account" },
    // Locked, in arrears, without a package: some of them come with 429.
    ...{
      "1110": "account",
      "1111": "account",
      "1112": "account",
      "1113": "account",
      "1121": "account",
      "1309": "account",
    },
    ...{ "1211": "not-found", "1222": "not-found", "1220": "forbidden", "1311": "forbidden" },
    ...{ "1302": "rate-limited", "1303": "rate-limited", "1304": "rate-limited", "1308": "rate-limited" },
    ...{ "1310": "rate-limited", "1305": "overloaded", "1312": "overloaded" },
    // The content was refused, or the prompt is too long.
    ...{ "1301": "request", "1261": "request" },
  },
  models: modelsIn(new URL("./models.json", import.meta.url)),
})
