/**
 * MiniMax. Facts: pages about its OpenAI-compatible API, read in 2026-11; error codes: not read again, unverified; the form of streams: a recording of
 * 2026; privacy: the project's catalogue, 2026-08.
 */
import { chatHost, isJsonObject, type JsonObject, modelsIn } from "headgate/plugin"

/** Errors that come with status 200. */
const errorIn = ({ base_resp: base }: JsonObject): JsonObject | undefined => {
  if (!isJsonObject(base) || typeof base["status_code"] !== "number" || base["status_code"] === 0) return undefined
  return { code: String(base["status_code"]), message: base["status_msg"] }
}

export default chatHost({
  id: "minimax",
  name: "MiniMax",
  baseUrl: "https://api.minimax.io/v1",
  keyVariable: "MINIMAX_API_KEY",
  privacy: { mayTrain: false, retainsPrompts: true },
  chat: {
    own: ["reasoning_split", "thinking", "mask_sensitive_info"],
    // `max_tokens` is deprecated there.
    maxTokens: "max_completion_tokens",
    // Without it the reasoning is part of the text. It comes back as `reasoning_details`.
    always: () => ({ reasoning_split: true }),
    reasoning: ({ model, effort }) =>
      // M2 models always think.
      /^minimax-m2/i.test(model) ? undefined : { thinking: { type: effort === "none" ? "disabled" : "adaptive" } },
    errorIn,
  },
  reasons: {
    ...{ "1001": "timeout", "1002": "rate-limited", "1039": "rate-limited", "1041": "rate-limited" },
    ...{ "1004": "account", "1008": "account", "2049": "account", "2056": "account" },
    ...{ "1026": "request", "1027": "request", "2013": "request", "1042": "request" },
  },
  models: modelsIn(new URL("./models.json", import.meta.url)),
})
