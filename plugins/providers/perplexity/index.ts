/**
 * Perplexity. Facts: the project's catalogue, 2026-08; reasoning: unverified; the form of vectors and errors:
 * recordings of 2026; privacy: the project's catalogue, 2026-08.
 */
import { chatHost, modelsIn } from "headgate/plugin"

export default chatHost({
  id: "perplexity",
  name: "Perplexity",
  baseUrl: "https://api.perplexity.ai",
  keyVariable: "PERPLEXITY_API_KEY",
  privacy: { mayTrain: false, retainsPrompts: false },
  chat: {
    own: [
      "search_domain_filter",
      "search_recency_filter",
      "search_after_date_filter",
      "search_before_date_filter",
      "last_updated_after_filter",
      "last_updated_before_filter",
      "search_language_filter",
      "return_images",
      "return_related_questions",
      "disable_search",
      "language_preference",
    ],
    history: "none",
    // Models that reason write it into the text.
    thinkTags: true,
    efforts: () => ["minimal", "low", "medium", "high"],
  },
  // It sends no other form of vectors than base64 of signed bytes.
  embeddings: { path: () => "/v1/embeddings", strict: true, drop: ["encoding_format", "user"], signedBytes: true },
  models: modelsIn(new URL("./models.json", import.meta.url)),
})
