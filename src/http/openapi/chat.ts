/** `POST /chat/completions`. */

import { chatTable } from "../../formats/chat/chatRequest.ts"
import { formPath } from "../dataPaths.ts"
import { answerMembers, exampleAnswer, exampleUsage, reasons, usage } from "./answers.ts"
import { operation, type Paths } from "./operation.ts"
import {
  anyObject,
  anything,
  count,
  described,
  errorBody,
  given,
  listOf,
  only,
  orNull,
  text,
  titled,
} from "./schemas.ts"

const message = given(
  {
    role: only("assistant"),
    content: orNull(text),
    refusal: orNull(text),
    reasoning: orNull(text),
    tool_calls: listOf(given({ id: text, type: text, function: given({ name: text, arguments: text }) }, "function")),
    reasoning_details: listOf(anyObject),
    annotations: listOf(anyObject),
    images: listOf(anyObject),
    audio: anything,
  },
  ...["tool_calls", "reasoning_details", "annotations", "images", "audio"],
)

const choiceMembers = {
  index: count,
  logprobs: orNull(anyObject),
  finish_reason: reasons,
  native_finish_reason: orNull(text),
}

const answer = titled(
  "ChatAnswer",
  given(
    {
      ...answerMembers,
      object: only("chat.completion"),
      system_fingerprint: orNull(text),
      service_tier: text,
      choices: listOf(given({ ...choiceMembers, message })),
      usage,
      openrouter_metadata: described("The routing, where a header asked for it.", anyObject),
    },
    "openrouter_metadata",
  ),
)

const chunk = titled(
  "ChatChunk",
  given(
    {
      ...answerMembers,
      object: only("chat.completion.chunk"),
      choices: listOf(given({ ...choiceMembers, delta: anyObject })),
      system_fingerprint: text,
      service_tier: text,
      usage: described("On the last chunk, with its cost.", usage),
      error: described(
        "The answer broke off.",
        given({ code: { type: "integer" }, message: text, metadata: given({ error_type: text }) }),
      ),
      openrouter_metadata: anyObject,
    },
    ...["provider", "system_fingerprint", "service_tier", "usage", "error", "openrouter_metadata"],
  ),
)

export const chatExample = {
  model: "openai/gpt-5-mini",
  messages: [{ role: "user", content: "What is the capital of France?" }],
  max_tokens: 200,
}

const ended = { index: 0, logprobs: null, finish_reason: "stop", native_finish_reason: "stop" }

export const chatPaths: Paths = {
  [formPath("chat")]: {
    post: operation({
      name: "chat",
      description: "A chat completion, whole or streamed. A stream ends with data: [DONE].",
      request: { schema: chatTable.schema, example: chatExample },
      answer: {
        schema: answer,
        example: {
          ...exampleAnswer,
          object: "chat.completion",
          system_fingerprint: null,
          service_tier: "default",
          choices: [{ ...ended, message: { role: "assistant", content: "Paris.", refusal: null, reasoning: null } }],
          usage: exampleUsage,
        },
      },
      event: {
        schema: chunk,
        example: {
          ...exampleAnswer,
          object: "chat.completion.chunk",
          choices: [{ ...ended, delta: { role: "assistant", content: "Paris." } }],
          usage: exampleUsage,
        },
      },
      error: errorBody,
    }),
  },
}
