/** The top-level members of the canonical forms: every protocol knows them, and writes each in its own words or drops it. */
import type { Operation } from "./Request.ts"

/** Members of every operation. */
const shared = ["user", "metadata", "service_tier", "safety_identifier"]

/** By operation, since a member of one would be another thing to hosts of another: `input` of an embedding is no chat's. */
export const canonicalMembers: Readonly<Record<Operation, ReadonlySet<string>>> = {
  chat: new Set([
    ...shared,
    ...["messages", "tools", "tool_choice", "parallel_tool_calls", "functions", "function_call", "web_search_options"],
    ...["temperature", "top_p", "top_k", "min_p", "top_a", "frequency_penalty", "presence_penalty"],
    ...["repetition_penalty", "logit_bias", "seed", "stop", "n", "best_of", "logprobs", "top_logprobs", "verbosity"],
    ...["response_format", "structured_outputs", "prediction", "modalities", "image_config", "audio"],
    ...["cache_control", "prompt_cache_key", "prompt_cache_options", "prompt_cache_retention"],
  ]),
  embeddings: new Set([...shared, "input", "dimensions", "encoding_format", "input_type"]),
  rerank: new Set([...shared, "query", "documents", "top_n"]),
}
