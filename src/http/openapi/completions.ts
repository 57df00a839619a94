/** `POST /completions`. */

import { completionsTable } from "../../formats/completions/completionsRequest.ts"
import { formPath } from "../dataPaths.ts"
import { answerMembers, exampleAnswer, exampleUsage, reasons, usage } from "./answers.ts"
import { operation, type Paths } from "./operation.ts"
import { anyObject, count, described, errorBody, given, listOf, only, orNull, text, titled } from "./schemas.ts"

const choice = given({
  index: count,
  text,
  logprobs: orNull(anyObject),
  finish_reason: reasons,
  native_finish_reason: orNull(text),
})

const members = { ...answerMembers, object: only("text_completion"), choices: listOf(choice) }

const answer = titled("CompletionAnswer", given({ ...members, usage }))

const chunk = titled(
  "CompletionChunk",
  given(
    {
      ...members,
      usage: described("On the last chunk, with its cost.", usage),
      error: described("The answer broke off.", anyObject),
    },
    ...["provider", "usage", "error"],
  ),
)

const ended = { index: 0, text: " Paris.", logprobs: null, finish_reason: "stop", native_finish_reason: "stop" }
const example = { ...exampleAnswer, object: "text_completion", choices: [ended], usage: exampleUsage }

export const completionsPaths: Paths = {
  [formPath("completions")]: {
    post: operation({
      name: "completions",
      description: "A legacy completion, whole or streamed. A stream ends with data: [DONE].",
      request: {
        schema: completionsTable.schema,
        example: { model: "openai/gpt-5-mini", prompt: "The capital of France is", max_tokens: 20 },
      },
      answer: { schema: answer, example },
      event: { schema: chunk, example },
      error: errorBody,
    }),
  },
}
