/** Members of other forms, which the Messages form has under another name or not at all. */
import { type Check, report } from "./checks.ts"

/** The chat form's members, and what they are called here. Sent on, they would contradict the member of this form. */
const renamed: Readonly<Record<string, string>> = {
  max_completion_tokens: "max_tokens",
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

const refused =
  (message: string): Check =>
  (_value, path, issues) =>
    report(issues, path, message)

const oneAnswer = refused("is not known in this form, which gives one answer")

export const otherForms: Readonly<Record<string, Check>> = {
  ...Object.fromEntries(
    Object.entries(renamed).map(([name, own]) => [name, refused(`belongs to the chat form: use ${own} here`)]),
  ),
  n: oneAnswer,
  best_of: oneAnswer,
}
