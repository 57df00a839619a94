/** Members of other forms, which the Messages form has under another name or not at all. Sent on, they would contradict its own. */
import { insteadIn } from "../../domain/request/placedParameters.ts"
import type { Check } from "./checks.ts"
import { refused } from "./operatorMembers.ts"

const renamed: ReadonlyArray<readonly [name: string, own: string]> = [
  ...insteadIn("messages"),
  ["max_output_tokens", "max_tokens"],
]

/** This form gives one answer. */
export const oneAnswer: ReadonlyArray<string> = ["n", "best_of"]

const onlyOne = refused("is not known in this form, which gives one answer", (value) => value === 1)

export const notOfMessages: Readonly<Record<string, Check>> = {
  ...Object.fromEntries(renamed.map(([name, own]) => [name, refused(`belongs to another form: use ${own} here`)])),
  ...Object.fromEntries(oneAnswer.map((name) => [name, onlyOne])),
  audio: refused("belongs to the chat form: answers of this one have no audio"),
}
