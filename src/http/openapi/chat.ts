/** `POST /chat/completions`. */
import { chatTable } from "../../formats/chat/chatRequest.ts"
import { formPath } from "../dataPaths.ts"
import { answerMembers, choiceMembers, metadata, usage, usageOfStream } from "./answers.ts"
import { post } from "./operation.ts"
import { anyObject, anything, count, described, given, like, listOf, only, orNull, text, titled } from "./schemas.ts"

const message = given(
  {
    role: only("assistant"),
    content: orNull(like(text, "Paris.")),
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

const members = { index: like(count, 0), ...choiceMembers }

const answer = titled(
  "ChatAnswer",
  given(
    {
      ...answerMembers,
      object: only("chat.completion"),
      system_fingerprint: orNull(text),
      service_tier: like(text, "default"),
      choices: listOf(given({ ...members, message })),
      usage,
      openrouter_metadata: metadata,
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
      choices: listOf(given({ ...members, delta: like(anyObject, { role: "assistant", content: "Paris." }) })),
      system_fingerprint: text,
      service_tier: text,
      usage: usageOfStream,
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

export const chatPaths = post(formPath("chat"), {
  name: "chat",
  description: "A chat completion, whole or streamed. A stream ends with data: [DONE].",
  request: { schema: chatTable.schema, example: chatExample },
  answer,
  event: chunk,
})
