/** Members of the Responses form that the gateway refuses, each with a sentence that says what to do instead. */
import { type Check, onlyFalse, refused } from "../../../domain/json/checks.ts"

/** Why a reference is refused: what it names would lie in the operator's account at a host, where it may be another caller's. */
export const notStored = "that a host has stored, and nothing is stored for callers of this gateway"

/** Members of another form whose meaning this form has under another name. */
const renamed: Readonly<Record<string, string>> = {
  messages: "input",
  max_tokens: "max_output_tokens",
  max_completion_tokens: "max_output_tokens",
  response_format: "text.format",
  verbosity: "text.verbosity",
  reasoning_effort: "reasoning.effort",
  include_reasoning: "reasoning.exclude",
  logprobs: 'include: ["message.output_text.logprobs"]',
  functions: "tools",
  function_call: "tool_choice",
}

const oneAnswer = refused("is not known in this form, which gives one answer")
const stateless = "send the whole conversation in input"

export const refusedMembers: Readonly<Record<string, Check>> = {
  ...Object.fromEntries(
    Object.entries(renamed).map(([name, own]) => [name, refused(`belongs to the chat form: use ${own} here`)]),
  ),
  n: oneAnswer,
  best_of: oneAnswer,
  store: onlyFalse(`must be false: this gateway stores no responses, so ${stateless}`),
  background: onlyFalse("must be false: this gateway stores no responses, so none could be fetched later"),
  previous_response_id: refused(`names a response ${notStored}: ${stateless}`),
  conversation: refused(`names a conversation ${notStored}: ${stateless}`),
  prompt: refused(`names a prompt ${notStored}: send its text in instructions and input`),
  context_management: refused("asks a host to shorten the conversation, which this gateway cannot pass on"),
  moderation: refused("asks a host to check the conversation, which this gateway cannot pass on"),
  access_programs: refused("asks for a host's own access program, which this gateway cannot pass on"),
}
