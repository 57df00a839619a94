import { sharedMembers } from "./Operation.ts"

/** The top-level members of the canonical form of a chat: `Operation.members`. */
export const chatMembers: ReadonlySet<string> = new Set([
  ...sharedMembers,
  ...["messages", "tools", "tool_choice", "parallel_tool_calls", "functions", "function_call", "web_search_options"],
  ...["temperature", "top_p", "top_k", "min_p", "top_a", "frequency_penalty", "presence_penalty"],
  ...["repetition_penalty", "logit_bias", "seed", "stop", "n", "best_of", "logprobs", "top_logprobs", "verbosity"],
  ...["response_format", "structured_outputs", "prediction", "modalities", "image_config", "audio"],
  ...["cache_control", "prompt_cache_key", "prompt_cache_options", "prompt_cache_retention"],
])
