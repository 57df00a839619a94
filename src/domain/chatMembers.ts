/** The top-level members of the canonical form: every protocol knows them, and writes each in its own words or drops it. */
export const canonicalMembers: ReadonlySet<string> = new Set([
  ...["messages", "tools", "tool_choice", "parallel_tool_calls", "functions", "function_call", "web_search_options"],
  ...["temperature", "top_p", "top_k", "min_p", "top_a", "frequency_penalty", "presence_penalty", "repetition_penalty"],
  ...["logit_bias", "seed", "stop", "n", "best_of", "logprobs", "top_logprobs", "verbosity", "service_tier"],
  ...["response_format", "structured_outputs", "prediction", "modalities", "image_config", "audio"],
  ...["cache_control", "prompt_cache_key", "prompt_cache_options", "prompt_cache_retention"],
  ...["user", "metadata", "safety_identifier"],
  // Of embeddings and rankings.
  ...["input", "dimensions", "encoding_format", "input_type", "query", "documents", "top_n"],
])
