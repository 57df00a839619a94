/**
 * Alibaba Cloud Model Studio (Qwen), international. Facts: help.aliyun.com/model-studio (deep thinking), read in 2026-11; error
 * codes: unverified; privacy: the project's catalogue, 2026-08. Untested against recorded traffic.
 */
import { chatHost, modelsIn } from "headgate/plugin"

export default chatHost({
  id: "alibaba",
  name: "Alibaba Cloud",
  authors: ["qwen"],
  baseUrl: "https://dashscope-intl.aliyuncs.com/compatible-mode/v1",
  keyVariable: "DASHSCOPE_API_KEY",
  privacy: { mayTrain: false, retainsPrompts: true },
  chat: {
    own: ["enable_thinking", "thinking_budget", "vl_high_resolution_images", "translation_options"],
    history: "reasoning_content",
    reasoning: ({ effort, tokens }) => {
      if (effort === "none") return { enable_thinking: false }
      return { enable_thinking: true, ...(tokens === undefined ? {} : { thinking_budget: tokens }) }
    },
  },
  // Its page on compatible embeddings: 10 rows; the first two versions take 25.
  embeddings: { mostInputs: (model) => (/^text-embedding-v[12]$/.test(model) ? 25 : 10) },
  reasons: {
    Arrearage: "account",
    "AllocationQuota.FreeTierOnly": "account",
    data_inspection_failed: "request",
    DataInspectionFailed: "request",
  },
  // A cache that was asked for costs 1.25 to write and 0.1 to read, any other one nothing to write and 0.2 to read
  // (alibabacloud.com/help/en/model-studio/context-cache, 2026-06).
  cache: { read: 0.2, readExplicit: 0.1, write: 1.25 },
  models: modelsIn(new URL("./models.json", import.meta.url)),
})
