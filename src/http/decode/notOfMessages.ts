/** Members of other forms, which the Messages form has under another name or not at all. Sent on, they would contradict its own. */
import { type Check, exactly, refused } from "../../domain/json/checks.ts"

const renamed: Readonly<Record<string, string>> = {
  max_completion_tokens: "max_tokens",
  max_output_tokens: "max_tokens",
  stop: "stop_sequences",
  response_format: "output_config.format",
  verbosity: "output_config.effort",
  reasoning: "thinking",
  reasoning_effort: "thinking",
  include_reasoning: "thinking.display",
  parallel_tool_calls: "tool_choice.disable_parallel_tool_use",
  functions: "tools",
  function_call: "tool_choice",
}

/** This form gives one answer. */
const oneAnswer = exactly(1, "is not known in this form, which gives one answer")

export const notOfMessages: Readonly<Record<string, Check>> = {
  ...Object.fromEntries(
    Object.entries(renamed).map(([name, own]) => [name, refused(`belongs to another form: use ${own} here`)]),
  ),
  n: oneAnswer,
  best_of: oneAnswer,
  audio: refused("belongs to the chat form: answers of this one have no audio"),
}
