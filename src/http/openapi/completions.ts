/** `POST /completions`. */
import { completionsTable } from "../../formats/completions/completionsRequest.ts"
import { formPath } from "../dataPaths.ts"
import { answerMembers, choiceMembers, usage, usageOfStream } from "./answers.ts"
import { post } from "./operation.ts"
import { anyObject, count, described, given, like, listOf, only, text, titled } from "./schemas.ts"

const choice = given({ index: like(count, 0), text: like(text, " Paris."), ...choiceMembers })

const members = { ...answerMembers, object: only("text_completion"), choices: listOf(choice) }

const answer = titled("CompletionAnswer", given({ ...members, usage }))

const chunk = titled(
  "CompletionChunk",
  given(
    { ...members, usage: usageOfStream, error: described("The answer broke off.", anyObject) },
    ...["provider", "usage", "error"],
  ),
)

export const completionsPaths = post(formPath("completions"), {
  name: "completions",
  description: "A legacy completion, whole or streamed. A stream ends with data: [DONE].",
  request: {
    schema: completionsTable.schema,
    example: { model: "openai/gpt-5-mini", prompt: "The capital of France is", max_tokens: 20 },
  },
  answer,
  event: chunk,
})
