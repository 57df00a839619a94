/** `POST /completions`: the decoder is `http/data/completions/decode.ts`. */
import { answerMembers, answers, reasons, textSchemas, topLogprobs } from "./chat.ts"
import { modelRules, otherMembers, reasoningRules, samplingSchemas, sharedSchemas } from "./members.ts"
import {
  anyObject,
  anyOf,
  count,
  type DescribedForm,
  described,
  flag,
  given,
  listOf,
  named,
  nothing,
  oneOf,
  only,
  operation,
  orNull,
  type Schema,
  taken,
  text,
} from "./schema.ts"

const ofChat = described("A member of the chat form, which this one refuses.", nothing)

/** Both members, with values other than null, exclude each other. */
const excludes = (first: string, value: Schema, second: string, other: Schema): Schema => ({
  not: { required: [first, second], properties: { [first]: value, [second]: other } },
})

const request: Schema = {
  ...taken(
    {
      ...sharedSchemas,
      prompt: described("A text, or a list of one.", anyOf(text, listOf(text, { minItems: 1, maxItems: 1 }))),
      ...samplingSchemas,
      ...textSchemas,
      logprobs: described("How many alternatives for each token, or whether there are any.", anyOf(flag, topLogprobs)),
      top_logprobs: topLogprobs,
      n: answers,
      best_of: described("Not less than n, and in a stream not more.", answers),
      echo: described("Whether the answer begins with the prompt.", flag),
      suffix: described("Chat hosts cannot fill in the middle of a text.", only("")),
      modalities: listOf(oneOf("text")),
      tools: described("A member of the chat form.", { type: "array", maxItems: 0 }),
      messages: ofChat,
      tool_choice: ofChat,
      parallel_tool_calls: ofChat,
      functions: ofChat,
      function_call: ofChat,
      image_config: ofChat,
      audio: ofChat,
    },
    "prompt",
  ),
  description: otherMembers,
  allOf: [
    ...modelRules,
    ...reasoningRules,
    excludes("echo", { const: true }, "logprobs", anyOf({ const: true }, { type: "number" })),
    excludes("logprobs", { type: "number" }, "top_logprobs", { not: nothing }),
  ],
}

const choice = given({
  index: count,
  text,
  logprobs: orNull(anyObject),
  finish_reason: reasons,
  native_finish_reason: orNull(text),
})

const members = { ...answerMembers, object: only("text_completion"), choices: listOf(choice) }

const answer = given({ ...members, usage: named("Usage") })

const chunk = given(
  {
    ...members,
    usage: described("On the last chunk, with its cost.", named("Usage")),
    error: described("The answer broke off.", anyObject),
  },
  ...["provider", "usage", "error"],
)

export const completionsForm: DescribedForm = {
  operations: {
    "/api/v1/completions": operation({
      name: "completions",
      description: "A legacy completion, whole or streamed. A stream ends with data: [DONE].",
      request: named("CompletionRequest"),
      answer: named("CompletionAnswer"),
      event: named("CompletionChunk"),
      error: named("Error"),
    }),
  },
  schemas: { CompletionRequest: request, CompletionAnswer: answer, CompletionChunk: chunk },
}
