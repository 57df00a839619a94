/** Members of the Responses form that the gateway refuses, each with a sentence that says what to do instead. */
import { insteadIn } from "../../../domain/request/placedParameters.ts"
import { type Check, report } from "../../decode/checks.ts"

/** Why a reference is refused: what it names would lie in the operator's account at a host, where it may be another caller's. */
export const notStored = "that a host has stored, and nothing is stored for callers of this gateway"

export const refused =
  (message: string): Check =>
  (_value, path, issues) =>
    report(issues, path, message)

/** Members of another form whose meaning this form has under another name. */
const renamed: ReadonlyArray<readonly [name: string, own: string]> = [["messages", "input"], ...insteadIn("responses")]

/** `true` where only that value asks for something. */
const onlyTrue =
  (message: string): Check =>
  (value, path, issues) => {
    if (value === true) report(issues, path, message)
    else if (value !== false) report(issues, path, "must be a boolean")
  }

const oneAnswer = refused("is not known in this form, which gives one answer")
const stateless = "send the whole conversation in input"

export const refusedMembers: Readonly<Record<string, Check>> = {
  ...Object.fromEntries(renamed.map(([name, own]) => [name, refused(`belongs to the chat form: use ${own} here`)])),
  n: oneAnswer,
  best_of: oneAnswer,
  store: onlyTrue(`must be false: this gateway stores no responses, so ${stateless}`),
  background: onlyTrue("must be false: this gateway stores no responses, so none could be fetched later"),
  previous_response_id: refused(`names a response ${notStored}: ${stateless}`),
  conversation: refused(`names a conversation ${notStored}: ${stateless}`),
  prompt: refused(`names a prompt ${notStored}: send its text in instructions and input`),
  context_management: refused("asks a host to shorten the conversation, which this gateway cannot pass on"),
  moderation: refused("asks a host to check the conversation, which this gateway cannot pass on"),
  access_programs: refused("asks for a host's own access program, which this gateway cannot pass on"),
}
