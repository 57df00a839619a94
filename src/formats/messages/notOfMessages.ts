/** Members of other forms, which the Messages form has under another name or not at all. Sent on, they would contradict its own. */
import { type Check, exactly, refused } from "../../domain/json/checks.ts"
import { insteadIn } from "../../domain/request/placedParameters.ts"

const renamed: ReadonlyArray<readonly [name: string, own: string]> = [
  ...insteadIn("messages"),
  ["max_output_tokens", "max_tokens"],
]

/** This form gives one answer. */
const oneAnswer = exactly(1, "is not known in this API format, which gives one answer")

export const notOfMessages: Readonly<Record<string, Check>> = {
  ...Object.fromEntries(
    renamed.map(([name, own]) => [name, refused(`belongs to another API format: use ${own} here`)]),
  ),
  n: oneAnswer,
  best_of: oneAnswer,
  audio: refused("belongs to the chat completions format: answers of this one have no audio"),
}
