/** The grammar of a stream in the legacy completions form: `choices.ts`, with a text in place of a delta. */
import type { JsonObject } from "../../domain/json/json.ts"
import { readChoices } from "./choices.ts"
import { listIn, objectIn, readerOf, textIn, wrong } from "./events.ts"

/** Reads a whole stream, and throws at the first thing that breaks the grammar. Returns its chunks. */
export const readCompletionsStream = readerOf("completions", (text) =>
  readChoices(text, "text_completion", choiceCheck),
)

const choiceCheck = (choice: JsonObject): void => {
  textIn(choice, "text")
  if (choice["delta"] !== undefined) wrong("a delta", choice)
  if (choice["logprobs"] === null) return
  const logprobs = objectIn(choice, "logprobs")
  const { length } = listIn(logprobs, "tokens")
  for (const member of ["token_logprobs", "text_offset"]) {
    if (listIn(logprobs, member).length !== length) wrong("logprobs of other tokens", choice)
  }
}
