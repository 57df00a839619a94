/**
 * Members of the Responses form that the gateway refuses, each with a sentence that says what to do instead. `store` and
 * `moderation` are not among them: as in the chat form they are left out and named, since the answer is the same without.
 */
import { type Check, onlyFalse, refused } from "../../domain/json/checks.ts"
import { insteadIn } from "../../domain/request/placedParameters.ts"

/** Why a reference is refused: what it names would lie in the operator's account at a host, where it may be another caller's. */
export const notStored = "that a host has stored, and nothing is stored for callers of this gateway"

/** Members of another form whose meaning this form has under another name. */
const renamed: ReadonlyArray<readonly [name: string, own: string]> = [["messages", "input"], ...insteadIn("responses")]

const oneAnswer = refused("is not known in this API format, which gives one answer")
const stateless = "send the whole conversation in input"

export const refusedMembers: Readonly<Record<string, Check>> = {
  ...Object.fromEntries(
    renamed.map(([name, own]) => [name, refused(`belongs to the chat completions format: use ${own} here`)]),
  ),
  n: oneAnswer,
  best_of: oneAnswer,
  background: onlyFalse("must be false: this gateway stores no responses, so none could be fetched later"),
  previous_response_id: refused(`names a response ${notStored}: ${stateless}`),
  conversation: refused(`names a conversation ${notStored}: ${stateless}`),
  prompt: refused(`names a prompt ${notStored}: send its text in instructions and input`),
  context_management: refused("asks a host to shorten the conversation, which this gateway cannot pass on"),
  access_programs: refused("asks for a host's own access program, which this gateway cannot pass on"),
}
